// SPDX-License-Identifier: Apache-2.0
#include "run/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/subprocess.h"
#include "protocol/channel.h"
#include "protocol/messages.h"
#include "run/environment.h"
#include "run/job.h"
#include "run/limits.h"
#include "run/memory_cgroup.h"
#include "run/plan.h"
#include "run/watchdog.h"

namespace gradstone {
namespace {

constexpr std::chrono::milliseconds kForEver{-1};
constexpr std::chrono::seconds kTimeToLeave{10};  // for a worker that has said all

// Sections of the context that only the core writes.
constexpr std::array<std::string_view, 4> kOwnSections = {"settings", "limits", "environment",
                                                          "worker"};

struct End {
  Outcome outcome = Outcome::kInvalid;
  std::string message;
};

End end_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kUnsupported:
      return {Outcome::kUnsupported, error.message};
    case ErrorKind::kOutOfMemory:
      return {Outcome::kOutOfMemory, error.message};
    default:
      return {Outcome::kInvalid, error.message};
  }
}

std::string in_mebibytes(std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return "";
  text = text.substr(0, end + 1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

// One conversation with one worker, from hello to its end.
class Conversation {
 public:
  Conversation(RunRecord& record, RunObserver& observer) : record_(record), observer_(observer) {}

  // Returns, with the channel closed, when the worker has finished, has been refused, or is gone.
  // Errors: what it sent is unreadable.
  Status hold(Channel channel, const CoreHello& hello, const TrainJob& job) {
    // A worker that is gone already is noticed when reading.
    (void)channel.send(to_json(CoreMessage(hello)));
    for (;;) {
      const std::optional<Json> json = TRY(channel.receive(kForEver));
      if (!json) return {};
      WorkerMessage message = TRY(worker_message_from_json(*json));
      if (auto* finished = std::get_if<Finished>(&message)) {
        end_ = End{finished->outcome, std::move(finished->message)};
        return {};
      }
      if (auto* answer = std::get_if<WorkerHello>(&message)) {
        TRY(greet(std::move(*answer)));
        if (end_) return {};
        (void)channel.send(to_json(CoreMessage(job)));
      } else if (!greeted_) {
        return unreadable("an event before hello");
      } else {
        TRY(std::visit([this](auto& event) { return take(event); }, message));
      }
    }
  }

  // What came of it, by the worker's word or our refusal; nullopt if it did not get so far.
  const std::optional<End>& end() const { return end_; }
  bool refused() const { return refused_; }
  // "in phase train, step 20", or before hello "at its start".
  std::string place() const {
    if (phase_.empty()) return greeted_ ? "before its first phase" : "at its start";
    return "in phase " + phase_ + (step_ > 0 ? ", step " + std::to_string(step_) : "");
  }

 private:
  Status greet(WorkerHello hello) {
    if (greeted_) return unreadable("a second hello");
    greeted_ = true;
    if (hello.protocol != kProtocolVersion) {
      refused_ = true;
      end_ = End{Outcome::kInvalid, "the engine speaks version " + std::to_string(hello.protocol) +
                                        " of the protocol, this gradstone version " +
                                        std::to_string(kProtocolVersion) +
                                        "; install both from the same build"};
    } else if (hello.engine.is_object()) {
      record_.context["engine"] = std::move(hello.engine);
    }
    return {};
  }

  Status take(PhaseEvent& event) {
    phase_ = event.phase;
    step_ = 0;
    observer_.phase(phase_);
    return {};
  }

  Status take(ProgressEvent& event) {
    step_ = event.step;
    observer_.progress(event);
    return {};
  }

  Status take(SamplesEvent& event) {
    std::vector<double>& samples = record_.samples[event.name];
    samples.insert(samples.end(), event.values.begin(), event.values.end());
    return {};
  }

  Status take(FactEvent& event) {
    if (std::find(kOwnSections.begin(), kOwnSections.end(), event.section) != kOwnSections.end()) {
      return unreadable("a fact of section '" + event.section + "', which is the core's");
    }
    record_.context[event.section][event.key] = std::move(event.value);
    return {};
  }

  Status take(WorkerHello&) { return {}; }  // seen before
  Status take(Finished&) { return {}; }     // seen before

  RunRecord& record_;
  RunObserver& observer_;
  bool greeted_ = false;
  bool refused_ = false;
  std::string phase_;
  std::int64_t step_ = 0;
  std::optional<End> end_;
};

// How a worker left.
struct Leaving {
  ExitStatus exit;
  bool forced = false;  // it had nothing more to say, and yet stayed
};

// Everything that is known when a worker is gone.
struct Aftermath {
  const Conversation& conversation;
  const Status& heard;  // an error: it sent rubbish
  const Limits& limits;
  Verdict verdict;
  Leaving leaving;
  bool kernel_killed = false;  // for lack of memory
  std::string tail;
};

End end_by_kill(const Aftermath& after) {
  const std::string place = after.conversation.place();
  switch (after.verdict.reason) {
    case KillReason::kStopped:
      return {Outcome::kInvalid, "interrupted " + place};
    case KillReason::kTime:
      return {Outcome::kTimedOut, "passed the time limit of " +
                                      fmt::to_string(after.limits.seconds) + " s " + place +
                                      "; --time-limit sets another"};
    default:
      return {Outcome::kOutOfMemory, "passed the memory limit of " +
                                         in_mebibytes(after.limits.memory_bytes) + " with " +
                                         in_mebibytes(after.verdict.resident_bytes) + " resident " +
                                         place + "; --memory-limit sets another"};
  }
}

End end_of(const Aftermath& after) {
  if (after.conversation.end()) return *after.conversation.end();
  if (after.verdict.reason != KillReason::kNone) return end_by_kill(after);
  if (!after.heard.ok()) {
    return {Outcome::kCrashed, "sent rubbish on the protocol: " + after.heard.error().message};
  }
  const std::string place = after.conversation.place();
  const ExitStatus& exit = after.leaving.exit;
  if (after.leaving.forced) {
    return {Outcome::kCrashed, "the worker closed the protocol " + place + " and did not leave"};
  }
  if (exit.signal == SIGKILL && after.kernel_killed) {
    return {Outcome::kOutOfMemory, "killed by the kernel for lack of memory " + place};
  }
  const std::string words = last_line(after.tail);
  return {Outcome::kCrashed, std::string("the worker ") +
                                 (exit.signal != 0 ? "died of " : "left with ") + to_string(exit) +
                                 " " + place + (words.empty() ? "" : ": " + words)};
}

Leaving see_off(Subprocess& worker, bool at_once) {
  if (at_once) worker.kill_group();
  if (const std::optional<ExitStatus> exit = worker.wait(kTimeToLeave)) return {*exit};
  worker.kill_group();
  return {*worker.wait(kForEver), true};
}

Limits limits_of(const RunSpec& spec) {
  Limits limits{spec.time_limit_seconds, spec.memory_limit_bytes};
  if (limits.memory_bytes == 0) limits.memory_bytes = default_memory_limit();
  if (limits.memory_bytes == 0) limits.memory_bytes = std::numeric_limits<std::int64_t>::max();
  return limits;
}

RunRecord started(const RunSpec& spec) {
  RunRecord record;
  record.started_ms = unix_ms();
  record.id = new_id(record.started_ms);
  record.plan = spec.plan;
  record.label = spec.label;
  record.workload = spec.workload;
  record.size = spec.size;
  record.engine = to_string(spec.engine);
  record.device = spec.device;
  record.command = command_of(spec);
  record.context["settings"] = settings_of(spec);
  record.context["environment"] = environment_that_matters();
  record.context["affinity"] = processor_affinity();
  return record;
}

struct Outside {
  RunObserver& observer;
  const std::atomic<bool>& stop;
};

Result<End> run_worker(const RunSpec& spec, const TrainJob& job, RunRecord& record,
                       const Outside& outside) {
  const Limits limits = limits_of(spec);
  ChannelPair pair = TRY(open_channel());
  Command command{spec.engine.engine.executable};
  command.descriptors = {{pair.theirs.get(), kWorkerDescriptor}};
  const std::int64_t kills_before = out_of_memory_kills();
  Subprocess worker = TRY(Subprocess::start(command));
  pair.theirs.reset();
  const auto cgroup = MemoryCgroup::hold(worker.pid(), limits.memory_bytes);
  record.context["limits"] = {{"seconds", encode_number(limits.seconds)},
                              {"memory_bytes", limits.memory_bytes},
                              {"memory_by", cgroup ? "cgroup and watchdog" : "watchdog"}};
  Watchdog watchdog(worker, limits, outside.stop);

  Conversation conversation(record, outside.observer);
  const Status heard = conversation.hold(std::move(pair.ours), hello_for(spec), job);
  Aftermath after{conversation, heard, limits, watchdog.finish()};
  const bool refused = !heard.ok() || conversation.refused();
  after.leaving = see_off(worker, refused);
  after.kernel_killed = cgroup ? cgroup->has_killed() : out_of_memory_kills() > kills_before;
  after.tail = worker.output_tail();
  record.context["worker"] = {{"exit", to_string(after.leaving.exit)},
                              {"most_resident_bytes", after.verdict.resident_bytes},
                              {"stderr", after.tail}};
  return end_of(after);
}

Result<End> prepare_and_run(const RunSpec& spec, const Workload& workload, RunRecord& record,
                            const Outside& outside) {
  if (outside.stop) return End{Outcome::kInvalid, "interrupted before its start"};
  const TemporaryFolder folder = TRY(TemporaryFolder::create());
  outside.observer.phase("prepare");
  const TrainJob job = TRY(make_job(spec, workload, folder));
  return run_worker(spec, job, record, outside);
}

}  // namespace

RunRecord run_one(const RunSpec& spec, const Workload& workload, RunObserver& observer,
                  const std::atomic<bool>& stop) {
  const RunSpec whole = resolved(spec, workload);
  RunRecord record = started(whole);
  const Result<End> result = prepare_and_run(whole, workload, record, {observer, stop});
  const End end = result.ok() ? *result : end_of(result.error());
  record.outcome = end.outcome;
  record.message = end.message;
  record.finished_ms = unix_ms();
  return record;
}

}  // namespace gradstone
