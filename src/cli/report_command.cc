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
  std::vector<std::string> runs = {"@last"};
  std::string store, format = "table", output;
};

Result<int> report(const Options& options, const Surroundings& surroundings) {
  const ReportFormat* format = TRY(find_report_format(options.format));
  const Result<std::string> store = chosen_store(options.store);  // files of records need none
  TRY(check_output(options.output, store.ok() ? *store : ""));
  std::vector<RunRecord> records;
  for (const std::string& name : options.runs) {
    if (!store.ok() && !is_record_file(name)) return store.error();
    std::vector<RunRecord> found = TRY(find_records(name, store.ok() ? *store : ""));
    records.insert(records.end(), std::make_move_iterator(found.begin()),
                   std::make_move_iterator(found.end()));
  }
  remove_repetitions(records);
  TRY(emit(format->write(records, surroundings.style), options.output));
  return kExitOk;
}

}  // namespace

Action define_report(CLI::App& app, const Surroundings& surroundings) {
  const auto options = std::make_shared<Options>();
  app.add_option("RUN", options->runs,
                 "id or its beginning, label, plan, @last (the last plan; the default) or a JSON "
                 "file")
      ->type_name("");
  add_format_option(app, options->format);
  add_output_option(app, options->output);
  add_store_option(app, options->store);
  return [options, surroundings] { return report(*options, surroundings); };
}

}  // namespace gradstone
