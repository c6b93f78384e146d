// SPDX-License-Identifier: Apache-2.0
#include "graph/gradient_nodes.h"

#include <algorithm>
#include <set>

#include "graph/differentiate.h"
#include "graph/passes.h"

namespace gradstone {
namespace {

using Names = std::vector<std::string>;
using NameSet = std::set<std::string, std::less<>>;

bool is_gradient(const Node& node) {
  return node.domain == kTrainingDomain && node.op == "Gradient";
}

std::string fresh_name(NameSet& names, const std::string& wish) {
  std::string name = wish;
  for (int i = 2; !names.insert(name).second; ++i) name = wish + "_" + std::to_string(i);
  return name;
}

// One Gradient node of a graph, and what it says.
struct Request {
  std::size_t index = 0;  // of the node
  Node node;
  Names xs, zs;
  std::string y;

  Names independent() const {
    Names all = xs;
    all.insert(all.end(), zs.begin(), zs.end());
    return all;
  }
};

Request request_of(const Graph& graph, std::size_t index) {
  const Node& node = graph.nodes[index];
  return {index, node, attribute_or(node, "xs", Names{}), attribute_or(node, "zs", Names{}),
          attribute_or(node, "y", "")};
}

// The nodes before the Gradient node, whose values alone it may name.
Graph nodes_before(const Graph& graph, std::size_t index) {
  Graph before = graph;
  before.nodes.resize(index);
  before.outputs.clear();
  before.state_updates.clear();
  return before;
}

Status check_names(const Request& request, const ValueTypes& before) {
  Names names = request.independent();
  names.push_back(request.y);
  for (const std::string& name : names) {
    if (before.count(name) == 0) {
      return unreadable("names '" + name + "', which is no value made before it");
    }
  }
  for (std::size_t i = 0; i < request.node.inputs.size(); ++i) {
    const TensorType& named = before.find(names[i])->second;
    const TensorType& given = before.find(request.node.inputs[i])->second;
    if (named == given) continue;
    return unreadable("input " + std::to_string(i) + " is " + to_string(given) + ", '" + names[i] +
                      "' in its place is " + to_string(named));
  }
  return {};
}

// ---- Inputs in place of the values named ----

// Puts copies of the nodes between the independent values and y before the Gradient node, with its
// inputs in place of those values, and makes it name the copies.
void evaluate_at_inputs(Expanded& result, const Request& request) {
  Graph& graph = result.graph;
  NameSet taken = names_in_use(graph);
  std::map<std::string, std::string> copies;  // of values that depend on independent ones
  std::vector<Node> nodes;
  const Names independent = request.independent();
  for (std::size_t i = 0; i < independent.size(); ++i) {
    const std::string name = fresh_name(taken, request.node.name + "/" + independent[i]);
    nodes.push_back({name, "Identity", "", {request.node.inputs[i]}, {name}, {}});
    copies[independent[i]] = name;
  }
  const NameSet given(independent.begin(), independent.end());
  for (std::size_t i = 0; i < request.index; ++i) {
    Node node = graph.nodes[i];
    const bool depends = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](const std::string& x) { return copies.count(x) > 0; });
    if (!depends) continue;
    node.name = fresh_name(taken, request.node.name + "/" + node.name);
    for (std::string& input : node.inputs) {
      if (copies.count(input) > 0) input = copies[input];
    }
    for (std::string& output : node.outputs) {
      if (output.empty()) continue;
      const std::string copy = fresh_name(taken, request.node.name + "/" + output);
      if (given.count(output) == 0) copies[output] = copy;
      output = copy;
    }
    nodes.push_back(std::move(node));
  }
  Node& gradient = graph.nodes[request.index];
  const auto renamed = [&](Names names) {
    for (std::string& name : names) name = copies[name];
    return names;
  };
  gradient.attributes["xs"] = renamed(request.xs);
  gradient.attributes["zs"] = renamed(request.zs);
  if (copies.count(request.y) > 0) gradient.attributes["y"] = copies[request.y];
  gradient.inputs = renamed(independent);
  const auto at = static_cast<std::ptrdiff_t>(request.index);
  graph.nodes.insert(graph.nodes.begin() + at, nodes.begin(), nodes.end());
  result.origin.insert(result.origin.begin() + at, nodes.size(), result.origin[request.index]);
}

// ---- The backward graph in place of the node ----

// A graph in which the independent values that nodes or constants make are inputs.
struct Cut {
  Graph graph;
  std::map<std::string, std::string> made_as;  // new name of what makes them, by name
};

Cut cut_at(Graph graph, const Request& request, const ValueTypes& types) {
  Cut cut;
  NameSet taken = names_in_use(graph);
  const auto becomes_input = [&](const std::string& value) {
    graph.inputs.push_back({value, types.find(value)->second});
    cut.made_as[value] = fresh_name(taken, value + "/made");
  };
  const Names independent = request.independent();
  for (Node& node : graph.nodes) {
    for (std::string& output : node.outputs) {
      const bool is_cut =
          std::find(independent.begin(), independent.end(), output) != independent.end();
      if (!is_cut || output.empty()) continue;
      becomes_input(output);
      output = cut.made_as[output];
    }
  }
  for (Constant& constant : graph.constants) {
    if (std::find(request.xs.begin(), request.xs.end(), constant.name) == request.xs.end())
      continue;
    becomes_input(constant.name);
    constant.name = cut.made_as[constant.name];
  }
  cut.graph = std::move(graph);
  return cut;
}

// Names of the differentiated graph as the whole graph has them.
class Renaming {
 public:
  Renaming(const Graph& whole, const Cut& cut) : known_(names_in_use(cut.graph)) {
    taken_ = names_in_use(whole);
    for (const auto& [value, name] : cut.made_as) names_[name] = value;
  }
  void set(const std::string& name, const std::string& wanted) { names_[name] = wanted; }
  void apply(std::string& name) {
    if (name.empty()) return;
    const auto found = names_.find(name);
    if (found != names_.end()) {
      name = found->second;
    } else if (known_.count(name) == 0) {
      const std::string fresh = fresh_name(taken_, name);
      names_[name] = fresh;
      name = fresh;
    }
  }
  void apply(Node& node) {
    apply(node.name);
    for (std::string& input : node.inputs) apply(input);
    for (std::string& output : node.outputs) apply(output);
  }

 private:
  NameSet known_, taken_;
  std::map<std::string, std::string> names_;
};

Node ones(const std::string& name, const TensorType& type) {
  return {name,
          "Fill",
          std::string(kGradstoneDomain),
          {},
          {name},
          {{"shape", type.shape}, {"value", 1.0}, {"dtype", std::string(name_of(type.dtype))}}};
}

bool is_made_by(const std::vector<Node>& nodes, std::size_t first, const std::string& value) {
  return std::any_of(nodes.begin() + static_cast<std::ptrdiff_t>(first), nodes.end(),
                     [&](const Node& node) {
                       return std::count(node.outputs.begin(), node.outputs.end(), value) > 0;
                     });
}

// The gradients under the names of the node's outputs.
void name_outputs(Differentiated& backward, const Names& outputs, Renaming& renaming) {
  std::vector<Node>& nodes = backward.graph.nodes;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& gradient = backward.gradients[i];
    if (is_made_by(nodes, backward.forward_nodes, gradient)) {
      renaming.set(gradient, outputs[i]);
    } else {
      nodes.push_back({"grad/copy/" + outputs[i], "Identity", "", {gradient}, {outputs[i]}, {}});
      renaming.set(outputs[i], outputs[i]);
    }
  }
}

// The given whole graph with the node replaced.
Expanded spliced(const Expanded& whole, const Request& request, const Cut& cut,
                 Differentiated backward, const Names& outputs) {
  Expanded result;
  Renaming renaming(whole.graph, cut);
  name_outputs(backward, outputs, renaming);
  std::map<std::string, std::size_t> place;  // of the nodes before
  for (std::size_t i = 0; i < request.index; ++i) place[whole.graph.nodes[i].name] = i;
  const auto add = [&](Node node, std::size_t origin) {
    result.graph.nodes.push_back(std::move(node));
    result.origin.push_back(whole.origin[origin]);
  };
  std::string cotangent = backward.cotangent_inputs[0];
  const TensorType y = backward.graph.find_input(cotangent)->type;
  renaming.apply(cotangent);
  std::vector<Node>& nodes = backward.graph.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool forward = i < backward.forward_nodes;
    if (i == backward.forward_nodes) add(ones(cotangent, y), request.index);
    renaming.apply(nodes[i]);
    add(std::move(nodes[i]), forward ? place.at(backward.origin[i]) : request.index);
  }
  for (std::size_t i = request.index + 1; i < whole.graph.nodes.size(); ++i) {
    add(whole.graph.nodes[i], i);
  }
  result.graph.constants = backward.graph.constants;
  for (Constant& constant : result.graph.constants) renaming.apply(constant.name);
  result.graph.name = whole.graph.name;
  result.graph.inputs = whole.graph.inputs;
  result.graph.weights = whole.graph.weights;
  result.graph.outputs = whole.graph.outputs;
  result.graph.state_updates = whole.graph.state_updates;
  return result;
}

Result<Expanded> replace_gradient(const Expanded& whole, const Request& request,
                                  const ValueTypes& types) {
  Names outputs, wrt;
  for (std::size_t i = 0; i < request.node.outputs.size(); ++i) {
    if (request.node.outputs[i].empty()) continue;
    outputs.push_back(request.node.outputs[i]);
    wrt.push_back(request.xs[i]);
  }
  const Cut cut = cut_at(nodes_before(whole.graph, request.index), request, types);
  Differentiated backward = TRY(differentiate(cut.graph, {request.y}, wrt));
  return spliced(whole, request, cut, std::move(backward), outputs);
}

Result<Expanded> replace_first(Expanded whole, std::size_t index) {
  const Request request = request_of(whole.graph, index);
  const ValueTypes types = TRY(check_graph(nodes_before(whole.graph, index)));
  TRY(check_names(request, types));
  if (request.node.inputs != request.independent()) {
    evaluate_at_inputs(whole, request);
    return whole;  // the node, now further behind, is replaced in the next round
  }
  return replace_gradient(whole, request, types);
}

}  // namespace

Result<Expanded> expand_gradients(const Graph& graph) {
  Expanded result;
  result.graph = graph;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) result.origin.push_back(i);
  while (true) {
    const auto found =
        std::find_if(result.graph.nodes.begin(), result.graph.nodes.end(), is_gradient);
    if (found == result.graph.nodes.end()) return result;
    const std::string place = "workload " + graph.name + ": node " + found->name + " (Gradient)";
    const auto index = static_cast<std::size_t>(found - result.graph.nodes.begin());
    result = TRY(replace_first(std::move(result), index).within(place));
  }
}

}  // namespace gradstone
