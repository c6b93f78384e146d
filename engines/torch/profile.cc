// SPDX-License-Identifier: Apache-2.0
#include "engines/torch/profile.h"

#include <algorithm>

#include "base/clock.h"
#include "engines/torch/aten.h"

#pragma push_macro("CHECK")
#undef CHECK
#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#undef CHECK
#pragma pop_macro("CHECK")

namespace gradstone::torch_engine {
namespace {

// The framework's callbacks are plain functions without an argument of ours.
thread_local Profiler* observing = nullptr;

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& function) {
  if (observing != nullptr) observing->operator_begins(function.name(), function.seqNr());
  return nullptr;
}

void on_end(const at::RecordFunction&, at::ObserverContext*) {
  if (observing != nullptr) observing->operator_ends();
}

}  // namespace

void Profiler::begin() {
  end();
  observing = this;
  callback_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(on_begin, on_end)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

std::vector<ProfileEvent> Profiler::end() {
  if (callback_) at::removeCallback(*callback_);
  callback_.reset();
  if (observing == this) observing = nullptr;
  depth_ = 0;
  nodes_.clear();
  return std::exchange(events_, {});
}

void Profiler::enter(Phase phase, const std::string& node) {
  phase_ = phase;
  node_ = node;
  if (phase == Phase::kForward) nodes_.emplace_back(at::sequence_number::peek(), node);
}

std::string Profiler::node_of(std::int64_t sequence_number) const {
  if (phase_ != Phase::kBackward) return node_;
  if (sequence_number < 0) return "";
  const auto number = static_cast<std::uint64_t>(sequence_number);
  const auto after =
      std::upper_bound(nodes_.begin(), nodes_.end(), number,
                       [](std::uint64_t value, const auto& node) { return value < node.first; });
  return after == nodes_.begin() ? "" : std::prev(after)->second;
}

void Profiler::operator_begins(const char* label, std::int64_t sequence_number) {
  if (depth_++ > 0) {
    // Autograd's evaluation of a function, which has no number, calls the function, which has.
    if (depth_ > 2 || phase_ != Phase::kBackward || sequence_number < 0) return;
    events_.back().node = node_of(sequence_number);
    events_.back().label = label;
    return;
  }
  ProfileEvent& event = events_.emplace_back();
  event.node = node_of(sequence_number);
  event.label = label;
  event.phase = phase_;
  event.start_ns = monotonic_ns();
}

void Profiler::operator_ends() {
  if (depth_ == 0 || --depth_ > 0) return;
  ProfileEvent& event = events_.back();
  event.duration_ns = monotonic_ns() - event.start_ns;
}

}  // namespace gradstone::torch_engine
