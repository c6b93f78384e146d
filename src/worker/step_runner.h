// SPDX-License-Identifier: Apache-2.0
// Issues training steps and times them from synchronisation to synchronisation. Between the two
// clock readings of a segment it takes prepared batches, sets learning rates and runs the program;
// nothing else.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "worker/data_feed.h"
#include "worker/event_stream.h"
#include "worker/training_programs.h"

namespace gradstone {

struct Segment {
  double seconds = 0;     // from a synchronised start to a synchronised end
  double input_wait = 0;  // of which waiting for the data feed
  std::int64_t steps = 0, samples = 0;
};

class StepRunner {
 public:
  struct Parts {
    Bundle& bundle;
    const TrainingPrograms& programs;
    const Recipe& recipe;
    DataFeed& feed;
    std::int64_t batches_per_epoch = 1;
    Clock now_ns;
  };
  explicit StepRunner(Parts parts);

  // Runs `steps` (1 to kMaxWindowSteps) steps and synchronises once, at the end. The bundle must
  // have nothing in flight.
  Result<Segment> run(std::int64_t steps);

  std::int64_t steps_done() const { return steps_done_; }
  std::span<const double> losses() const { return losses_; }  // of the last segment
  double train_seconds() const { return train_seconds_; }     // of all segments
  // The first step (from 0) whose loss was not finite.
  std::optional<std::int64_t> diverged_at() const { return diverged_at_; }

 private:
  Status issue(std::int64_t index, Segment& segment);
  void collect_losses(std::int64_t steps);

  Parts parts_;
  std::vector<std::byte> loss_ring_;  // one loss a step of a segment, as the program writes it
  std::vector<TensorSink> fetches_;
  std::vector<UpdateArguments> updates_;
  std::vector<double> losses_;
  std::int64_t steps_done_ = 0;
  std::int64_t input_wait_ns_ = 0;
  double train_seconds_ = 0;
  std::optional<std::int64_t> diverged_at_;
};

}  // namespace gradstone
