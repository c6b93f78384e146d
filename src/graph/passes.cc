// SPDX-License-Identifier: Apache-2.0
#include "graph/passes.h"

#include <algorithm>
#include <functional>
#include <set>

#include "graph/onnx_dtype.h"

namespace gradstone {
namespace {

using Names = std::set<std::string, std::less<>>;

bool is_onnx(const Node& node, std::string_view op) { return node.domain.empty() && node.op == op; }

// The value of optional input `index` where that is a constant of one element.
std::optional<double> constant_input(const Graph& graph, const Node& node, std::size_t index) {
  if (index >= node.inputs.size()) return std::nullopt;
  const Constant* constant = graph.find_constant(node.inputs[index]);
  if (constant == nullptr) return std::nullopt;
  return element_as_double(constant->value.ref(), 0);
}

bool is_training_dropout(const Graph& graph, const Node& node) {
  return is_onnx(node, "Dropout") && constant_input(graph, node, 2).value_or(0) != 0;
}

std::string output_name(const Node& node, std::size_t index) {
  return index < node.outputs.size() ? node.outputs[index] : std::string();
}

template <class T, class Keep>
void keep_if(std::vector<T>& items, Keep keep) {
  items.erase(std::remove_if(items.begin(), items.end(), std::not_fn(keep)), items.end());
}

// Gradient depends on values that its attributes name.
void insert_named_values(const Node& node, Names& names) {
  if (node.domain != kTrainingDomain || node.op != "Gradient") return;
  names.insert(attribute_or(node, "y", ""));
  for (const std::string_view list : {"xs", "zs"}) {
    const auto values = attribute_or(node, list, std::vector<std::string>{});
    names.insert(values.begin(), values.end());
  }
}

// Values that the outputs, the state updates and every node read.
Names values_read(const Graph& graph) {
  Names read(graph.outputs.begin(), graph.outputs.end());
  for (const StateUpdate& update : graph.state_updates) read.insert(update.value);
  for (const Node& node : graph.nodes) {
    read.insert(node.inputs.begin(), node.inputs.end());
    insert_named_values(node, read);
  }
  return read;
}

void drop_unread_constants(Graph& graph) {
  const Names read = values_read(graph);
  keep_if(graph.constants, [&](const Constant& constant) { return read.count(constant.name) > 0; });
}

std::string fresh_name(Names& names, const std::string& wish) {
  std::string name = wish;
  for (int i = 2; !names.insert(name).second; ++i) name = wish + "." + std::to_string(i);
  return name;
}

Node plain_node(const std::string& name, std::string_view op, std::vector<std::string> inputs,
                const std::string& output) {
  Node node;
  node.name = name;
  node.op = op;
  node.inputs = std::move(inputs);
  node.outputs = {output};
  return node;
}

// The inference form of one node; more than one where a dropped output is still read.
std::vector<Node> inference_form(const Node& node, const Names& read, Names& names) {
  const auto is_read = [&](std::size_t output) {
    const std::string name = output_name(node, output);
    return !name.empty() && read.count(name) > 0;
  };
  Node plain = node;
  if (is_onnx(node, "Dropout")) {
    plain.inputs.resize(1);  // without training_mode it does nothing
    if (is_read(1)) return {plain};
    return {plain_node(node.name, "Identity", {node.inputs[0]}, node.outputs[0])};
  }
  if (!is_onnx(node, "BatchNormalization")) return {plain};
  plain.attributes.erase("training_mode");
  plain.outputs.resize(1);
  std::vector<Node> nodes = {plain};
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (!is_read(i)) continue;
    // The running statistics no longer run: they are the inputs 3 and 4.
    const std::string name = fresh_name(names, node.name + (i == 1 ? ".mean" : ".variance"));
    nodes.push_back(plain_node(name, "Identity", {node.inputs[i + 2]}, node.outputs[i]));
  }
  return nodes;
}

// The two operators that name an element type: Cast by ONNX's number, our Fill by name.
void retype_attributes(Node& node, DType dtype) {
  if (is_onnx(node, "Cast")) {
    const auto target = dtype_from_onnx_code(attribute_or(node, "to", std::int64_t{0}));
    if (target && is_floating(*target)) node.attributes["to"] = onnx_code(dtype);
  }
  if (node.domain == kGradstoneDomain && node.op == "Fill") {
    const auto target = dtype_from_name(attribute_or(node, "dtype", name_of(DType::kFloat32)));
    if (target && is_floating(*target)) node.attributes["dtype"] = std::string(name_of(dtype));
  }
}

// Every graph in an attribute as `form` makes it.
template <class Form>
void change_bodies(Node& node, Form form) {
  for (auto& [name, attribute] : node.attributes) {
    auto* body = std::get_if<Subgraph>(&attribute);
    if (body != nullptr) *body = std::make_shared<const Graph>(form(**body));
  }
}

// The graph with every node in inference form.
Graph still_form(const Graph& graph) {
  Graph still = graph;
  still.state_updates.clear();
  const Names read = values_read(still);
  still.nodes.clear();
  Names names = names_in_use(graph);
  for (const Node& node : graph.nodes) {
    for (Node& form : inference_form(node, read, names)) {
      change_bodies(form, still_form);
      still.nodes.push_back(std::move(form));
    }
  }
  return still;
}

}  // namespace

std::set<std::string, std::less<>> names_in_use(const Graph& graph) {
  std::set<std::string, std::less<>> names;
  for (const GraphInput& input : graph.inputs) names.insert(input.name);
  for (const Weight& weight : graph.weights) names.insert(weight.name);
  for (const Constant& constant : graph.constants) names.insert(constant.name);
  for (const Node& node : graph.nodes) {
    names.insert(node.name);
    names.insert(node.outputs.begin(), node.outputs.end());
  }
  return names;
}

Graph pruned(const Graph& graph, const std::vector<std::string>& outputs, bool drop_inputs) {
  Graph result = graph;
  result.outputs = outputs;
  Names needed(outputs.begin(), outputs.end());
  for (const StateUpdate& update : graph.state_updates) {
    needed.insert(update.value);
    needed.insert(update.weight);
  }
  std::vector<Node> nodes;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool wanted = std::any_of(
        node->outputs.begin(), node->outputs.end(),
        [&](const std::string& output) { return !output.empty() && needed.count(output) > 0; });
    if (!wanted) continue;
    needed.insert(node->inputs.begin(), node->inputs.end());
    insert_named_values(*node, needed);
    nodes.push_back(*node);
  }
  result.nodes.assign(nodes.rbegin(), nodes.rend());
  const auto is_needed = [&](const auto& item) { return needed.count(item.name) > 0; };
  keep_if(result.weights, is_needed);
  keep_if(result.constants, is_needed);
  if (drop_inputs) keep_if(result.inputs, is_needed);
  return result;
}

Graph to_inference(const Graph& graph, const std::vector<std::string>& outputs) {
  Graph still = graph;
  still.outputs = outputs;
  return pruned(still_form(still), outputs, /*drop_inputs=*/true);
}

SharedDropout share_dropout(const Graph& graph) {
  const Result<ValueTypes> types = check_graph(graph);
  CHECK(types.ok(), "share_dropout of a graph that check_graph does not accept");
  SharedDropout shared;
  shared.graph = graph;
  shared.graph.nodes.clear();
  Names names = names_in_use(graph);
  for (const Node& node : graph.nodes) {
    if (!is_training_dropout(graph, node)) {
      shared.graph.nodes.push_back(node);
      continue;
    }
    const SharedMask mask = {fresh_name(names, node.name + ".mask"),
                             types->find(node.inputs[0])->second,
                             constant_input(graph, node, 1).value_or(0.5)};
    shared.graph.nodes.push_back(
        plain_node(node.name, "Mul", {node.inputs[0], mask.input}, node.outputs[0]));
    if (const std::string kept = output_name(node, 1); !kept.empty()) {
      Node cast = plain_node(fresh_name(names, node.name + ".kept"), "Cast", {mask.input}, kept);
      cast.attributes["to"] = onnx_code(DType::kBool);
      shared.graph.nodes.push_back(cast);
    }
    shared.graph.inputs.push_back({mask.input, mask.type});
    shared.masks.push_back(mask);
  }
  drop_unread_constants(shared.graph);
  return shared;
}

Graph with_dtype(const Graph& graph, DType dtype) {
  CHECK(is_floating(dtype), "with_dtype to a type that is not floating");
  Graph result = graph;
  for (GraphInput& input : result.inputs) {
    if (is_floating(input.type.dtype)) input.type.dtype = dtype;
  }
  for (Weight& weight : result.weights) {
    if (is_floating(weight.type.dtype)) weight.type.dtype = dtype;
  }
  for (Constant& constant : result.constants) {
    if (!is_floating(constant.value.type().dtype)) continue;
    constant.value = converted(constant.value.ref(), dtype);
  }
  for (Node& node : result.nodes) {
    retype_attributes(node, dtype);
    change_bodies(node, [&](const Graph& body) { return with_dtype(body, dtype); });
  }
  return result;
}

}  // namespace gradstone
