// SPDX-License-Identifier: Apache-2.0
#include "worker/train_job.h"

#include <exception>
#include <fstream>
#include <new>

#include "recipe/workload.h"
#include "record/sample_names.h"
#include "worker/evaluation.h"
#include "worker/training_batches.h"
#include "worker/training_loop.h"
#include "worker/weights.h"

namespace gradstone {
namespace {

constexpr double kSecondsPerNs = 1e-9;
// Batches that may be prepared or in the engine's hands at once.
constexpr std::size_t kFeedDepth = 6;

// High-water mark of this process's resident set; 0 where the kernel does not say.
double peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  std::string key;
  double kibibytes = 0;
  while (status >> key) {
    if (key == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

// Everything that lives for the length of a job. What it builds refers to what was built before.
class TrainRun {
 public:
  TrainRun(const TrainJob& job, Engine& engine, EventStream& events, Clock now_ns)
      : job_(job), engine_(engine), events_(events), now_ns_(std::move(now_ns)) {}

  Status run();
  // Samples that are known at the end, however it comes.
  void add_totals();
  std::optional<std::int64_t> diverged_at() const {
    return runner_ ? runner_->diverged_at() : std::nullopt;
  }

 private:
  Status open_data_set();
  Status load();
  Status describe_run(const std::string& weights_hash);
  Status train();
  Status evaluate_once();
  Status save();
  double seconds_since(std::int64_t start_ns) const {
    return static_cast<double>(now_ns_() - start_ns) * kSecondsPerNs;
  }

  const TrainJob& job_;
  Engine& engine_;
  EventStream& events_;
  Clock now_ns_;
  std::unique_ptr<DataSet> data_;
  std::optional<BatchFiller> filler_;
  TrainingPrograms programs_;
  std::optional<BatchOrder> order_;
  std::optional<TrainingBatches> batches_;
  std::optional<DataFeed> feed_;
  std::optional<StepRunner> runner_;
  std::unique_ptr<Bundle> bundle_;  // goes first: after a failure it may still write fetches
};

Status TrainRun::run() {
  TRY(events_.phase("load"));
  programs_ = TRY(make_training_programs(job_, engine_.describe()));
  TRY(open_data_set());
  TRY(load());
  TRY(train());
  if (diverged_at() || job_.weights_out.empty()) return {};
  return save();
}

Status TrainRun::open_data_set() {
  TRY(check_training_inputs(job_.graph));
  if (job_.last_graph) TRY(check_training_inputs(*job_.last_graph));
  data_ = TRY(open_data(job_.data, job_.data_need));
  std::int64_t classes = job_.data_need.classes;
  if (programs_.evaluation) classes = std::min(classes, programs_.logits_type.shape[1]);
  filler_ = TRY(BatchFiller::make(*data_, job_.recipe.preprocess,
                                  job_.graph.find_input(kImageInput)->type, classes));
  const std::int64_t batch = job_.graph.find_input(kImageInput)->type.shape[0];
  const std::int64_t count = data_->count(Split::kTrain);
  order_ = TRY(BatchOrder::make(count, batch, job_.recipe.last_batch, job_.seed));
  const std::int64_t last = order_->batch_size(order_->batches_per_epoch() - 1);
  const bool smaller_fits =
      last == batch ||
      (job_.last_graph && job_.last_graph->find_input(kImageInput)->type.shape[0] == last);
  if (!smaller_fits) {
    return unreadable("workload " + job_.workload + ": the last batch of an epoch has " +
                      std::to_string(last) +
                      " samples and no graph of that size came with the job");
  }
  return {};
}

Status TrainRun::load() {
  const std::int64_t start_ns = now_ns_();
  bundle_ = TRY(engine_.load(programs_.bundle));
  const std::string hash = TRY(load_weights(job_.weights_in, programs_.variables, *bundle_));
  events_.add(sample_names::kLoadSeconds, seconds_since(start_ns));
  return describe_run(hash);
}

Status TrainRun::describe_run(const std::string& weights_hash) {
  using namespace sample_names;
  const std::string checksum = data_->checksum();
  TRY(events_.fact(kDataSection, "reference", to_string(job_.data)));
  TRY(events_.fact(kDataSection, "train_count", data_->count(Split::kTrain)));
  TRY(events_.fact(kDataSection, "test_count", data_->count(Split::kTest)));
  TRY(events_.fact(kDataSection, "sample_shape", data_->sample_shape()));
  TRY(events_.fact(kDataSection, "classes", data_->classes()));
  TRY(events_.fact(kDataSection, "checksum", checksum));
  if (const auto published = published_checksum(job_.data.name)) {
    TRY(events_.fact(
        kDataSection, "note",
        checksum == *published ? "the published files" : "differs from the published files"));
  }
  TRY(events_.fact(kTrainingSection, "dropout", programs_.dropout));
  TRY(events_.fact(kTrainingSection, "initial_weights", weights_hash));
  TRY(events_.fact(kTrainingSection, "batches_per_epoch", order_->batches_per_epoch()));
  return events_.fact(kTrainingSection, "parameters", parameter_count(job_.graph));
}

Status TrainRun::train() {
  events_.add(sample_names::kBatch,
              static_cast<double>(job_.graph.find_input(kImageInput)->type.shape[0]));
  const std::int64_t batches_per_epoch = order_->batches_per_epoch();
  batches_.emplace(programs_, *filler_, *order_, job_.seed);
  feed_.emplace(
      kFeedDepth, TrainingLoop::fixed_steps(job_.measure, batches_per_epoch),
      [this](std::int64_t step, PreparedBatch& batch) { return batches_->fill(step, batch); });
  runner_.emplace(
      StepRunner::Parts{*bundle_, programs_, job_.recipe, *feed_, batches_per_epoch, now_ns_});
  TrainingLoop::Parts parts{job_.measure, batches_per_epoch, *runner_, events_, {}};
  if (programs_.evaluation) parts.evaluate = [this] { return evaluate_once(); };
  return TrainingLoop(std::move(parts)).run();
}

Status TrainRun::evaluate_once() {
  const std::int64_t start_ns = now_ns_();
  const bool averaged = job_.recipe.weight_average > 0;
  AverageSwap swap(*bundle_, programs_.trained_weights);
  if (averaged) TRY(swap.begin());
  const Evaluation result =
      TRY(evaluate(programs_, *filler_, data_->count(Split::kTest), *bundle_));
  if (averaged) TRY(swap.end());
  events_.add(sample_names::kEvaluationSeconds, seconds_since(start_ns));
  events_.add(sample_names::kTestAccuracy, result.accuracy);
  events_.add(sample_names::kTestLoss, result.loss);
  return events_.flush();
}

Status TrainRun::save() {
  TRY(events_.phase("save"));
  const bool averaged = job_.recipe.weight_average > 0;
  return save_weights(job_.weights_out, programs_.variables,
                      averaged ? programs_.trained_weights : std::vector<std::string>{}, *bundle_);
}

void TrainRun::add_totals() {
  if (runner_) {
    events_.add(sample_names::kSteps, static_cast<double>(runner_->steps_done()));
    events_.add(sample_names::kTrainSeconds, runner_->train_seconds());
  }
  events_.add(sample_names::kPeakResidentBytes, peak_resident_bytes());
}

// The framework's exceptions stop here.
Status run_guarded(TrainRun& run) {
  try {
    return run.run();
  } catch (const std::bad_alloc& error) {
    return Error{ErrorKind::kOutOfMemory, error.what()};
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

}  // namespace

Outcome outcome_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUnsupported:
      return Outcome::kUnsupported;
    case ErrorKind::kOutOfMemory:
      return Outcome::kOutOfMemory;
    case ErrorKind::kFailed:
      return Outcome::kCrashed;
    case ErrorKind::kUsage:
    case ErrorKind::kUnreadable:
      break;
  }
  return Outcome::kInvalid;
}

Finished run_train_job(const TrainJob& job, Engine& engine, EventSink send, Clock now_ns) {
  EventStream events(std::move(send), now_ns);
  TrainRun run(job, engine, events, std::move(now_ns));
  const Status done = run_guarded(run);
  run.add_totals();
  const Status sent = events.flush();
  if (!done.ok()) return {outcome_of(done.error().kind), done.error().message};
  if (!sent.ok()) return {outcome_of(sent.error().kind), sent.error().message};
  if (const auto step = run.diverged_at()) {
    return {Outcome::kDiverged, "the loss of step " + std::to_string(*step + 1) +
                                    " is not finite; try a smaller learning rate"};
  }
  return {};
}

}  // namespace gradstone
