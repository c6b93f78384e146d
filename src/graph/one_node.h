// SPDX-License-Identifier: Apache-2.0
// Graphs of one node, for tests of operator rows. Not for programs.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/graph.h"

namespace gradstone::testing {

using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;
// A graph input, a constant, or nothing: an absent optional input.
using TestInput = std::variant<std::monostate, TensorType, Tensor>;

inline TensorType f32(Shape shape) { return {DType::kFloat32, std::move(shape)}; }
inline TensorType i64(Shape shape) { return {DType::kInt64, std::move(shape)}; }
inline Tensor list(const Ints& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

inline Graph one_node(std::string op, const std::vector<TestInput>& inputs,
                      Attributes attributes = {}, std::size_t outputs = 1) {
  Graph graph;
  graph.name = "test";
  Node node;
  node.name = "n";
  node.op = std::move(op);
  node.attributes = std::move(attributes);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::string name = "x" + std::to_string(i);
    if (const auto* type = std::get_if<TensorType>(&inputs[i])) {
      graph.inputs.push_back({name, *type});
    } else if (const auto* tensor = std::get_if<Tensor>(&inputs[i])) {
      graph.constants.push_back({name, *tensor});
    } else {
      name.clear();
    }
    node.inputs.push_back(name);
  }
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back("y" + std::to_string(i));
  graph.outputs = node.outputs;
  graph.nodes.push_back(std::move(node));
  return graph;
}

// "float32 [2, 3], int64 [2]" for the outputs, or the error without its place.
inline std::string outcome(const Graph& graph) {
  const Result<ValueTypes> types = check_graph(graph);
  if (!types.ok()) {
    const std::string place = "workload test: node n (" + graph.nodes[0].op + "): ";
    const std::string& message = types.error().message;
    return message.rfind(place, 0) == 0 ? message.substr(place.size()) : message;
  }
  std::string text;
  for (const std::string& output : graph.outputs) {
    if (!text.empty()) text += ", ";
    text += to_string(types->find(output)->second);
  }
  return text;
}

inline std::string outcome(std::string op, const std::vector<TestInput>& inputs,
                           Attributes attributes = {}, std::size_t outputs = 1) {
  return outcome(one_node(std::move(op), inputs, std::move(attributes), outputs));
}

inline NodeCost cost(const Graph& graph) {
  return node_costs(graph, check_graph(graph).value()).at(0);
}

}  // namespace gradstone::testing
