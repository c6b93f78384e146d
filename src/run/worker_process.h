// SPDX-License-Identifier: Apache-2.0
// One worker process from its start to its end: a channel to it, limits that it is held to, and how
// it ended, in words. What is said over the channel is none of its business: runner.h and
// engine_session.h.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/subprocess.h"
#include "protocol/channel.h"
#include "protocol/messages.h"
#include "run/memory_cgroup.h"
#include "run/watchdog.h"

namespace gradstone {

// How a worker left.
struct Departure {
  Verdict verdict;  // of the watchdog
  ExitStatus exit;
  bool forced = false;         // it had nothing more to say, and yet stayed
  bool kernel_killed = false;  // for lack of memory
  std::string tail;            // the end of its stdout and stderr
};

// Destroying it kills the worker.
class WorkerProcess {
 public:
  // `limits.memory_bytes` 0 is default_memory_limit(). `stop` must outlive it; setting it kills the
  // worker. The thread that calls must live as long as the worker (base/subprocess.h). Failed if
  // the executable cannot be started.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::string& executable, Limits limits,
                                                      const std::atomic<bool>& stop);

  Channel& channel() { return pair_.ours; }
  const Limits& limits() const { return limits_; }  // memory_bytes resolved
  bool held_by_cgroup() const { return cgroup_.has_value(); }
  // The time limit counts anew from here.
  void restart_clock(double seconds);

  // Sees it off: with time to leave by itself, or killed at once. Call it once.
  Departure leave(bool at_once);

 private:
  WorkerProcess(ChannelPair pair, Subprocess process, const Limits& limits,
                std::int64_t kernel_kills_before);

  // They go in reverse: the watchdog, the process (killed), its cgroup.
  Limits limits_;
  std::int64_t kernel_kills_before_;
  ChannelPair pair_;
  std::optional<MemoryCgroup> cgroup_;
  Subprocess process_;
  std::optional<Watchdog> watchdog_;
};

// What came of a worker whose last word was no result. `heard` is an error where it sent rubbish;
// `place` says what it was at: "in phase train, step 20".
Finished end_of(const Departure& departure, const Status& heard, const Limits& limits,
                const std::string& place);

// The words for a worker of another protocol version.
std::string other_protocol(int version);

}  // namespace gradstone
