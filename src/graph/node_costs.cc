// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "graph/graph.h"
#include "graph/node_rules.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

// Types of all outputs of an operator, also those that the node does not name: what flops() sees.
std::vector<TensorType> output_types(const Node& node, const ValueTypes& types,
                                     const ConstantMap& constants) {
  Result<std::vector<TensorType>> outputs = infer_node(node, types, constants);
  CHECK(outputs.ok(), "node_costs of a graph that check_graph does not accept");
  return std::move(outputs).value();
}

// A value that a node reads twice moves once.
std::int64_t bytes_moved(const Node& node, const ValueTypes& types) {
  std::set<std::string_view> values(node.inputs.begin(), node.inputs.end());
  values.insert(node.outputs.begin(), node.outputs.end());
  std::int64_t bytes = 0;
  for (const std::string_view value : values) {
    const auto type = types.find(value);
    if (type == types.end()) continue;  // "": absent
    bytes = saturating_sum(bytes, static_cast<std::int64_t>(type->second.bytes()));
  }
  return bytes;
}

NodeCost node_cost(const Node& node, const ValueTypes& types, const ConstantMap& constants) {
  NodeCost cost;
  cost.bytes = bytes_moved(node, types);
  const OpDef* op = find_op(node.domain, node.op);
  CHECK(op != nullptr, "node_costs of a graph that check_graph does not accept");
  if (op->flops == nullptr) return cost;
  const NodeInputs inputs(node, *op, types, constants);
  const std::vector<TensorType> outputs = output_types(node, types, constants);
  cost.flops = op->flops(inputs.context(), outputs);
  if (op->multiply_adds) cost.multiply_adds = cost.flops / 2;
  if (op->other_flops != nullptr) {
    cost.flops = saturating_sum(cost.flops, op->other_flops(inputs.context(), outputs));
  }
  return cost;
}

}  // namespace

std::vector<NodeCost> node_costs(const Graph& graph, const ValueTypes& types) {
  const ConstantMap constants = constants_of(graph);
  std::vector<NodeCost> costs;
  costs.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) costs.push_back(node_cost(node, types, constants));
  return costs;
}

std::int64_t parameter_count(const Graph& graph) {
  std::int64_t count = 0;
  for (const Weight& weight : graph.weights) {
    if (weight.trainable) count = saturating_sum(count, weight.type.elements());
  }
  return count;
}

}  // namespace gradstone
