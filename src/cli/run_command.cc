// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>
#include <set>
#include <tuple>

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
#include "protocol/tensor_file.h"
#include "record/sample_names.h"
#include "report/formats.h"
#include "report/table.h"
#include "run/inputs.h"
#include "run/runner.h"
#include "store/store.h"
#include "workloads/registry.h"

namespace gradstone {
namespace {

constexpr const char* kWeightsSection = "weights";

// --weights: a file, or a run whose weights were kept.
Result<std::string> weights_file(const RunOptions& options) {
  const std::string& name = options.weights;
  if (name.empty() || name.find('/') != std::string::npos || name.ends_with(".safetensors")) {
    return name;
  }
  const std::string store = TRY(chosen_store(options.store));
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
  if (!is_content_hash(*hash)) {
    return unreadable("--weights: run " + records[0].id + ": '" + *hash +
                      "' is no hash of weights; name the file itself");
  }
  return weights_path(store, *hash);
}

// Opens every data set once, so that what is wrong with it is said before an engine starts.
Status check_all_data(const std::vector<RunSpec>& plan, const std::vector<Workload>& workloads) {
  std::set<std::tuple<std::string, std::string, std::int64_t>> seen;
  for (const RunSpec& spec : plan) {
    if (!seen.insert({spec.workload, spec.data, spec.batch}).second) continue;
    TRY(check_data(spec, *find_workload(workloads, spec.workload)));
  }
  return {};
}

// The same for the weights that every run starts from.
Status check_all_weights(const std::vector<RunSpec>& plan, const std::vector<Workload>& workloads) {
  const std::string& path = plan[0].weights_in;
  if (path.empty()) return {};
  const auto in_file = [&](const Error& error) {
    return unreadable("--weights: '" + path + "': " + error.message);
  };
  const Result<TensorFile> file = TensorFile::open(path);
  if (!file.ok()) return unreadable("--weights: " + file.error().message);
  std::set<std::string> seen;
  for (const RunSpec& spec : plan) {
    if (!seen.insert(spec.workload).second) continue;
    const WorkloadSize& size = *find_size(*find_workload(workloads, spec.workload), spec.size);
    const Graph graph = TRY(size.build(spec.batch));
    const Status fits = check_weights_fit(graph, *file);
    if (!fits.ok()) return in_file(fits.error());
    const Status finite = check_weights_finite(graph, *file);
    if (!finite.ok()) return in_file(finite.error());
    for (const std::string& name : tensors_beside(graph, *file)) {
      say("gradstone: --weights: " +
          printable("'" + path + "': tensor '" + name + "' is no weight of " + spec.workload) +
          " and is left out\n");
    }
  }
  return {};
}

// A usual size is taken for the only one of a workload: that is said.
void say_other_sizes(const std::vector<RunSpec>& plan, const std::string& wanted) {
  std::set<std::string> seen;
  for (const RunSpec& spec : plan) {
    if (wanted.empty() || spec.size == wanted || !seen.insert(spec.workload).second) continue;
    say("gradstone: " + spec.workload + " has no size " + wanted + ": its only one, " + spec.size +
        ", is run\n");
  }
}

// Whether the time for measuring ran out before the rate was known as well as it should be.
bool was_cut_short(const RunRecord& record, const MeasurePlan& measure) {
  const auto windows = record.samples.find(std::string(sample_names::kWindowSeconds));
  if (measure.steps > 0 || measure.epochs > 0 || windows == record.samples.end()) return false;
  return std::accumulate(windows->second.begin(), windows->second.end(), 0.0) >=
         measure.max_seconds;
}

// One plan while it is carried out.
class Session {
 public:
  // `stop` must outlive it; `model` is ModelWorkload::facts, or null.
  Session(const RunOptions& options, const Surroundings& surroundings, Store store, Json model,
          const std::atomic<bool>& stop)
      : options_(options),
        surroundings_(surroundings),
        store_(std::move(store)),
        model_(std::move(model)),
        progress_(progress_mode(), surroundings.style.width),
        stop_(stop) {}

  void run(RunSpec spec, const Workload& workload, std::string title);

  const std::vector<RunRecord>& records() const { return records_; }
  bool interrupted() const { return stop_; }
  // What could not be kept, in the words said when it happened; ok where all was.
  const Status& kept() const { return kept_; }

 private:
  ProgressMode progress_mode() const {
    if (options_.quiet) return ProgressMode::kSilent;
    if (options_.verbose) return ProgressMode::kPhases;
    return surroundings_.stderr_is_terminal ? ProgressMode::kLive : ProgressMode::kSilent;
  }
  void add_context(RunRecord& record, const WorkloadSize& size, const CpuTimes& before) const;
  Status keep_weights_of(RunRecord& record, const Workload& workload,
                         const std::string& file) const;
  Error rescue(const RunRecord& record, const Error& error) const;
  void lost(const Error& error);

  const RunOptions& options_;
  const Surroundings& surroundings_;
  Store store_;
  Json model_;
  ProgressPrinter progress_;
  // Read before the first run: later the load would be our own.
  const MachineFacts machine_ = read_machine();
  const std::atomic<bool>& stop_;
  std::vector<RunRecord> records_;
  Status kept_;
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

// Whatever an engine has put where its weights should be, and the beginnings of it.
void remove_incoming(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string start = path.filename().string();
  std::error_code ignored;
  for (const std::string& name : list_folder(path.parent_path().string())) {
    if (name.starts_with(start)) std::filesystem::remove_all(path.parent_path() / name, ignored);
  }
}

// The weights that an engine has written, if they are such.
Result<TensorFile> trained_weights(const std::string& path, const Graph& graph) {
  std::error_code ignored;
  if (std::filesystem::is_symlink(path, ignored)) return unreadable("a symbolic link");
  TensorFile file = TRY(TensorFile::open(path));
  TRY(check_weights_fit(graph, file));
  TRY(check_weights_finite(graph, file));
  return file;
}

// Bad weights are the engine's fault and change the outcome; an error is one of the place to keep them.
Status Session::keep_weights_of(RunRecord& record, const Workload& workload,
                                const std::string& file) const {
  if (record.outcome != Outcome::kOk) return {};
  const WorkloadSize& size = *find_size(workload, record.size);
  const Graph graph = TRY(size.build(size.recipe.batch));
  const Result<TensorFile> weights = trained_weights(file, graph);
  if (!weights.ok()) {
    record.outcome = Outcome::kWrongResult;
    record.message =
        "the engine said ok, but left no weights to --save: " + weights.error().message;
    return {};
  }
  const std::string hash = weights->content_hash();
  TRY(keep_weights(store_.path(), file, hash).within("--save"));
  record.context[kWeightsSection] = {{"hash", hash}};
  return {};
}

// Beside the store, or where we are, as a file that `import` reads.
Error Session::rescue(const RunRecord& record, const Error& error) const {
  const std::string text = write_json(records_to_json({record}));
  for (const std::string& file :
       {store_.path() + "." + record.id + ".json", "./gradstone-" + record.id + ".json"}) {
    if (!write_file_atomically(file, text).ok()) continue;
    return failed(error.message + "; run " + record.id + " was written to '" + file +
                  "': `gradstone import` reads it");
  }
  return failed(error.message + "; run " + record.id + " is lost");
}

void Session::lost(const Error& error) {
  if (!kept_.ok()) say("gradstone: " + printable(kept_.error().message) + "\n");
  kept_ = error;
}

void Session::run(RunSpec spec, const Workload& workload, std::string title) {
  progress_.begin(std::move(title), spec.batch);
  if (options_.save) {
    spec.weights_out = weights_path(store_.path(), "incoming-" + new_id(unix_ms()));
  }
  const CpuTimes before = read_cpu_times();
  RunRecord record = run_one(spec, workload, progress_, stop_);
  progress_.clear();
  add_context(record, *find_size(workload, spec.size), before);
  if (was_cut_short(record, spec.measure)) {
    record.context["warnings"].push_back(
        fmt::format("measuring ended after {:g} s, before the interval was within {:g} %",
                    spec.measure.max_seconds, 100 * spec.measure.precision));
  }
  compute_metrics(record);
  if (options_.save) {
    const Status kept = keep_weights_of(record, workload, spec.weights_out);
    if (!kept.ok()) lost(kept.error());
    remove_incoming(spec.weights_out);
  }
  // Committed before anybody hears of it. If the store fails, the run is still reported.
  records_.push_back(record);
  if (const Status put = store_.put(record); !put.ok()) lost(rescue(record, put.error()));
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

// What would spoil every run of the plan, before the first is started.
Status check_plan(const std::vector<RunSpec>& plan, const std::vector<Workload>& workloads) {
  TRY(TemporaryFolder::create());
  TRY(check_all_data(plan, workloads));
  return check_all_weights(plan, workloads);
}

Result<int> execute(const RunOptions& options, const Surroundings& surroundings,
                    const std::vector<RunSpec>& plan, const Workloads& workloads) {
  const std::atomic<bool>& stop = watch_interrupts();
  const ReportFormat* format = TRY(find_report_format(options.format));
  const std::string path = TRY(chosen_store(options.store));
  TRY(check_output(options.output, path));
  TRY(check_plan(plan, workloads.all));
  Store store = TRY(Store::open(path, Store::Mode::kWrite));
  if (options.save) TRY(make_folders(weights_folder(path)).within("--save"));
  Session session(options, surroundings, std::move(store), workloads.model_facts, stop);
  const bool at_once = format->one_by_one && options.output.empty();
  for (std::size_t i = 0; i < plan.size() && !session.interrupted(); ++i) {
    session.run(plan[i], *find_workload(workloads.all, plan[i].workload),
                fmt::format("[{}/{}] {} {}", i + 1, plan.size(), plan[i].workload,
                            to_string(plan[i].engine)));
    if (at_once) TRY(emit(format->write({session.records().back()}, surroundings.style), ""));
  }
  if (!at_once && !session.records().empty()) {
    const Status told = emit(format->write(session.records(), surroundings.style), options.output);
    if (!told.ok()) {
      return failed(told.error().message + "; the runs are in the store: `gradstone report`");
    }
  }
  TRY(session.kept());
  if (session.interrupted()) return kExitInterrupted;
  return exit_code_of(finished_runs(session.records(), options.engines), options.strict);
}

Result<int> run(const RunOptions& options, const Surroundings& surroundings) {
  Workloads workloads{all_workloads(), {}};
  PlanRequest request = TRY(plan_request(options));
  TRY(find_report_format(options.format));
  request.common.weights_in = TRY(weights_file(options));
  const TemporaryFolder folder = TRY(TemporaryFolder::create());  // of the model's weights
  TRY(add_model(options, folder, workloads, request));
  const EngineCatalogue engines = EngineCatalogue::read(EngineCatalogue::default_folders());
  if (std::find(request.engines.begin(), request.engines.end(), "all") != request.engines.end()) {
    say_problems(engines);
  }
  const std::vector<RunSpec> plan = TRY(make_plan(request, engines, workloads.all));
  say_other_sizes(plan, options.size);
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
