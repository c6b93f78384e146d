// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "report/formats.h"
#include "store/store.h"

namespace gradstone {
namespace {

struct Options {
  std::vector<std::string> runs;
  std::string store, output;
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

}  // namespace

Action define_export(CLI::App& app, const Surroundings&) {
  const auto options = std::make_shared<Options>();
  app.add_option("RUN", options->runs, "id, label, plan or @last (default: all)")->type_name("");
  add_output_option(app, options->output);
  add_store_option(app, options->store);
  return [options] { return export_records(*options); };
}

}  // namespace gradstone
