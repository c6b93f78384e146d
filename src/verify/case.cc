// SPDX-License-Identifier: Apache-2.0
#include "verify/case.h"

#include <algorithm>
#include <set>

#include "base/random.h"
#include "graph/differentiate.h"

namespace gradstone {
namespace {

bool is_state(const Graph& graph, const std::string& name) {
  const Weight* weight = graph.find_weight(name);
  return weight != nullptr && !weight->trainable;
}

// Values of `part` that the rest of the graph or nobody but the graph's outputs reads.
std::set<std::string> values_that_leave(const Graph& graph, const Graph& part) {
  std::set<std::string> leaving(graph.outputs.begin(), graph.outputs.end());
  for (const Node& node : graph.nodes) {
    const bool inside = std::any_of(part.nodes.begin(), part.nodes.end(),
                                    [&](const Node& own) { return own.name == node.name; });
    if (!inside) leaving.insert(node.inputs.begin(), node.inputs.end());
  }
  return leaving;
}

// `name` as it stands in `graph`, declared in `part` too.
void declare(const Graph& graph, const std::string& name, const TensorMap& values, Graph& part) {
  const bool known = part.find_input(name) || part.find_weight(name) || part.find_constant(name);
  if (name.empty() || known) return;
  if (const Constant* constant = graph.find_constant(name)) {
    part.constants.push_back(*constant);
  } else if (const Weight* weight = graph.find_weight(name)) {
    part.weights.push_back(*weight);
  } else {
    part.inputs.push_back({name, values.at(name).type()});
  }
}

void add_backward(const Graph& graph, const ValueTypes& types, std::uint64_t seed, Case& alone) {
  const std::set<std::string> leaving = values_that_leave(graph, alone.graph);
  for (const std::string& output : computed_values(alone.graph)) {
    if (leaving.count(output) == 0) continue;
    const TensorType& type = types.find(output)->second;
    if (!is_floating(type.dtype)) continue;
    alone.from.push_back(output);
    alone.cotangents[output] = random_normal(type, seed, "cotangent/" + output);
  }
  for (const auto& [name, value] : alone.values) {
    if (is_floating(value.type().dtype) && !is_state(alone.graph, name)) alone.wrt.push_back(name);
  }
  const bool has_gradient = !alone.from.empty() && !alone.wrt.empty() &&
                            differentiate(alone.graph, alone.from, alone.wrt).ok();
  if (has_gradient) return;
  alone.from.clear();
  alone.cotangents.clear();
  alone.wrt.clear();
}

}  // namespace

std::string gradient_name(const std::string& value) { return "gradient/" + value; }

std::vector<std::string> computed_values(const Graph& graph) {
  std::vector<std::string> values;
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      if (!output.empty()) values.push_back(output);
    }
  }
  return values;
}

ProgramSpec program_of(const Case& question, std::string name) {
  ProgramSpec program;
  program.name = std::move(name);
  program.graph = question.graph;
  program.outputs = computed_values(question.graph);
  if (!question.from.empty()) program.backward = BackwardSpec{question.from, true, question.wrt};
  return program;
}

TensorMap feeds_of(const Case& question) {
  TensorMap feeds;
  for (const GraphInput& input : question.graph.inputs) {
    feeds[input.name] = question.values.at(input.name);
  }
  for (const auto& [value, cotangent] : question.cotangents) {
    feeds["cotangent/" + value] = cotangent;
  }
  return feeds;
}

TensorMap weights_of(const Case& question) {
  TensorMap weights;
  for (const Weight& weight : question.graph.weights) {
    weights[weight.name] = question.values.at(weight.name);
  }
  return weights;
}

Result<Case> part_of(const Graph& graph, const std::vector<std::size_t>& nodes,
                     const TensorMap& values, std::uint64_t seed) {
  Case part;
  part.graph.name = graph.name;
  std::set<std::string> computed;
  for (const std::size_t index : nodes) {
    const Node& node = graph.nodes[index];
    for (const std::string& input : node.inputs) {
      if (computed.count(input) == 0) declare(graph, input, values, part.graph);
    }
    computed.insert(node.outputs.begin(), node.outputs.end());
    part.graph.nodes.push_back(node);
  }
  part.graph.outputs = computed_values(part.graph);
  const ValueTypes types = TRY(check_graph(part.graph));
  for (const GraphInput& input : part.graph.inputs) {
    part.values[input.name] = values.at(input.name);
  }
  for (const Weight& weight : part.graph.weights) {
    part.values[weight.name] = values.at(weight.name);
  }
  add_backward(graph, types, seed, part);
  return part;
}

Tensor random_normal(const TensorType& type, std::uint64_t seed, const std::string& name) {
  std::vector<double> numbers(static_cast<std::size_t>(type.elements()));
  CounterRandom(seed, stream_of(name)).fill_normal(0, numbers);
  const Tensor drawn = Tensor::of<double>(type.shape, numbers);
  return converted(drawn.ref(), type.dtype);
}

}  // namespace gradstone
