// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <array>
#include <memory>

#include "analysis/metric_catalogue.h"
#include "base/files.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/workload_counts.h"
#include "data/data_set.h"
#include "graph/op_table.h"
#include "report/figures.h"
#include "report/lists.h"
#include "run/engine_catalogue.h"
#include "store/store.h"
#include "workloads/registry.h"

namespace gradstone {
namespace {

struct Options {
  std::string what = "workloads";
  std::string store, format = "table", output;
};

Result<Table> list_workloads(const Options&) {
  Table table;
  table.columns = {{"workload"},
                   {"size"},
                   {"input", false, 3},
                   {"classes", true, 4},
                   {"batch", true, 5},
                   {"parameters", true},
                   {"multiply adds", true, 2},
                   {"forward flops", true, 1},
                   {"training flops", true},
                   {"data", false, 6},
                   {"summary", false, 7},
                   {"source", false, 8}};
  for (const Workload& workload : all_workloads()) {
    for (const WorkloadSize& size : workload.sizes) {
      const WorkloadCounts counts = TRY(count_workload(size));
      table.rows.push_back(
          {workload.name, size.name, to_string(size.input.sample_shape), size.input.classes,
           size.recipe.batch, counts.parameters, counts.forward_multiply_adds, counts.forward_flops,
           counts.training_flops ? Json(*counts.training_flops) : Json(), size.default_data,
           size.summary.empty() ? workload.summary : size.summary, workload.source});
    }
  }
  return table;
}

Result<Table> list_engines(const Options&) {
  Table table;
  table.columns = {{"engine"}, {"kind"}, {"summary"}, {"executable", false, 1}};
  const EngineCatalogue catalogue = EngineCatalogue::read(EngineCatalogue::default_folders());
  say_problems(catalogue);
  for (const EngineManifest& engine : catalogue.engines()) {
    table.rows.push_back({to_string(engine), engine.kind, engine.summary, engine.executable});
  }
  return table;
}

Result<Table> list_data(const Options&) {
  Table table;
  table.columns = {{"data"}, {"form"}, {"summary"}};
  for (const DataForm& form : data_forms()) {
    table.rows.push_back({form.name, form.form, form.help});
  }
  return table;
}

Result<Table> list_metrics(const Options&) {
  Table table;
  table.columns = {{"metric"}, {"unit"}, {"better"}, {"help"}};
  for (const MetricDef& metric : metric_catalogue()) {
    table.rows.push_back({metric.name, metric.unit, name_of(metric.better), metric.help});
  }
  return table;
}

Result<Table> list_operators(const Options&) {
  Table table;
  table.columns = {{"operator"}, {"domain"}, {"attributes", false, 1}, {"gradient"}, {"summary"}};
  for (const OpDef& op : op_table()) {
    std::string attributes;
    for (const AttributeDef& attribute : op.attributes) {
      attributes += (attributes.empty() ? "" : ", ") + std::string(attribute.name);
    }
    table.rows.push_back({op.name, op.domain.empty() ? "onnx" : op.domain, attributes,
                          op.gradient != nullptr || op.expand != nullptr ? "yes" : "no",
                          op.summary});
  }
  return table;
}

Result<Table> list_runs(const Options& options) {
  Table table;
  table.columns = {{"run"},      {"started", false, 2},  {"label", false, 1},
                   {"workload"}, {"size", false, 4},     {"engine"},
                   {"outcome"},  {"throughput", true, 3}};
  const std::string path = TRY(chosen_store(options.store));
  // No run yet is an empty list, but a store that was named is wanted.
  if (options.store.empty() && !path_exists(path)) return table;
  Store store = TRY(Store::open(path, Store::Mode::kRead));
  for (const RunRecord& record : TRY(store.all_figures())) {
    const auto rate = record.metrics.find("throughput");
    table.rows.push_back({record.id, time_text(record.started_ms), record.label, record.workload,
                          record.size, record.engine, name_of(record.outcome),
                          rate == record.metrics.end() ? Json() : Json(rate->second.value)});
  }
  return table;
}

struct ListDef {
  const char* name;
  const char* help;
  Result<Table> (*make)(const Options&);
};
constexpr std::array<ListDef, 6> kLists = {
    {{"workloads", "with parameters and FLOPs a sample, for each size", list_workloads},
     {"engines", "installed here", list_engines},
     {"data", "what --data takes", list_data},
     {"metrics", "every figure, its unit and how it is computed", list_metrics},
     {"operators", "what a graph is made of", list_operators},
     {"runs", "what the store holds", list_runs}}};

Result<int> list(const Options& options, const Surroundings& surroundings) {
  std::vector<std::string_view> names;
  for (const ListDef& each : kLists) {
    names.push_back(each.name);
    if (each.name != options.what) continue;
    const Result<std::string> store = chosen_store(options.store);  // most lists need none
    TRY(check_output(options.output, store.ok() ? *store : ""));
    const Table table = TRY(each.make(options));
    TRY(emit(TRY(write_list(table, each.name, options.format, surroundings.style)),
             options.output));
    return kExitOk;
  }
  const std::string hint = did_you_mean(options.what, names);
  return usage_error("list: there is no list of '" + options.what + "'" +
                     (hint.empty() ? "; see `gradstone list --help`" : hint));
}

}  // namespace

Action define_list(CLI::App& app, const Surroundings& surroundings) {
  const auto options = std::make_shared<Options>();
  std::string help;
  for (const ListDef& each : kLists) {
    help += (help.empty() ? "" : "; ") + std::string(each.name) + ": " + each.help;
  }
  app.add_option("WHAT", options->what, help)->type_name("");
  add_format_option(app, options->format);
  add_output_option(app, options->output);
  add_store_option(app, options->store);
  return [options, surroundings] { return list(*options, surroundings); };
}

}  // namespace gradstone
