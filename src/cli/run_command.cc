// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

#include "analysis/metric_catalogue.h"
#include "base/clock.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/doctor_rules.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "cli/version.h"
#include "cli/workload_counts.h"
#include "data/data_set.h"
#include "protocol/tensor_file.h"
#include "report/formats.h"
#include "run/runner.h"
#include "store/store.h"
#include "workloads/registry.h"

namespace gradstone {
namespace {

constexpr const char* kWeightsSection = "weights";

// --weights: a file, or a run whose weights were kept.
Result<std::string> weights_file(const std::string& name, const std::string& store) {
  if (name.empty() || name.find('/') != std::string::npos || name.ends_with(".safetensors")) {
    return name;
  }
  const std::vector<RunRecord> records = TRY(find_records(name, store).within("--weights"));
  if (records.size() != 1) {
    return usage_error("--weights: '" + name + "' names " + std::to_string(records.size()) +
                       " runs; give the id of one");
  }
  const Result<Json> kept = member(records[0].context, kWeightsSection);
  const Result<std::string> hash =
      kept.ok() ? string_member(*kept, "hash") : Result<std::string>(kept.error());
  if (!hash.ok()) {
    return usage_error("--weights: run " + records[0].id +
                       " kept no weights; train it again with --save");
  }
  return weights_path(store, *hash);
}

const WorkloadSize& size_of(const RunSpec& spec, const std::vector<Workload>& workloads) {
  return *find_size(*find_workload(workloads, spec.workload), spec.size);
}

// Opens every data set once, so that what is wrong with it is said before an engine starts.
Status check_data(const std::vector<RunSpec>& plan, const std::vector<Workload>& workloads) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const RunSpec& spec : plan) {
    if (!seen.insert({spec.workload, spec.data}).second) continue;
    const WorkloadInput& input = size_of(spec, workloads).input;
    const DataReference reference = TRY(parse_data_reference(spec.data));
    TRY(open_data(reference, {input.sample_shape, input.classes})
            .within("workload " + spec.workload));
  }
  return {};
}

// One plan while it is carried out.
class Session {
 public:
  // `model` is ModelWorkload::facts, or null.
  Session(const RunOptions& options, const Surroundings& surroundings, Store store, Json model)
      : options_(options),
        surroundings_(surroundings),
        store_(std::move(store)),
        model_(std::move(model)),
        progress_(progress_mode(), surroundings.style.width) {}

  Status run(RunSpec spec, const Workload& workload, std::string title);

  const std::vector<RunRecord>& records() const { return records_; }
  bool interrupted() const { return stop_; }

 private:
  ProgressMode progress_mode() const {
    if (options_.quiet) return ProgressMode::kSilent;
    if (options_.verbose) return ProgressMode::kPhases;
    return surroundings_.stderr_is_terminal ? ProgressMode::kLive : ProgressMode::kSilent;
  }
  void add_context(RunRecord& record, const WorkloadSize& size, const CpuTimes& before) const;
  Status keep(RunRecord& record, const std::string& weights) const;

  const RunOptions& options_;
  const Surroundings& surroundings_;
  Store store_;
  Json model_;
  ProgressPrinter progress_;
  // Read before the first run: later the load would be our own.
  const MachineFacts machine_ = read_machine();
  const std::atomic<bool>& stop_ = watch_interrupts();
  std::vector<RunRecord> records_;
};

void Session::add_context(RunRecord& record, const WorkloadSize& size,
                          const CpuTimes& before) const {
  DoctorFacts facts;
  facts.machine = machine_;
  facts.steal = steal_share(before, read_cpu_times());
  record.context["gradstone"] = {{"version", kVersion}};
  record.context["machine"] = to_json(machine_);
  if (!model_.is_null()) record.context["model"] = model_;
  record.context["machine"]["steal"] = facts.steal;
  record.context["warnings"] = run_warnings(facts);
  if (const Result<WorkloadCounts> counts = count_workload(size); counts.ok()) {
    record.context[std::string(kWorkloadSection)] = to_json(*counts);
  }
}

Status Session::keep(RunRecord& record, const std::string& weights) const {
  if (weights.empty()) return {};
  if (record.outcome != Outcome::kOk) {
    std::error_code ignored;  // there may be none
    std::filesystem::remove(weights, ignored);
    return {};
  }
  const std::string hash = TRY(TensorFile::open(weights)).content_hash();
  TRY(keep_weights(store_.path(), weights, hash));
  record.context[kWeightsSection] = {{"hash", hash}};
  return {};
}

Status Session::run(RunSpec spec, const Workload& workload, std::string title) {
  progress_.begin(std::move(title), spec.batch);
  if (options_.save) {
    TRY(make_folders(weights_folder(store_.path())));
    spec.weights_out = weights_path(store_.path(), "incoming-" + new_id(unix_ms()));
  }
  const CpuTimes before = read_cpu_times();
  RunRecord record = run_one(spec, workload, progress_, stop_);
  progress_.clear();
  add_context(record, *find_size(workload, spec.size), before);
  compute_metrics(record);
  const Status kept = keep(record, spec.weights_out);
  // Committed before anybody hears of it. If the store fails, the run is still reported.
  records_.push_back(record);
  TRY(store_.put(record));
  return kept;
}

std::vector<FinishedRun> finished_runs(const std::vector<RunRecord>& records,
                                       const std::vector<std::string>& engines) {
  const bool by_all = std::find(engines.begin(), engines.end(), "all") != engines.end();
  std::vector<FinishedRun> runs;
  for (const RunRecord& record : records) {
    const auto names = [&](const std::string& reference) {
      return reference != "all" &&
             record.engine.starts_with(reference.substr(0, reference.find_first_of("@:")));
    };
    const bool named = !by_all || std::any_of(engines.begin(), engines.end(), names);
    runs.push_back({record.outcome, named});
  }
  return runs;
}

// What can be trained: our workloads, and the person's model.
struct Workloads {
  std::vector<Workload> all;
  Json model_facts;  // null: none
};

// Adds the model to the workloads and to the plan, and says what a person should know of it.
Status add_model(const RunOptions& options, const TemporaryFolder& folder, Workloads& workloads,
                 PlanRequest& request) {
  if (options.model.model.empty()) return check_no_model_options(options.model);
  ModelWorkload model = TRY(load_model_workload(options.model, options.data, folder));
  for (const std::string& note : model.notes)
    say("gradstone: " + model.workload.name + ": " + note + "\n");
  request.workloads = {model.workload.name};
  request.common.model = std::move(model.words);
  workloads.model_facts = std::move(model.facts);
  workloads.all.push_back(std::move(model.workload));
  return {};
}

Result<int> execute(const RunOptions& options, const Surroundings& surroundings,
                    const std::vector<RunSpec>& plan, const Workloads& workloads) {
  const ReportFormat* format = TRY(find_report_format(options.format));
  TRY(check_data(plan, workloads.all));
  if (const std::string& weights = plan[0].weights_in; !weights.empty()) {
    TRY(TensorFile::open(weights).within("--weights"));
  }
  const std::string path = TRY(chosen_store(options.store));
  TRY(check_output(options.output, path));
  Session session(options, surroundings, TRY(Store::open(path, Store::Mode::kCreate)),
                  workloads.model_facts);
  const bool at_once = format->one_by_one && options.output.empty();
  Status state;
  for (std::size_t i = 0; i < plan.size() && state.ok() && !session.interrupted(); ++i) {
    state = session.run(plan[i], *find_workload(workloads.all, plan[i].workload),
                        fmt::format("[{}/{}] {} {}", i + 1, plan.size(), plan[i].workload,
                                    to_string(plan[i].engine)));
    if (at_once && session.records().size() == i + 1)
      TRY(emit(format->write({session.records().back()}, surroundings.style), ""));
  }
  if (!at_once) {
    const Status told = emit(format->write(session.records(), surroundings.style), options.output);
    if (!told.ok()) {
      return failed(told.error().message + "; the runs are in the store: `gradstone report`");
    }
  }
  TRY(state);
  if (session.interrupted()) return kExitInterrupted;
  return exit_code_of(finished_runs(session.records(), options.engines), options.strict);
}

Result<int> run(const RunOptions& options, const Surroundings& surroundings) {
  Workloads workloads{all_workloads(), {}};
  PlanRequest request = TRY(plan_request(options));
  TRY(find_report_format(options.format));
  const std::string store = TRY(chosen_store(options.store));
  request.common.weights_in = TRY(weights_file(options.weights, store));
  const TemporaryFolder folder = TRY(TemporaryFolder::create());  // of the model's weights
  TRY(add_model(options, folder, workloads, request));
  const EngineCatalogue engines = EngineCatalogue::read(EngineCatalogue::default_folders());
  const std::vector<RunSpec> plan = TRY(make_plan(request, engines, workloads.all));
  if (!options.dry_run) return execute(options, surroundings, plan, workloads);
  std::string commands;
  for (const RunSpec& spec : plan) commands += command_of(spec) + "\n";
  TRY(emit(commands, options.output));
  return kExitOk;
}

}  // namespace

Action define_run(CLI::App& app, const Surroundings& surroundings) {
  const auto options = std::make_shared<RunOptions>();
  add_run_options(app, *options);
  return [options, surroundings] { return run(*options, surroundings); };
}

}  // namespace gradstone
