// SPDX-License-Identifier: Apache-2.0
// The portable model: a directed acyclic graph of operators with ONNX semantics (opset 17) and
// static shapes. Plain data. What an operator means stands in op_table.h, how to write a graph in
// builder.h, how it travels in json_codec.h, what can be done with it in passes.h and
// differentiate.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/dtype.h"
#include "graph/initializer.h"
#include "graph/tensor.h"

namespace gradstone {

struct Graph;

// A graph as an attribute (the body of a Scan), which sees its own inputs and constants only. Shared
// by all copies of its node, so nobody changes it; never null. Equal to itself alone.
using Subgraph = std::shared_ptr<const Graph>;

using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>, Subgraph>;

// One application of an operator. Values are named; an absent optional input or output is "".
struct Node {
  std::string name;    // unique in the graph
  std::string op;      // "Conv"
  std::string domain;  // "" for ONNX, kTrainingDomain, or kGradstoneDomain for our own
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, Attribute>
      attributes;  // only those given; defaults stand in the operator table
};
inline constexpr std::string_view kGradstoneDomain = "gradstone";
inline constexpr std::string_view kTrainingDomain =
    "ai.onnx.preview.training";  // ONNX's, version 1

// A value fed at every run.
struct GraphInput {
  std::string name;
  TensorType type;
};

// A variable of the store. Its value lives across runs.
struct Weight {
  std::string name;
  TensorType type;
  Initializer initializer;
  bool trainable = true;  // false: a state such as a running mean, changed only by a StateUpdate
};

struct Constant {
  std::string name;
  Tensor value;
};

// After the run, variable `weight` takes the value of `value` (batch norm's running statistics).
struct StateUpdate {
  std::string weight;
  std::string value;
};

struct Graph {
  std::string name;  // of the workload; messages begin with it
  std::vector<GraphInput> inputs;
  std::vector<Weight> weights;
  std::vector<Constant> constants;
  std::vector<Node> nodes;  // in topological order
  std::vector<std::string> outputs;
  std::vector<StateUpdate> state_updates;

  const Weight* find_weight(std::string_view name) const;
  const GraphInput* find_input(std::string_view name) const;
  const Constant* find_constant(std::string_view name) const;
};

// Attribute access with a default; a wrong kind is a bug, since check_graph has seen the graph
// before.
std::int64_t attribute_or(const Node& node, std::string_view name, std::int64_t fallback);
double attribute_or(const Node& node, std::string_view name, double fallback);
std::string attribute_or(const Node& node, std::string_view name, std::string_view fallback);
std::vector<std::int64_t> attribute_or(const Node& node, std::string_view name,
                                       std::vector<std::int64_t> fallback);
std::vector<double> attribute_or(const Node& node, std::string_view name,
                                 std::vector<double> fallback);
std::vector<std::string> attribute_or(const Node& node, std::string_view name,
                                      std::vector<std::string> fallback);
// nullptr if the node has no such attribute.
Subgraph subgraph_of(const Node& node, std::string_view name);

// The type of every value: inputs, weights, constants, and each node's outputs.
using ValueTypes = std::map<std::string, TensorType, std::less<>>;

// Checks names, order, operators, attributes, arity and shapes, and infers the type of every value.
// Errors read `workload lenet: node conv1 (Conv): weight has 3 input channels, the input has 1`,
// and for an unknown operator or attribute suggest the nearest name.
Result<ValueTypes> check_graph(const Graph& graph);
// The same of a graph that is an attribute; it has neither weights nor state updates. Errors begin
// with the node: the caller adds the place.
Result<ValueTypes> check_subgraph(const Graph& graph);

// What one execution of a node costs. Figures beyond int64 stop at its largest value.
struct NodeCost {
  std::int64_t flops = 0;          // a multiply-add counts two
  std::int64_t multiply_adds = 0;  // of Conv and Gemm-like operators only
  std::int64_t bytes = 0;          // values read plus values written, each once
};
// Cost of every node, in order. `types` is check_graph's answer for this graph.
std::vector<NodeCost> node_costs(const Graph& graph, const ValueTypes& types);

// Elements of all trainable weights.
std::int64_t parameter_count(const Graph& graph);

}  // namespace gradstone
