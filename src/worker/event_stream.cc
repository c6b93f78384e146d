// SPDX-License-Identifier: Apache-2.0
#include "worker/event_stream.h"

#include <algorithm>
#include <span>
#include <utility>

namespace gradstone {
namespace {

constexpr std::int64_t kFlushIntervalNs = 200'000'000;
constexpr std::size_t kMostValues = 1 << 18;  // in one message; the core bounds its lines

}  // namespace

void EventStream::add(std::string_view sample, double value) { add(sample, {&value, 1}); }

void EventStream::add(std::string_view sample, std::span<const double> values) {
  if (values.empty()) return;
  for (SamplesEvent& event : waiting_) {
    if (event.name != sample) continue;
    event.values.insert(event.values.end(), values.begin(), values.end());
    return;
  }
  waiting_.push_back({std::string(sample), {values.begin(), values.end()}});
}

Status EventStream::fact(std::string_view section, std::string_view key, Json value) {
  return send_(FactEvent{std::string(section), std::string(key), std::move(value)});
}

Status EventStream::phase(std::string_view name) {
  TRY(flush());
  return send_(PhaseEvent{std::string(name)});
}

Status EventStream::flush_if_due(const ProgressEvent& progress) {
  if (now_ns_() < next_flush_ns_) return {};
  TRY(flush());
  TRY(send_(progress));
  next_flush_ns_ = now_ns_() + kFlushIntervalNs;
  return {};
}

Status EventStream::flush() {
  // Taken first: after a failure what was sent must not wait any more.
  for (const SamplesEvent& event : std::exchange(waiting_, {})) {
    for (std::size_t i = 0; i < event.values.size(); i += kMostValues) {
      const auto piece =
          std::span(event.values).subspan(i).first(std::min(kMostValues, event.values.size() - i));
      TRY(send_(SamplesEvent{event.name, {piece.begin(), piece.end()}}));
    }
  }
  return {};
}

}  // namespace gradstone
