// SPDX-License-Identifier: Apache-2.0
// What a job tells the core, gathered so that nothing is sent while something is measured: samples
// and progress wait until `flush` or `flush_if_due`, which the loop calls between sub-windows.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "protocol/messages.h"

namespace gradstone {

using EventSink = std::function<Status(const WorkerMessage&)>;
using Clock = std::function<std::int64_t()>;  // monotonic, in nanoseconds

class EventStream {
 public:
  EventStream(EventSink send, Clock now_ns) : send_(std::move(send)), now_ns_(std::move(now_ns)) {}

  void add(std::string_view sample, double value);
  void add(std::string_view sample, std::span<const double> values);
  Status fact(std::string_view section, std::string_view key, Json value);
  // Sends what waits, then the phase.
  Status phase(std::string_view name);
  // Sends what waits and `progress`, at most five times a second.
  Status flush_if_due(const ProgressEvent& progress);
  Status flush();

 private:
  EventSink send_;
  Clock now_ns_;
  std::vector<SamplesEvent> waiting_;
  std::int64_t next_flush_ns_ = 0;
};

}  // namespace gradstone
