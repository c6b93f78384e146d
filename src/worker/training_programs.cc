// SPDX-License-Identifier: Apache-2.0
#include "worker/training_programs.h"

#include <algorithm>

#include "protocol/recipe_updates.h"
#include "recipe/workload.h"

namespace gradstone {
namespace {

void add_variables(const Graph& graph, std::vector<Weight>& variables) {
  for (const Weight& weight : graph.weights) {
    const bool known = std::any_of(variables.begin(), variables.end(),
                                   [&](const Weight& other) { return other.name == weight.name; });
    if (!known) variables.push_back(weight);
  }
}

Result<TensorType> type_of_value(const Graph& graph, std::string_view name) {
  const ValueTypes types = TRY(check_graph(graph));
  const auto found = types.find(name);
  if (found == types.end()) {
    return unreadable("workload " + graph.name + ": no value '" + std::string(name) + "'");
  }
  return found->second;
}

Status add_training(const TrainJob& job, std::string name, const Graph& graph,
                    TrainingPrograms& programs) {
  ProgramSpec program;
  program.name = std::move(name);
  program.outputs = {std::string(kLossValue)};
  const std::vector<WeightPlan> plans = TRY(weight_plans(job.recipe, graph));
  BackwardSpec backward;
  backward.from = program.outputs;
  for (const WeightPlan& plan : plans) backward.wrt.push_back(plan.weight);
  programs.trained_weights = backward.wrt;
  program.backward = std::move(backward);
  RecipeUpdates updates = recipe_updates(job.recipe, plans);
  program.updates = std::move(updates.updates);
  programs.optimizer_of_update = std::move(updates.optimizer);
  programs.loss_type = TRY(type_of_value(graph, kLossValue));
  if (programs.loss_type.elements() != 1 || !is_floating(programs.loss_type.dtype)) {
    return unreadable("workload " + graph.name + ": loss is " + to_string(programs.loss_type) +
                      ", expected one floating number");
  }
  if (programs.dropout == "shared") {
    SharedDropout shared = share_dropout(graph);
    program.graph = std::move(shared.graph);
    programs.masks.push_back(std::move(shared.masks));
  } else {
    program.graph = graph;
    programs.masks.emplace_back();
  }
  programs.bundle.programs.push_back(std::move(program));
  return {};
}

Status add_evaluation(const TrainJob& job, TrainingPrograms& programs) {
  programs.logits_type = TRY(type_of_value(job.evaluation_graph, kLogitsValue));
  if (programs.logits_type.shape.size() != 2 || !is_floating(programs.logits_type.dtype)) {
    return unreadable("workload " + job.workload + ": logits are " +
                      to_string(programs.logits_type) + ", expected [batch, classes]");
  }
  ProgramSpec program;
  program.name = "evaluate";
  program.graph = job.evaluation_graph;
  program.mode = Mode::kInference;
  program.outputs = {std::string(kLogitsValue)};
  programs.evaluation = programs.bundle.programs.size();
  programs.bundle.programs.push_back(std::move(program));
  programs.masks.emplace_back();
  return {};
}

}  // namespace

Result<TrainingPrograms> make_training_programs(const TrainJob& job,
                                                const EngineDescription& engine) {
  TRY(check_graph(job.graph));
  TrainingPrograms programs;
  const bool has_dropout = !share_dropout(job.graph).masks.empty();
  const bool shared = job.dropout == DropoutMode::kShared || !engine.native_dropout;
  programs.dropout = !has_dropout ? "none" : shared ? "shared" : "native";
  TRY(add_training(job, "train", job.graph, programs));
  add_variables(job.graph, programs.variables);
  if (job.last_graph) {
    programs.smaller = programs.bundle.programs.size();
    TRY(add_training(job, "train smaller batch", *job.last_graph, programs));
    add_variables(*job.last_graph, programs.variables);
  }
  if (job.measure.evaluate) {
    TRY(add_evaluation(job, programs));
    add_variables(job.evaluation_graph, programs.variables);
  }
  return programs;
}

}  // namespace gradstone
