// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/commands.h"
#include "cli/doctor_rules.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "data/data_set.h"
#include "report/formats.h"
#include "report/lists.h"
#include "run/engine_catalogue.h"

namespace gradstone {
namespace {

constexpr std::chrono::milliseconds kStealWindow{500};
constexpr int kIndent = 10;

struct Options {
  std::string store, format = "table", output;
};

// The folder itself need not be there yet.
std::string existing_folder(std::filesystem::path path) {
  std::error_code code;
  while (path.has_relative_path() && !std::filesystem::is_directory(path, code)) {
    path = path.parent_path();
  }
  return path.empty() ? "." : path.string();
}

std::string data_problem() {
  const auto open_usual = []() -> Result<std::unique_ptr<DataSet>> {
    return open_data(TRY(parse_data_reference("fashion-mnist")), {});
  };
  const Result<std::unique_ptr<DataSet>> opened = open_usual();
  return opened.ok() ? "" : opened.error().message;
}

DoctorFacts gather(const std::string& store, const EngineCatalogue& catalogue) {
  DoctorFacts facts;
  facts.machine = read_machine();
  std::this_thread::sleep_for(kStealWindow);
  facts.steal = steal_share(facts.machine.cpu_times, read_cpu_times());
  if (!store.empty()) {
    facts.store_folder = existing_folder(std::filesystem::absolute(store).parent_path());
    facts.store_free_bytes = free_disk_bytes(facts.store_folder);
  }
  facts.framework_engines = static_cast<int>(
      std::count_if(catalogue.engines().begin(), catalogue.engines().end(),
                    [](const EngineManifest& each) { return each.kind == kFrameworkKind; }));
  facts.engine_problems = catalogue.problems();
  facts.data_problem = data_problem();
  return facts;
}

Table findings_table(const DoctorFacts& facts) {
  Table table;
  table.columns = {{"check"}, {"what"}, {"ok"}, {"finding"}, {"remedy"}};
  for (const DoctorRule& rule : doctor_rules()) {
    const std::optional<Finding> finding = rule.check(facts);
    table.rows.push_back({rule.id, rule.what, !finding, finding ? finding->text : "",
                          finding ? finding->remedy : ""});
  }
  return table;
}

std::string findings_text(const DoctorFacts& facts, const EngineCatalogue& catalogue,
                          const TextStyle& style) {
  const auto paragraph = [&](std::string name, const std::string& words) {
    name.resize(kIndent, ' ');
    return wrapped(words, style.width, kIndent, name) + "\n";
  };
  const std::string& blas = facts.machine.blas;
  std::string text = paragraph("machine", machine_line({{"machine", to_json(facts.machine)}}));
  text += paragraph("blas", blas.empty() ? "none that the system knows" : blas);
  for (const EngineManifest& engine : catalogue.engines()) {
    if (engine.kind == kFrameworkKind) text += paragraph("engine", to_string(engine));
  }
  text += "\n";
  int count = 0;
  for (const DoctorRule& rule : doctor_rules()) {
    const std::optional<Finding> finding = rule.check(facts);
    if (!finding) continue;
    ++count;
    text += paragraph(std::string(rule.id), finding->text);
    text += paragraph("", "-> " + finding->remedy);
  }
  return text + (count == 0 ? "nothing found that would spoil a measurement\n"
                            : std::to_string(count) + " finding(s)\n");
}

Result<int> doctor(const Options& options, const Surroundings& surroundings) {
  TRY(find_report_format(options.format));
  const Result<std::string> chosen = chosen_store(options.store);
  const std::string store = chosen.ok() ? *chosen : "";
  TRY(check_output(options.output, store));
  const EngineCatalogue catalogue = EngineCatalogue::read(EngineCatalogue::default_folders());
  const DoctorFacts facts = gather(store, catalogue);
  const std::string text =
      options.format == "table"
          ? findings_text(facts, catalogue, surroundings.style)
          : TRY(write_list(findings_table(facts), "checks", options.format, surroundings.style));
  TRY(emit(text, options.output));
  return kExitOk;
}

}  // namespace

Action define_doctor(CLI::App& app, const Surroundings& surroundings) {
  const auto options = std::make_shared<Options>();
  add_format_option(app, options->format);
  add_output_option(app, options->output);
  add_store_option(app, options->store);
  return [options, surroundings] { return doctor(*options, surroundings); };
}

}  // namespace gradstone
