// SPDX-License-Identifier: Apache-2.0
// One run from spec to record: starts a worker, feeds it, listens, holds it to its limits. Whatever
// happens in the worker becomes an outcome of the record; nothing is printed here.
#pragma once

#include <atomic>
#include <string_view>

#include "record/record.h"
#include "run/spec.h"

namespace gradstone {

// Hears of a run while it goes on; called from the thread that called run_one.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void phase(std::string_view /*name*/) {}
  virtual void progress(const ProgressEvent& /*event*/) {}
};

// Never throws and never prints. `spec` has passed check_spec. The record is finished
// (finished_ms > 0) whatever the outcome and keeps every sample streamed before the end:
//   as the worker says               it sent Finished
//   kInvalid       a graph, weight file or temporary folder that the core cannot prepare, another
//                  protocol version (both numbers in the message), interrupted
//   kCrashed       the worker died (signal or exit status, end of its stderr), or sent rubbish
//   kTimedOut      the time limit passed; the group was killed
//   kOutOfMemory   the memory limit was passed and the group killed, or the kernel killed it
// context gets "settings", "limits", "environment", and what the worker states (engine, data, ...).
// Setting `stop` (from a signal handler) ends the run within a fraction of a second.
RunRecord run_one(const RunSpec& spec, const Workload& workload, RunObserver& observer,
                  const std::atomic<bool>& stop);

}  // namespace gradstone
