// SPDX-License-Identifier: Apache-2.0
// When each ATen operator ran, and for which graph node. Only calls from outside are kept, not what
// an operator calls in turn, so that durations of one thread do not overlap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine.h"

namespace gradstone::torch_engine {

class Profiler {
 public:
  Profiler() = default;
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;
  ~Profiler() { end(); }

  // Observes the calling thread until `end`. A second begin starts anew.
  void begin();
  std::vector<ProfileEvent> end();
  bool active() const { return callback_.has_value(); }

  // What the thread does from now on. Forward nodes are remembered by autograd's sequence numbers,
  // by which its backward operators are told apart; `forget_nodes` begins a new run.
  void forget_nodes() { nodes_.clear(); }
  void enter(Phase phase, const std::string& node = {});

  // For the framework's callbacks.
  void operator_begins(const char* label, std::int64_t sequence_number);
  void operator_ends();

 private:
  std::string node_of(std::int64_t sequence_number) const;

  std::optional<std::uint64_t> callback_;
  std::vector<ProfileEvent> events_;
  std::vector<std::pair<std::uint64_t, std::string>> nodes_;  // first sequence number of each
  Phase phase_ = Phase::kForward;
  std::string node_;
  int depth_ = 0;
};

}  // namespace gradstone::torch_engine
