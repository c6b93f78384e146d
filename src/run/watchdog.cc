// SPDX-License-Identifier: Apache-2.0
#include "run/watchdog.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace gradstone {
namespace {

constexpr std::chrono::milliseconds kCalm{100};  // between looks
constexpr std::chrono::milliseconds kAlert{20};  // above half of the memory limit

std::int64_t deadline_after(double seconds) {
  constexpr double kLongest = 1e9;  // 30 years; more does not fit nanoseconds
  return monotonic_ns() + static_cast<std::int64_t>(std::min(seconds, kLongest) * 1e9);
}

}  // namespace

Watchdog::Watchdog(Subprocess& child, Channel& channel, const Limits& limits,
                   const std::atomic<bool>& stop)
    : child_(child),
      channel_(channel),
      limits_(limits),
      stop_(stop),
      deadline_ns_(deadline_after(limits.seconds)),
      memory_(child.pid()) {
  // Signals of the program are for its main thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watchdog::~Watchdog() { finish(); }

void Watchdog::restart_clock(double seconds) { deadline_ns_ = deadline_after(seconds); }

Verdict Watchdog::finish() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      finished_ = true;
    }
    finished_changed_.notify_one();
    thread_.join();
  }
  return verdict_;
}

void Watchdog::watch() {
  while (look()) {
    const bool alert = verdict_.resident_bytes > limits_.memory_bytes / 2;
    std::unique_lock lock(mutex_);
    if (finished_changed_.wait_for(lock, alert ? kAlert : kCalm, [this] { return finished_; })) {
      return;
    }
  }
}

bool Watchdog::look() {
  // What the child started may outlive it and hold the channel open; then nobody hears the end.
  const bool ended = child_.has_ended();
  const std::int64_t resident = ended ? 0 : memory_.resident_bytes(limits_.memory_bytes);
  if (!ended) {
    verdict_.resident_bytes = std::max(verdict_.resident_bytes, resident);
    if (stop_) {
      verdict_.reason = KillReason::kStopped;
    } else if (resident > limits_.memory_bytes) {
      verdict_.reason = KillReason::kMemory;
    } else if (monotonic_ns() >= deadline_ns_) {
      verdict_.reason = KillReason::kTime;
    } else {
      return true;
    }
  }
  child_.kill_group();
  channel_.end();
  return false;
}

}  // namespace gradstone
