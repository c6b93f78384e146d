// SPDX-License-Identifier: Apache-2.0
#include "run/worker_process.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>
#include <utility>

#include "run/limits.h"

namespace gradstone {
namespace {

constexpr std::chrono::milliseconds kForEver{-1};
constexpr std::chrono::seconds kTimeToLeave{10};  // for a worker that has said all

std::string in_mebibytes(std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return "";
  text = text.substr(0, end + 1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

Finished end_by_kill(const Verdict& verdict, const Limits& limits, const std::string& place) {
  switch (verdict.reason) {
    case KillReason::kStopped:
      return {Outcome::kInvalid, "interrupted " + place};
    case KillReason::kTime:
      return {Outcome::kTimedOut, "passed the time limit of " + fmt::to_string(limits.seconds) +
                                      " s " + place + "; --time-limit sets another"};
    default:
      return {Outcome::kOutOfMemory, "passed the memory limit of " +
                                         in_mebibytes(limits.memory_bytes) + " with " +
                                         in_mebibytes(verdict.resident_bytes) + " resident " +
                                         place + "; --memory-limit sets another"};
  }
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::string& executable,
                                                            Limits limits,
                                                            const std::atomic<bool>& stop) {
  if (limits.memory_bytes == 0) limits.memory_bytes = default_memory_limit();
  if (limits.memory_bytes == 0) limits.memory_bytes = std::numeric_limits<std::int64_t>::max();
  ChannelPair pair = TRY(open_channel());
  Command command{executable};
  command.descriptors = {{pair.theirs.get(), kWorkerDescriptor}};
  const std::int64_t kills_before = out_of_memory_kills();
  Subprocess process = TRY(Subprocess::start(command));
  pair.theirs.reset();
  auto worker = std::unique_ptr<WorkerProcess>(
      new WorkerProcess(std::move(pair), std::move(process), limits, kills_before));
  if (auto cgroup = MemoryCgroup::hold(worker->process_.pid(), limits.memory_bytes)) {
    worker->cgroup_.emplace(std::move(*cgroup));
  }
  worker->watchdog_.emplace(worker->process_, worker->pair_.ours, limits, stop);
  return worker;
}

WorkerProcess::WorkerProcess(ChannelPair pair, Subprocess process, const Limits& limits,
                             std::int64_t kernel_kills_before)
    : limits_(limits),
      kernel_kills_before_(kernel_kills_before),
      pair_(std::move(pair)),
      process_(std::move(process)) {}

void WorkerProcess::restart_clock(double seconds) { watchdog_->restart_clock(seconds); }

Departure WorkerProcess::leave(bool at_once) {
  Departure departure;
  departure.verdict = watchdog_->finish();
  pair_.ours.end();  // a worker that waits for us hears that we are done
  if (at_once) process_.kill_group();
  std::optional<ExitStatus> exit = process_.wait(kTimeToLeave);
  if (!exit) {
    departure.forced = true;
    process_.kill_group();
    exit = process_.wait(kForEver);
  }
  departure.exit = *exit;
  departure.kernel_killed =
      cgroup_ ? cgroup_->has_killed() : out_of_memory_kills() > kernel_kills_before_;
  departure.tail = process_.output_tail();
  return departure;
}

Finished end_of(const Departure& departure, const Status& heard, const Limits& limits,
                const std::string& place) {
  if (departure.verdict.reason != KillReason::kNone) {
    return end_by_kill(departure.verdict, limits, place);
  }
  if (!heard.ok()) {
    return {Outcome::kCrashed, "sent rubbish on the protocol: " + heard.error().message};
  }
  if (departure.forced) {
    return {Outcome::kCrashed, "the worker closed the protocol " + place + " and did not leave"};
  }
  if (departure.exit.signal == SIGKILL && departure.kernel_killed) {
    return {Outcome::kOutOfMemory, "killed by the kernel for lack of memory " + place};
  }
  const std::string words = last_line(departure.tail);
  return {Outcome::kCrashed,
          std::string("the worker ") + (departure.exit.signal != 0 ? "died of " : "left with ") +
              to_string(departure.exit) + " " + place + (words.empty() ? "" : ": " + words)};
}

std::string other_protocol(int version) {
  return "the engine speaks version " + std::to_string(version) +
         " of the protocol, this gradstone version " + std::to_string(kProtocolVersion) +
         "; install both from the same build";
}

}  // namespace gradstone
