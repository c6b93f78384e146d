// SPDX-License-Identifier: Apache-2.0
// Holds a child to its limits from a thread of its own, so that nothing the child or the person
// does can hold the holder up. It only watches and kills; what it means is decided elsewhere.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "base/subprocess.h"
#include "protocol/channel.h"
#include "run/limits.h"

namespace gradstone {

struct Limits {
  double seconds = 3600;
  std::int64_t memory_bytes = 0;
};

enum class KillReason { kNone, kStopped, kTime, kMemory };

struct Verdict {
  KillReason reason = KillReason::kNone;  // why it killed the group, if it did
  std::int64_t resident_bytes = 0;        // when it did so for kMemory; else the most it saw
};

class Watchdog {
 public:
  // `child`, `channel` and `stop` must outlive it. Nobody may wait for the child before `finish`.
  // When the child is gone or killed the channel is ended: what the child has left behind outside
  // its group may still hold the other side.
  Watchdog(Subprocess& child, Channel& channel, const Limits& limits,
           const std::atomic<bool>& stop);
  ~Watchdog();

  // From any thread: the time limit now ends so many seconds from here.
  void restart_clock(double seconds);
  // Ends the watch and tells what it did. Later calls tell the same.
  Verdict finish();

 private:
  void watch();
  bool look();  // false once there is nothing left to watch

  Subprocess& child_;
  Channel& channel_;
  const Limits limits_;
  const std::atomic<bool>& stop_;
  std::atomic<std::int64_t> deadline_ns_;
  GroupMemory memory_;
  Verdict verdict_;  // the thread's own until it is joined
  std::mutex mutex_;
  std::condition_variable finished_changed_;
  bool finished_ = false;
  std::thread thread_;
};

}  // namespace gradstone
