// SPDX-License-Identifier: Apache-2.0
#include "worker/train_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <new>
#include <numeric>

#include "base/random.h"
#include "recipe/initial_weights.h"
#include "record/sample_names.h"
#include "worker/fake_engine.h"
#include "worker/test_job.h"

namespace gradstone {
namespace {

using namespace sample_names;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::FakeCall;
using testing::FakeEngine;
using testing::FakeLog;
using testing::FakeScript;
using ::testing::HasSubstr;

class TrainJobTest : public ::testing::Test {
 protected:
  Finished run() {
    FakeEngine engine(script_, log_);
    const EventSink send = [this](const WorkerMessage& message) -> Status {
      if (const auto* event = std::get_if<SamplesEvent>(&message)) {
        EXPECT_FALSE(event->values.empty());
        auto& values = samples_[event->name];
        values.insert(values.end(), event->values.begin(), event->values.end());
      }
      if (const auto* event = std::get_if<PhaseEvent>(&message)) phases_.push_back(event->phase);
      if (const auto* event = std::get_if<FactEvent>(&message)) {
        facts_[event->section][event->key] = event->value;
      }
      if (const auto* event = std::get_if<ProgressEvent>(&message)) {
        progress_.push_back(*event);
        progress_ns_.push_back(log_.now_ns);
      }
      if (send_error_ && log_.steps >= fail_from_step_) return *send_error_;
      return {};
    };
    Finished finished = run_train_job(job_, engine, send, [this] { return log_.now_ns; });
    EXPECT_EQ(log_.live_bundles, 0);
    return finished;
  }

  const std::vector<double>& samples(std::string_view name) { return samples_[std::string(name)]; }
  double sum(std::string_view name) {
    return std::accumulate(samples(name).begin(), samples(name).end(), 0.0);
  }
  std::size_t synchronisations() const {
    std::size_t count = 0;
    for (const FakeCall& call : log_.calls) {
      if (call.kind == FakeCall::Kind::kSynchronise) ++count;
    }
    return count;
  }
  std::vector<FakeCall> training_calls() const {
    std::vector<FakeCall> calls;
    for (const FakeCall& call : log_.calls) {
      if (call.kind != FakeCall::Kind::kRun) continue;
      if (log_.spec.programs[call.program].mode == Mode::kTraining) calls.push_back(call);
    }
    return calls;
  }

  TemporaryFolder folder_ = TemporaryFolder::create().value();
  TrainJob job_ = testing::linear_job(folder_);
  FakeScript script_;
  FakeLog log_;
  std::optional<Error> send_error_;
  std::int64_t fail_from_step_ = 0;
  std::map<std::string, std::vector<double>> samples_;
  Json facts_ = Json::object();
  std::vector<std::string> phases_;
  std::vector<ProgressEvent> progress_;
  std::vector<std::int64_t> progress_ns_;
};

TEST_F(TrainJobTest, MakesExactlyTheStepsAskedFor) {
  for (const std::int64_t steps : {1, 2, 3, 5, 20, 200, 1000}) {
    log_ = {};
    samples_.clear();
    job_.measure.steps = steps;
    ASSERT_EQ(run().outcome, Outcome::kOk);
    EXPECT_EQ(log_.steps, steps);
    EXPECT_THAT(samples(kSteps), ElementsAre(steps));
    ASSERT_EQ(static_cast<std::int64_t>(samples(kLoss).size()), steps);
    for (std::int64_t i = 0; i < steps; ++i) {
      ASSERT_FLOAT_EQ(samples(kLoss)[static_cast<std::size_t>(i)], 1.0 / (1 + i));
    }
  }
}

// A step is issued in 1 ms and takes 10 ms in all, so windows of 30 steps are 0.3 s long.
TEST_F(TrainJobTest, WindowsAreSynchronisedOnlyAtTheirEnds) {
  job_.measure.steps = 381;  // 1 first, 20 warm-up, 310 free, 50 synchronised
  job_.measure.evaluate = false;
  ASSERT_EQ(run().outcome, Outcome::kOk);
  const std::vector<double>& seconds = samples(kWindowSeconds);
  ASSERT_EQ(seconds.size(), 10u);
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    EXPECT_NEAR(seconds[i], samples(kWindowSamples)[i] / 4 * 0.010, 1e-9);
    EXPECT_EQ(samples(kInputWait)[i], 0);  // this clock stands still while the loop waits
  }
  EXPECT_EQ(sum(kWindowSamples), 310 * 4);
  EXPECT_EQ(samples(kStepTime).size(), 50u);
  EXPECT_THAT(samples(kStepTime), Each(::testing::DoubleNear(0.010, 1e-9)));
  EXPECT_NEAR(sum(kTrainSeconds), 381 * 0.010, 1e-9);
  EXPECT_THAT(samples(kFirstStepSeconds), ElementsAre(::testing::DoubleNear(0.010, 1e-9)));
  EXPECT_THAT(samples(kLoadSeconds), ElementsAre(2.0));
  EXPECT_EQ(synchronisations(), 1u + 1 + 10 + 50);  // warm-up of 20 steps is one segment
  EXPECT_THAT(phases_,
              ElementsAre("load", "first_step", "warm_up", "throughput", "step_times", "save"));
}

TEST_F(TrainJobTest, ADisturbedWarmUpDoesNotShortenTheWindows) {
  script_.compute_ns = [](std::int64_t step) {
    const bool disturbed = step < 3 || (step >= 18 && step < 21);
    return std::int64_t{disturbed ? 900'000'000 : 9'000'000};
  };
  job_.measure.steps = 381;
  ASSERT_EQ(run().outcome, Outcome::kOk);
  EXPECT_THAT(samples(kWindowSeconds), Each(::testing::Ge(0.3)));
}

TEST_F(TrainJobTest, EventsAreSparse) {
  job_.measure.steps = 3000;
  ASSERT_EQ(run().outcome, Outcome::kOk);
  ASSERT_GT(progress_ns_.size(), 50u);
  for (std::size_t i = 1; i < progress_ns_.size(); ++i) {
    EXPECT_GE(progress_ns_[i] - progress_ns_[i - 1], 200'000'000);
    EXPECT_GT(progress_[i].step, progress_[i - 1].step);
  }
  EXPECT_EQ(progress_.back().total_steps, 3000);
  EXPECT_NEAR(progress_.back().samples_per_second, 400, 1e-6);
}

TEST_F(TrainJobTest, EnoughPrecisionEndsTheMeasurement) {
  ASSERT_EQ(run().outcome, Outcome::kOk);
  EXPECT_EQ(samples(kWindowSeconds).size(), 5u);
  EXPECT_EQ(samples(kStepTime).size(), 100u);
  EXPECT_EQ(samples(kTestAccuracy).size(), 1u);
}

TEST_F(TrainJobTest, ANoisyMachineEndsItByTime) {
  script_.compute_ns = [](std::int64_t step) {
    return step / 40 % 2 == 0 ? std::int64_t{5'000'000} : std::int64_t{50'000'000};
  };
  job_.measure.max_seconds = 7;
  job_.measure.precision = 0.001;
  ASSERT_EQ(run().outcome, Outcome::kOk);
  EXPECT_GE(sum(kWindowSeconds), 7);
  const double last = samples(kWindowSeconds).back();
  EXPECT_LT(sum(kWindowSeconds) - last, 7);
}

TEST_F(TrainJobTest, EpochsFollowTheOrderAndAreEvaluatedOneByOne) {
  job_.measure.epochs = 3;
  ASSERT_EQ(run().outcome, Outcome::kOk);
  const auto calls = training_calls();
  ASSERT_EQ(calls.size(), 15u);
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    const auto order =
        permutation(CounterRandom(11, stream_of("order/" + std::to_string(epoch))), 20);
    for (std::size_t i = 0; i < 20; ++i) {
      // Synthetic label of sample n: n modulo classes.
      EXPECT_EQ(calls[epoch * 5 + i / 4].labels[i % 4], order[i] % 3);
    }
  }
  EXPECT_EQ(samples(kEpochSeconds).size(), 3u);
  EXPECT_NEAR(sum(kEpochSeconds), sum(kTrainSeconds), 1e-9);
  EXPECT_EQ(samples(kTestAccuracy).size(), 3u);
  EXPECT_EQ(samples(kEvaluationSeconds).size(), 3u);
}

TEST_F(TrainJobTest, WindowsEndWithTheEpoch) {
  job_.data.train_count = 400;
  job_.measure.epochs = 3;  // of 100 steps; windows are of 30 and more
  ASSERT_EQ(run().outcome, Outcome::kOk);
  std::vector<std::int64_t> steps_before_evaluation;
  std::int64_t steps = 0;
  for (const FakeCall& call : log_.calls) {
    if (call.kind != FakeCall::Kind::kRun) continue;
    if (log_.spec.programs[call.program].mode == Mode::kTraining) {
      ++steps;
    } else if (steps_before_evaluation.empty() || steps_before_evaluation.back() != steps) {
      steps_before_evaluation.push_back(steps);
    }
  }
  EXPECT_THAT(steps_before_evaluation, ElementsAre(100, 200, 300));
  EXPECT_THAT(samples(kEpochSeconds), Each(::testing::DoubleNear(1, 1e-9)));
}

// The fake answers with the bias, {1, 2, 3}: always class 2. Of the 7 test samples, two have that
// label: 2 and 5.
TEST_F(TrainJobTest, EvaluationCountsEverySampleOnce) {
  job_.measure.steps = 3;
  ASSERT_EQ(run().outcome, Outcome::kOk);
  EXPECT_THAT(samples(kTestAccuracy), ElementsAre(2.0 / 7));
  const double normalizer = std::log(std::exp(1) + std::exp(2) + std::exp(3));
  const double labels_sum = 3 * 1 + 2 * 2 + 2 * 3;  // logit of the label over all seven
  EXPECT_NEAR(samples(kTestLoss).at(0), normalizer - labels_sum / 7, 1e-6);
}

TEST_F(TrainJobTest, TheLastBatchMayBeDroppedWrappedOrSmaller) {
  job_.data.train_count = 22;
  job_.measure.epochs = 2;
  ASSERT_EQ(run().outcome, Outcome::kOk);
  EXPECT_EQ(training_calls().size(), 10u);
  log_ = {};
  job_.recipe.last_batch = LastBatch::kWrap;
  ASSERT_EQ(run().outcome, Outcome::kOk);
  EXPECT_EQ(training_calls().size(), 12u);
  log_ = {};
  job_.recipe.last_batch = LastBatch::kSmaller;
  EXPECT_THAT(run().message, HasSubstr("the last batch of an epoch has 2 samples and no graph"));
  log_ = {};
  job_.last_graph = testing::linear_graph(2, false);
  ASSERT_EQ(run().outcome, Outcome::kOk);
  const auto calls = training_calls();
  ASSERT_EQ(calls.size(), 12u);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].labels.size(), i % 6 == 5 ? 2u : 4u);
    EXPECT_EQ(calls[i].program, i % 6 == 5 ? 1u : 0u);
  }
}

TEST_F(TrainJobTest, LearningRatesAndCountsFollowEachOptimizersSchedule) {
  OptimizerChoice first, second;
  first.schedule.base = 0.5;
  second.name = "second";
  second.schedule = {ScheduleKind::kEpochAnnealing, 8, 2};
  job_.recipe.optimizers = {first, second};
  job_.recipe.groups = {{"weight", 1, 0, false, "second"}, {"bias", 3, 1, false, ""}};
  job_.measure.steps = 12;  // of 5 an epoch
  ASSERT_EQ(run().outcome, Outcome::kOk);
  const auto& updates = log_.spec.programs[0].updates;
  ASSERT_EQ(updates.size(), 2u);
  EXPECT_EQ(updates[0].weights.at(0).weight, "bias");
  EXPECT_EQ(updates[0].weights.at(0).rate_multiplier, 3);
  EXPECT_EQ(updates[1].weights.at(0).weight, "weight");
  const auto calls = training_calls();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].updates.at(0).learning_rate, 0.5);
    EXPECT_EQ(calls[i].updates.at(1).learning_rate, 8 / std::pow(2, i / 5));
    EXPECT_EQ(calls[i].updates.at(1).count, static_cast<std::int64_t>(i) + 1);
  }
}

TEST_F(TrainJobTest, AnEngineWithoutDropoutIsFedMasks) {
  job_ = testing::linear_job(folder_, true);
  job_.measure.steps = 3;
  ASSERT_EQ(run().outcome, Outcome::kOk);
  EXPECT_EQ(facts_["training"]["dropout"], "native");
  EXPECT_THAT(training_calls().at(0).mask, ElementsAre());
  log_ = {};
  script_.native_dropout = false;
  ASSERT_EQ(run().outcome, Outcome::kOk);
  EXPECT_EQ(facts_["training"]["dropout"], "shared");
  const std::string input = log_.spec.programs[0].graph.inputs.at(2).name;
  for (std::int64_t step = 0; step < 3; ++step) {
    Tensor mask({DType::kFloat32, {4, 16}});
    fill_dropout_mask(input, 11, step, 0.25, mask.sink());
    const auto expected = mask.as<float>();
    EXPECT_THAT(training_calls().at(static_cast<std::size_t>(step)).mask,
                ::testing::ElementsAreArray(expected.begin(), expected.end()));
  }
  job_ = testing::linear_job(folder_, false);
  ASSERT_EQ(run().outcome, Outcome::kOk);
  EXPECT_EQ(facts_["training"]["dropout"], "none");
}

TEST_F(TrainJobTest, EvaluationUsesAveragesAndTrainingGoesOnWithWeights) {
  job_.recipe.weight_average = 0.9;
  job_.measure.steps = 5;
  script_.before_step = [this](std::int64_t) -> Status {
    const std::vector<float> average = {7, 0, 0};  // answers class 0
    log_.variables.at("bias:average") = Tensor::of<float>({3}, average);
    return {};
  };
  ASSERT_EQ(run().outcome, Outcome::kOk);
  EXPECT_THAT(samples(kTestAccuracy), ElementsAre(3.0 / 7));
  EXPECT_THAT(log_.variables.at("bias").as<float>(), ElementsAre(1, 2, 3));
  const TensorFile saved = TensorFile::open(job_.weights_out).value();
  EXPECT_THAT(saved.find("bias")->as<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(saved.find("bias:average")->as<float>(), ElementsAre(7, 0, 0));
}

TEST_F(TrainJobTest, FactsSayWhatWasTrainedOn) {
  job_.measure.steps = 1;
  ASSERT_EQ(run().outcome, Outcome::kOk);
  EXPECT_EQ(facts_["data"]["train_count"], 20);
  EXPECT_EQ(facts_["data"]["test_count"], 7);
  EXPECT_EQ(facts_["data"]["checksum"].get<std::string>().size(), 32u);
  EXPECT_EQ(facts_["training"]["parameters"], 3 * 16 + 3);
  EXPECT_EQ(facts_["training"]["initial_weights"],
            TensorFile::open(job_.weights_in).value().content_hash());
  EXPECT_GT(samples(kPeakResidentBytes).at(0), 1e6);
}

TEST_F(TrainJobTest, ALossThatIsNotFiniteIsAnOutcome) {
  job_.measure.steps = 300;
  script_.loss = [](std::int64_t step) {
    return step == 57 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
  };
  const Finished finished = run();
  EXPECT_EQ(finished.outcome, Outcome::kDiverged);
  EXPECT_THAT(finished.message, HasSubstr("the loss of step 58 is not finite"));
  EXPECT_GE(log_.steps, 58);
  EXPECT_LT(log_.steps, 100);  // ends with the sub-window
  EXPECT_EQ(static_cast<std::int64_t>(samples(kLoss).size()), log_.steps);
  EXPECT_TRUE(std::isnan(samples(kLoss).at(57)));
  EXPECT_TRUE(samples(kTestAccuracy).empty());
}

TEST_F(TrainJobTest, FailuresKeepWhatWasMeasured) {
  job_.measure.steps = 50;
  script_.before_step = [](std::int64_t step) -> Status {
    if (step == 30) return Error{ErrorKind::kOutOfMemory, "cannot allocate 8 GiB"};
    return {};
  };
  Finished finished = run();
  EXPECT_EQ(finished.outcome, Outcome::kOutOfMemory);
  EXPECT_EQ(finished.message, "cannot allocate 8 GiB");
  EXPECT_FALSE(samples(kLoss).empty());
  EXPECT_EQ(static_cast<double>(samples(kLoss).size()), samples(kSteps).at(0));

  script_.before_step = [](std::int64_t) -> Status { throw std::runtime_error("kernel panic"); };
  finished = run();
  EXPECT_EQ(finished.outcome, Outcome::kCrashed);
  EXPECT_EQ(finished.message, "kernel panic");
  script_.before_step = [](std::int64_t) -> Status { throw std::bad_alloc(); };
  EXPECT_EQ(run().outcome, Outcome::kOutOfMemory);
  script_.load_error = unsupported("node gemm (Gemm): no kernel");
  finished = run();
  EXPECT_EQ(finished.outcome, Outcome::kUnsupported);
  EXPECT_EQ(finished.message, "node gemm (Gemm): no kernel");
}

TEST_F(TrainJobTest, BrokenInputIsInvalid) {
  job_.measure.steps = 5;
  job_.data.shape = {1, 5, 5};
  Finished finished = run();
  EXPECT_EQ(finished.outcome, Outcome::kInvalid);
  EXPECT_THAT(finished.message, HasSubstr("images are [1, 5, 5] after preprocessing"));
  job_.data.shape = {};
  job_.weights_in = folder_.file("none");
  EXPECT_NE(run().outcome, Outcome::kOk);
  job_.graph.nodes[1].op = "Gemn";
  EXPECT_THAT(run().message, HasSubstr("did you mean 'Gemm'"));
}

TEST_F(TrainJobTest, StopsWhenTheCoreIsGone) {
  job_.measure.steps = 100000;
  send_error_ = failed("the other side is gone");
  fail_from_step_ = 100;
  EXPECT_EQ(run().message, "the other side is gone");
  EXPECT_LT(log_.steps, 300);
}

}  // namespace
}  // namespace gradstone
