// SPDX-License-Identifier: Apache-2.0
#include "run/runner.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "protocol/channel.h"
#include "protocol/messages.h"
#include "record/sample_names.h"
#include "run/environment.h"
#include "run/job.h"
#include "run/plan.h"
#include "run/worker_process.h"

namespace gradstone {
namespace {

constexpr std::chrono::milliseconds kForEver{-1};

// Sections of the context that only the core writes.
constexpr std::array<std::string_view, 4> kOwnSections = {"settings", "limits", "environment",
                                                          "worker"};

Finished end_before_start(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kUnsupported:
      return {Outcome::kUnsupported, error.message};
    case ErrorKind::kOutOfMemory:
      return {Outcome::kOutOfMemory, error.message};
    default:
      return {Outcome::kInvalid, error.message};
  }
}

// One conversation with one worker, from hello to its end.
class Conversation {
 public:
  Conversation(RunRecord& record, RunObserver& observer) : record_(record), observer_(observer) {}

  // Returns when the worker has finished, has been refused, or is gone.
  // Errors: what it sent is unreadable.
  Status hold(Channel& channel, const CoreHello& hello, const TrainJob& job) {
    // A worker that is gone already is noticed when reading.
    (void)channel.send(to_json(CoreMessage(hello)));
    for (;;) {
      const std::optional<Json> json = TRY(channel.receive(kForEver));
      if (!json) return {};
      WorkerMessage message = TRY(worker_message_from_json(*json));
      if (auto* finished = std::get_if<Finished>(&message)) {
        if (finished->outcome == Outcome::kOk) TRY(check_trained(job.measure.steps));
        end_ = std::move(*finished);
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
  const std::optional<Finished>& end() const { return end_; }
  bool refused() const { return refused_; }
  // "in phase train, step 20", or before hello "at its start".
  std::string place() const {
    if (phase_.empty()) return greeted_ ? "before its first phase" : "at its start";
    return "in phase " + phase_ + (step_ > 0 ? ", step " + std::to_string(step_) : "");
  }

 private:
  // `ok` needs what was asked for: every step tells its loss.
  Status check_trained(std::int64_t wanted) const {
    if (!greeted_) return unreadable("finished ok before hello");
    const auto losses = record_.samples.find(std::string(sample_names::kLoss));
    const std::size_t done = losses == record_.samples.end() ? 0 : losses->second.size();
    if (done >= static_cast<std::size_t>(std::max<std::int64_t>(wanted, 1))) return {};
    return unreadable("finished ok after " + std::to_string(done) + " steps" +
                      (wanted > 0 ? " of " + std::to_string(wanted) : ""));
  }

  Status greet(WorkerHello hello) {
    if (greeted_) return unreadable("a second hello");
    greeted_ = true;
    if (hello.protocol != kProtocolVersion) {
      refused_ = true;
      end_ = Finished{Outcome::kInvalid, other_protocol(hello.protocol)};
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

  Status take(Answer&) { return unreadable("an answer to no request"); }
  Status take(WorkerHello&) { return {}; }  // seen before
  Status take(Finished&) { return {}; }     // seen before

  RunRecord& record_;
  RunObserver& observer_;
  bool greeted_ = false;
  bool refused_ = false;
  std::string phase_;
  std::int64_t step_ = 0;
  std::optional<Finished> end_;
};

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

Result<Finished> run_worker(const RunSpec& spec, const TrainJob& job, RunRecord& record,
                            const Outside& outside) {
  const auto worker =
      TRY(WorkerProcess::start(spec.engine.engine.executable,
                               {spec.time_limit_seconds, spec.memory_limit_bytes}, outside.stop));
  const Limits& limits = worker->limits();
  record.context["limits"] = {
      {"seconds", encode_number(limits.seconds)},
      {"memory_bytes", limits.memory_bytes},
      {"memory_by", worker->held_by_cgroup() ? "cgroup and watchdog" : "watchdog"}};

  Conversation conversation(record, outside.observer);
  const Status heard = conversation.hold(worker->channel(), hello_for(spec), job);
  const Departure departure = worker->leave(!heard.ok() || conversation.refused());
  record.context["worker"] = {{"exit", to_string(departure.exit)},
                              {"most_resident_bytes", departure.verdict.resident_bytes},
                              {"stderr", departure.tail}};
  if (conversation.end()) return *conversation.end();
  return end_of(departure, heard, limits, conversation.place());
}

Result<Finished> prepare_and_run(const RunSpec& spec, const Workload& workload, RunRecord& record,
                                 const Outside& outside) {
  if (outside.stop) return Finished{Outcome::kInvalid, "interrupted before its start"};
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
  const Result<Finished> result = prepare_and_run(whole, workload, record, {observer, stop});
  const Finished end = result.ok() ? *result : end_before_start(result.error());
  record.outcome = end.outcome;
  record.message = end.message;
  record.finished_ms = unix_ms();
  return record;
}

}  // namespace gradstone
