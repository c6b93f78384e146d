// SPDX-License-Identifier: Apache-2.0
#include "graph/differentiate.h"

#include <algorithm>
#include <set>

#include "graph/expansion.h"
#include "graph/gradient_nodes.h"
#include "graph/gradients.h"

namespace gradstone {
namespace {

using Names = std::set<std::string>;

Status check_request(const Graph& graph, const ValueTypes& types,
                     const std::vector<std::string>& from, const std::vector<std::string>& wrt) {
  for (const std::string& value : from) {
    const auto found = types.find(value);
    if (found == types.end()) {
      return usage_error("cannot differentiate '" + value + "': no such value");
    }
    if (!is_floating(found->second.dtype)) {
      return usage_error("cannot differentiate '" + value + "': " + to_string(found->second) +
                         " is no floating-point value");
    }
  }
  for (const std::string& value : wrt) {
    if (!graph.find_weight(value) && !graph.find_input(value)) {
      return usage_error("no gradient with respect to '" + value + "': no such weight or input");
    }
    if (!is_floating(types.find(value)->second.dtype)) {
      return usage_error("no gradient with respect to '" + value + "': " +
                         to_string(types.find(value)->second) + " is no floating-point value");
    }
  }
  return {};
}

bool any_in(const std::vector<std::string>& values, const Names& names) {
  return std::any_of(values.begin(), values.end(),
                     [&](const std::string& value) { return names.count(value) > 0; });
}

// Floating values that depend on `wrt` through floating values.
Names dependent_values(const Graph& graph, const ValueTypes& types,
                       const std::vector<std::string>& wrt) {
  Names dependent(wrt.begin(), wrt.end());
  for (const Node& node : graph.nodes) {
    if (!any_in(node.inputs, dependent)) continue;
    for (const std::string& output : node.outputs) {
      if (!output.empty() && is_floating(types.find(output)->second.dtype)) {
        dependent.insert(output);
      }
    }
  }
  return dependent;
}

Status append_backward_nodes(GradientBuilder& builder, std::size_t forward_nodes,
                             const Names& dependent) {
  for (std::size_t i = forward_nodes; i-- > 0;) {
    const Node& node = builder.graph().nodes[i];
    const bool reached =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](const std::string& output) {
          return dependent.count(output) > 0 && !builder.cotangent_of(output).empty();
        });
    if (reached && any_in(node.inputs, dependent)) TRY(builder.differentiate_node(i));
  }
  return {};
}

// The gradients, each a value of its own that a node computes.
std::vector<std::string> gradient_values(GradientBuilder& builder,
                                         const std::vector<std::string>& wrt) {
  Names taken;
  for (const GraphInput& input : builder.graph().inputs) taken.insert(input.name);
  std::vector<std::string> gradients;
  for (const std::string& value : wrt) {
    std::string gradient = builder.cotangent_of(value);
    if (gradient.empty()) {
      const TensorType& type = builder.type_of(value);
      gradient = builder.append(
          "zeros/" + value, "Fill", {},
          {{"shape", type.shape}, {"value", 0.0}, {"dtype", std::string(name_of(type.dtype))}});
    } else if (taken.count(gradient) > 0) {
      gradient = builder.append("copy/" + value, "Identity", {gradient});
    }
    taken.insert(gradient);
    gradients.push_back(gradient);
  }
  return gradients;
}

// By node of `given`: of the expanded forward nodes, then of the backward nodes, which know the
// expanded node that they come from.
std::vector<std::string> origins(const Graph& given, const Expanded& expanded,
                                 const std::vector<std::string>& of_backward) {
  std::map<std::string, std::string> given_node = {{"", ""}};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < expanded.origin.size(); ++i) {
    names.push_back(given.nodes[expanded.origin[i]].name);
    given_node[expanded.graph.nodes[i].name] = names.back();
  }
  for (const std::string& node : of_backward) names.push_back(given_node[node]);
  return names;
}

// Rules may append more than a request needs (the statistics of a batch norm whose bias alone is
// wanted, a factor whose own rule is zero): drops what no gradient needs.
void drop_unneeded(Differentiated& result, const std::deque<Constant>& added_constants) {
  Names needed(result.gradients.begin(), result.gradients.end());
  std::vector<Node>& nodes = result.graph.nodes;
  std::vector<Node> kept_nodes;
  std::vector<std::string> kept_origins;
  for (std::size_t i = nodes.size(); i-- > result.forward_nodes;) {
    if (!any_in(nodes[i].outputs, needed)) continue;
    needed.insert(nodes[i].inputs.begin(), nodes[i].inputs.end());
    kept_nodes.push_back(std::move(nodes[i]));
    kept_origins.push_back(result.origin[i]);
  }
  nodes.resize(result.forward_nodes);
  nodes.insert(nodes.end(), std::make_move_iterator(kept_nodes.rbegin()),
               std::make_move_iterator(kept_nodes.rend()));
  result.origin.resize(result.forward_nodes);
  result.origin.insert(result.origin.end(), kept_origins.rbegin(), kept_origins.rend());
  for (const Constant& constant : added_constants) {
    if (needed.count(constant.name) > 0) result.graph.constants.push_back(constant);
  }
}

}  // namespace

Result<Differentiated> differentiate(const Graph& given, const std::vector<std::string>& from,
                                     const std::vector<std::string>& wrt) {
  TRY(check_request(given, TRY(check_graph(given)), from, wrt));
  const Expanded plain = TRY(expand_gradients(given));
  Expanded expanded =
      TRY(expand_nodes(plain.graph, [](const Node&, const OpDef& row) { return !row.gradient; }));
  for (std::size_t& origin : expanded.origin) origin = plain.origin[origin];
  const Graph& graph = expanded.graph;
  const ValueTypes types = TRY(check_graph(graph));
  const Names dependent = dependent_values(graph, types, wrt);
  GradientBuilder builder(graph, types, dependent);
  Differentiated result;
  result.forward_nodes = graph.nodes.size();
  for (const std::string& value : from) {
    const std::string cotangent = builder.add_input("cotangent/" + value, builder.type_of(value));
    result.cotangent_inputs.push_back(cotangent);
    builder.add_cotangent(value, cotangent);
  }
  TRY(append_backward_nodes(builder, result.forward_nodes, dependent));
  result.gradients = gradient_values(builder, wrt);
  result.graph = builder.graph();
  result.origin = origins(given, expanded, builder.origins());
  drop_unneeded(result, builder.added_constants());
  result.graph.outputs.insert(result.graph.outputs.end(), result.gradients.begin(),
                              result.gradients.end());
  return result;
}

}  // namespace gradstone
