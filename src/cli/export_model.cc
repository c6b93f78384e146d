// SPDX-License-Identifier: Apache-2.0
#include "cli/export_model.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/suggest.h"
#include "base/units.h"
#include "cli/output.h"
#include "graph/passes.h"
#include "onnx/onnx.h"
#include "recipe/initial_weights.h"
#include "run/plan.h"
#include "workloads/registry.h"

namespace gradstone {
namespace {

struct Choice {
  std::string name;
  WorkloadSize size;
  std::int64_t batch = 0;
  std::uint64_t seed = 1;
};

Result<Choice> chosen(const ExportModelOptions& options) {
  const std::vector<Workload> workloads = all_workloads();
  const Workload* workload = find_workload(workloads, options.workload);
  if (workload == nullptr) {
    std::vector<std::string_view> names;
    for (const Workload& known : workloads) names.push_back(known.name);
    return usage_error("unknown workload '" + options.workload + "'" +
                       did_you_mean(options.workload, names) + "; see `gradstone list workloads`");
  }
  const WorkloadSize* size =
      options.size.empty() ? &workload->sizes.at(0) : find_size(*workload, options.size);
  if (size == nullptr) {
    return usage_error("workload " + workload->name + " has no size '" + options.size +
                       "'; see `gradstone list workloads`");
  }
  Choice choice{workload->name, *size, size->recipe.batch};
  if (!options.batch.empty()) {
    choice.batch = TRY(parse_integer<std::int64_t>(options.batch, 1).within("--batch"));
  }
  if (!options.seed.empty()) {
    choice.seed = TRY(parse_integer<std::uint64_t>(options.seed).within("--seed"));
  }
  return choice;
}

}  // namespace

void add_export_model_options(CLI::App& app, ExportModelOptions& options) {
  const std::string group = "A workload as an ONNX file, in place of records";
  const auto add = [&](const char* name, std::string& value, const char* help, const char* type) {
    app.add_option(name, value, help)->type_name(type)->group(group);
  };
  add("-w,--workload", options.workload, "see `gradstone list workloads`; needs --output", "NAME");
  add("--size", options.size, "of the workload: tiny, small (default), paper", "NAME");
  add("-b,--batch", options.batch, "samples at once (default: of the workload)", "N");
  add("--seed", options.seed, "of the weights (default 1)", "N");
  app.add_flag("--inference", options.inference, "without loss, dropout and the batch's statistics")
      ->group(group);
}

Status export_model(const ExportModelOptions& options, const std::string& output) {
  if (output.empty() || output == "-") {
    return usage_error("a model is written to a file; name it with --output");
  }
  const Choice choice = TRY(chosen(options));
  TRY(check_output(output, ""));
  Graph graph = TRY(choice.size.build(choice.batch));
  if (options.inference) graph = to_inference(graph, {std::string(kLogitsValue)});
  std::map<std::string, Tensor> weights;
  for (const Weight& weight : graph.weights) {
    weights.emplace(weight.name, initial_value(weight, choice.seed));
  }
  TRY(export_onnx(graph, weights, output));
  say(fmt::format("gradstone: {} {}, batch {}: {} nodes, {} parameters -> {}\n", choice.name,
                  choice.size.name, choice.batch, graph.nodes.size(), parameter_count(graph),
                  output));
  return {};
}

}  // namespace gradstone
