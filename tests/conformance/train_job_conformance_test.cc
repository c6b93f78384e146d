// SPDX-License-Identifier: Apache-2.0
// A whole training job, as the worker runs it, on the engine this is linked with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/clock.h"
#include "protocol/tensor_file.h"
#include "record/sample_names.h"
#include "worker/test_job.h"
#include "worker/train_job.h"

namespace gradstone {
namespace {

using Samples = std::map<std::string, std::vector<double>, std::less<>>;

struct Trained {
  Finished finished;
  Samples samples;
};

Trained train(const TrainJob& job) {
  Trained trained;
  const auto engine = make_engine(EngineOptions{});
  CHECK(engine.ok(), "the engine starts");
  const EventSink keep_samples = [&](const WorkerMessage& message) -> Status {
    if (const auto* event = std::get_if<SamplesEvent>(&message)) {
      auto& values = trained.samples[event->name];
      values.insert(values.end(), event->values.begin(), event->values.end());
    }
    return {};
  };
  trained.finished = run_train_job(job, **engine, keep_samples, monotonic_ns);
  return trained;
}

TrainJob learning_job(const TemporaryFolder& folder, bool dropout) {
  TrainJob job = testing::linear_job(folder, dropout);
  job.data = parse_data_reference("synthetic:train=202,test=99").value();
  job.recipe.preprocess.scale = 1.0 / 128;
  job.recipe.preprocess.mean = {1};
  job.recipe.optimizers[0].optimizer.rule = Rule::kMomentum;
  job.recipe.optimizers[0].optimizer.momentum = 0.9;
  job.recipe.optimizers[0].schedule.base = 0.05;
  return job;
}

TEST(TrainJobConformance, LearnsAndSavesWhatItLearnt) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  TrainJob job = learning_job(folder, false);
  job.recipe.last_batch = LastBatch::kSmaller;
  job.last_graph = testing::linear_graph(2, false);
  job.measure.epochs = 3;
  const Trained trained = train(job);
  ASSERT_EQ(trained.finished.outcome, Outcome::kOk) << trained.finished.message;
  EXPECT_EQ(trained.samples.at("loss").size(), 3u * 51);
  ASSERT_EQ(trained.samples.at("test_accuracy").size(), 3u);
  EXPECT_GE(trained.samples.at("test_accuracy").back(), 0.9);
  EXPECT_LT(trained.samples.at("test_loss").back(), 0.5);

  job.weights_in = job.weights_out;  // what was saved is as good
  job.recipe.optimizers[0].schedule.base = 0;
  job.measure = MeasurePlan{};
  job.measure.steps = 1;
  const Trained again = train(job);
  ASSERT_EQ(again.finished.outcome, Outcome::kOk) << again.finished.message;
  EXPECT_EQ(again.samples.at("test_accuracy").at(0), trained.samples.at("test_accuracy").back());
  EXPECT_NEAR(again.samples.at("test_loss").at(0), trained.samples.at("test_loss").back(), 1e-6);
}

// The cut into segments (warm-up, windows, single steps) leaves no trace in what is computed.
TEST(TrainJobConformance, LossesDoNotDependOnHowTheyAreMeasured) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  TrainJob job = learning_job(folder, true);
  job.dropout = DropoutMode::kShared;
  job.recipe.weight_average = 0.5;
  job.measure.steps = 100;
  const Trained by_steps = train(job);
  ASSERT_EQ(by_steps.finished.outcome, Outcome::kOk) << by_steps.finished.message;
  job.measure = MeasurePlan{};
  job.measure.epochs = 2;  // of 50 steps, with an evaluation of the averages in between
  const Trained by_epochs = train(job);
  ASSERT_EQ(by_epochs.finished.outcome, Outcome::kOk) << by_epochs.finished.message;
  const auto& losses = by_steps.samples.at("loss");
  ASSERT_EQ(by_epochs.samples.at("loss").size(), losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(by_epochs.samples.at("loss")[i], losses[i], 1e-6) << i;
  }
}

}  // namespace
}  // namespace gradstone
