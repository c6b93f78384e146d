// SPDX-License-Identifier: Apache-2.0
#include "graph/expansion.h"

#include <algorithm>

namespace gradstone {
namespace {

using Wanted = std::function<bool(const Node&, const OpDef&)>;

bool expands(const Node& node, const Wanted& wanted) {
  const OpDef* row = find_op(node.domain, node.op);
  return row != nullptr && row->expand != nullptr && wanted(node, *row);
}

// One round: nodes that expansions bring in are left to the next.
Result<Expanded> expand_once(const Graph& graph, const Wanted& wanted) {
  Graph leaves = graph;
  leaves.nodes.clear();
  ExpansionBuilder builder(std::move(leaves), TRY(check_graph(graph)));
  Expanded result;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (expands(node, wanted)) {
      TRY(builder.expand(node).within("node " + node.name + " (" + node.op + ")"));
    } else {
      builder.append_as_is(node);
    }
    result.origin.resize(builder.graph().nodes.size(), i);
  }
  result.graph = builder.graph();
  result.graph.constants.insert(result.graph.constants.end(), builder.added_constants().begin(),
                                builder.added_constants().end());
  return result;
}

}  // namespace

Status check_unrolled(std::int64_t steps) {
  constexpr std::int64_t kMost = 20000;
  if (steps <= kMost) return {};
  return unsupported("unrolling " + std::to_string(steps) + " steps makes too large a graph; " +
                     std::to_string(kMost) + " are the most");
}

ExpansionBuilder::ExpansionBuilder(Graph graph, ValueTypes types)
    : NodeBuilder(std::move(graph), std::move(types), "") {}

bool ExpansionBuilder::wants(std::size_t index) const {
  return index < node_.outputs.size() && !node_.outputs[index].empty();
}

void ExpansionBuilder::set_output(std::size_t index, const std::string& value) {
  if (wants(index)) outputs_[index] = value;
}

Status ExpansionBuilder::expand(const Node& node) {
  node_ = node;
  outputs_.clear();
  const std::size_t first = graph_.nodes.size();
  TRY(find_op(node.domain, node.op)->expand(*this));
  name_outputs(first);
  node_ = {};
  return {};
}

void ExpansionBuilder::append_as_is(const Node& node) { graph_.nodes.push_back(node); }

// The values set as outputs take the names of the node's outputs: those that a new node makes by
// renaming, the others (an input of the node) through an Identity.
void ExpansionBuilder::name_outputs(std::size_t first_node) {
  for (std::size_t i = 0; i < node_.outputs.size(); ++i) {
    const std::string& name = node_.outputs[i];
    if (name.empty()) continue;
    CHECK(outputs_.count(i) > 0, "an expansion leaves out an output");
    const std::string value = outputs_[i];
    CHECK(type_of(value) == type_of(name), "an expansion's output has another type");
    if (!rename(value, name, first_node)) {
      append("output" + std::to_string(i), "Identity", {value});
      graph_.nodes.back().outputs = {name};
    }
  }
}

bool ExpansionBuilder::rename(const std::string& value, const std::string& name,
                              std::size_t first_node) {
  bool made_here = false;
  for (std::size_t i = first_node; i < graph_.nodes.size(); ++i) {
    std::vector<std::string>& made = graph_.nodes[i].outputs;
    made_here |= std::find(made.begin(), made.end(), value) != made.end();
  }
  if (!made_here || is_output(value)) return false;
  for (std::size_t i = first_node; i < graph_.nodes.size(); ++i) {
    Node& node = graph_.nodes[i];
    std::replace(node.inputs.begin(), node.inputs.end(), value, name);
    std::replace(node.outputs.begin(), node.outputs.end(), value, name);
  }
  for (auto& [index, output] : outputs_) {
    if (output == value) output = name;
  }
  return true;
}

bool ExpansionBuilder::is_output(const std::string& value) const {
  return std::find(node_.outputs.begin(), node_.outputs.end(), value) != node_.outputs.end();
}

Result<Expanded> expand_nodes(const Graph& graph, const Wanted& wanted) {
  Expanded result;
  result.graph = graph;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) result.origin.push_back(i);
  const auto pending = [&] {
    return std::any_of(result.graph.nodes.begin(), result.graph.nodes.end(),
                       [&](const Node& node) { return expands(node, wanted); });
  };
  while (pending()) {
    Expanded next = TRY(expand_once(result.graph, wanted));
    for (std::size_t& origin : next.origin) origin = result.origin[origin];
    result = std::move(next);
  }
  return result;
}

}  // namespace gradstone
