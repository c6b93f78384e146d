// SPDX-License-Identifier: Apache-2.0
#include "cli/workload_counts.h"

#include "analysis/metric_catalogue.h"
#include "graph/differentiate.h"

namespace gradstone {
namespace {

Result<NodeCost> total_cost(const Graph& graph) {
  NodeCost total;
  for (const NodeCost& cost : node_costs(graph, TRY(check_graph(graph)))) {
    total.flops += cost.flops;
    total.multiply_adds += cost.multiply_adds;
  }
  return total;
}

}  // namespace

Result<WorkloadCounts> count_workload(const WorkloadSize& size) {
  // A person's model may be made for its own batch only; then a sample has its share.
  Result<Graph> single = size.build(1);
  const std::int64_t batch = single.ok() ? 1 : size.recipe.batch;
  if (!single.ok()) single = size.build(batch);
  const Graph graph = TRY(std::move(single));
  const NodeCost forward = TRY(total_cost(graph));
  WorkloadCounts counts;
  counts.parameters = parameter_count(graph);
  counts.forward_multiply_adds = forward.multiply_adds / batch;
  counts.forward_flops = forward.flops / batch;
  std::vector<std::string> trainable;
  for (const Weight& weight : graph.weights) {
    if (weight.trainable) trainable.push_back(weight.name);
  }
  const Result<Differentiated> both = differentiate(graph, {std::string(kLossValue)}, trainable);
  if (both.ok()) counts.training_flops = TRY(total_cost(both->graph)).flops / batch;
  return counts;
}

Json to_json(const WorkloadCounts& counts) {
  Json json = {{std::string(kParameters), counts.parameters},
               {std::string(kForwardFlops), counts.forward_flops}};
  if (counts.training_flops) json[std::string(kTrainingFlops)] = *counts.training_flops;
  return json;
}

}  // namespace gradstone
