// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "store/store.h"

namespace gradstone {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string store;
};

// Every file is read before the store is touched.
Result<int> import_files(const Options& options) {
  std::vector<RunRecord> records;
  for (const std::string& file : options.files) {
    std::vector<RunRecord> found = TRY(read_records(file));
    records.insert(records.end(), std::make_move_iterator(found.begin()),
                   std::make_move_iterator(found.end()));
  }
  const std::string path = TRY(chosen_store(options.store));
  Store store = TRY(Store::open(path, Store::Mode::kWrite));
  const std::size_t added = TRY(store.import(records));
  TRY(emit(
      fmt::format("{} run(s) added to {}, {} already there\n", added, path, records.size() - added),
      ""));
  return kExitOk;
}

}  // namespace

Action define_import(CLI::App& app, const Surroundings&) {
  const auto options = std::make_shared<Options>();
  app.add_option("FILE", options->files, "JSON as `report --format json` and `export` write it")
      ->required()
      ->type_name("");
  add_store_option(app, options->store);
  return [options] { return import_files(*options); };
}

}  // namespace gradstone
