// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/export_model.h"
#include "cli/output.h"
#include "report/formats.h"
#include "store/store.h"

namespace gradstone {
namespace {

struct Options {
  std::vector<std::string> runs;
  std::string store, output;
  ExportModelOptions model;
};

Result<std::vector<RunRecord>> chosen_records(const Options& options) {
  const std::string path = TRY(chosen_store(options.store));
  TRY(check_output(options.output, path));
  Store store = TRY(Store::open(path, Store::Mode::kRead));
  if (options.runs.empty()) return store.all();
  std::vector<RunRecord> records;
  for (const std::string& name : options.runs) {
    std::vector<RunRecord> found = TRY(store.find(name));
    records.insert(records.end(), std::make_move_iterator(found.begin()),
                   std::make_move_iterator(found.end()));
  }
  remove_repetitions(records);
  return records;
}

Result<int> export_records(const Options& options) {
  const std::vector<RunRecord> records = TRY(chosen_records(options));
  const ReportFormat* json = TRY(find_report_format("json"));
  TRY(emit(json->write(records, {}), options.output));
  return kExitOk;
}

// Records, or a model: --workload decides.
Result<int> export_what(const Options& options) {
  const bool has_suffix = options.output.ends_with(".onnx");
  if (options.model.workload.empty()) {
    if (!has_suffix) return export_records(options);
    return usage_error("records are JSON; a model is exported with --workload NAME");
  }
  if (!options.runs.empty() || !options.store.empty()) {
    return usage_error("--workload exports a model, which belongs to no run and no store");
  }
  TRY(export_model(options.model, options.output));
  return kExitOk;
}

}  // namespace

Action define_export(CLI::App& app, const Surroundings&) {
  const auto options = std::make_shared<Options>();
  app.add_option("RUN", options->runs, "id, label, plan or @last (default: all)")->type_name("");
  add_output_option(app, options->output);
  add_store_option(app, options->store);
  add_export_model_options(app, options->model);
  return [options] { return export_what(*options); };
}

}  // namespace gradstone
