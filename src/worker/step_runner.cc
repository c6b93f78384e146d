// SPDX-License-Identifier: Apache-2.0
#include "worker/step_runner.h"

#include <cmath>

#include "worker/measure_plan.h"

namespace gradstone {
namespace {

constexpr double kSecondsPerNs = 1e-9;

}  // namespace

StepRunner::StepRunner(Parts parts) : parts_(std::move(parts)) {
  const ProgramSpec& program = parts_.programs.bundle.programs[0];
  const std::size_t loss_bytes = size_of(parts_.programs.loss_type.dtype);
  loss_ring_.resize(static_cast<std::size_t>(kMaxWindowSteps) * loss_bytes);
  losses_.reserve(static_cast<std::size_t>(kMaxWindowSteps));
  // The loss, then the gradients, which nobody wants.
  fetches_.push_back({parts_.programs.loss_type, nullptr});
  for (const std::string& name : program.backward->wrt) {
    fetches_.push_back({program.graph.find_weight(name)->type, nullptr});
  }
  updates_.resize(program.updates.size());
}

Status StepRunner::issue(std::int64_t index, Segment& segment) {
  const std::int64_t step = steps_done_ + index;
  const std::int64_t asked_ns = parts_.now_ns();
  const std::shared_ptr<const PreparedBatch> batch = TRY(parts_.feed.next());
  input_wait_ns_ += parts_.now_ns() - asked_ns;
  for (std::size_t i = 0; i < updates_.size(); ++i) {
    const std::size_t optimizer = parts_.programs.optimizer_of_update[i];
    updates_[i].learning_rate = learning_rate(parts_.recipe.optimizers[optimizer].schedule, step,
                                              step / parts_.batches_per_epoch);
    updates_[i].count = step + 1;
  }
  fetches_[0].data =
      loss_ring_.data() + static_cast<std::size_t>(index) * size_of(fetches_[0].type.dtype);
  RunRequest request;
  request.program = batch->program;
  request.feeds = batch->feeds;
  request.owner = batch;
  request.fetches = fetches_;
  request.updates = updates_;
  segment.samples += batch->samples;
  return parts_.bundle.run(request);
}

void StepRunner::collect_losses(std::int64_t steps) {
  losses_.clear();
  const TensorRef ring = {{parts_.programs.loss_type.dtype, {kMaxWindowSteps}}, loss_ring_.data()};
  for (std::int64_t i = 0; i < steps; ++i) {
    losses_.push_back(element_as_double(ring, i));
    if (!diverged_at_ && !std::isfinite(losses_.back())) diverged_at_ = steps_done_ + i;
  }
}

Result<Segment> StepRunner::run(std::int64_t steps) {
  CHECK(steps >= 1 && steps <= kMaxWindowSteps, "a segment has room for this many losses");
  Segment segment;
  segment.steps = steps;
  input_wait_ns_ = 0;
  const std::int64_t start_ns = parts_.now_ns();
  for (std::int64_t i = 0; i < steps; ++i) TRY(issue(i, segment));
  TRY(parts_.bundle.synchronise());
  const std::int64_t end_ns = parts_.now_ns();
  segment.seconds = static_cast<double>(end_ns - start_ns) * kSecondsPerNs;
  segment.input_wait = static_cast<double>(input_wait_ns_) * kSecondsPerNs;
  collect_losses(steps);
  steps_done_ += steps;
  train_seconds_ += segment.seconds;
  return segment;
}

}  // namespace gradstone
