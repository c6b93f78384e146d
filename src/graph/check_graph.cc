// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "base/suggest.h"
#include "graph/graph.h"
#include "graph/node_rules.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

bool is_printable(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != 0x7f;
  });
}

// Names go into one-line messages, tables and file formats.
Status check_name(std::string_view name, std::string_view what) {
  if (name.empty()) return unreadable(std::string(what) + " has no name");
  if (!is_printable(name)) {
    return unreadable("the name of " + std::string(what) + " holds a control character");
  }
  return {};
}

// Walks a graph once, from its inputs to its outputs.
class Checker {
 public:
  explicit Checker(const Graph& graph) : graph_(graph), constants_(constants_of(graph)) {}

  Result<ValueTypes> check() {
    for (const GraphInput& input : graph_.inputs) {
      TRY(add_value(input.name, input.type, false).within("input " + input.name));
    }
    for (const Weight& weight : graph_.weights) {
      TRY(add_weight(weight).within("weight " + weight.name));
    }
    for (const Constant& constant : graph_.constants) {
      TRY(add_constant(constant).within("constant " + constant.name));
    }
    for (const Node& node : graph_.nodes) TRY(add_node(node));
    for (const std::string& output : graph_.outputs) TRY(check_known(output, "output"));
    for (const StateUpdate& update : graph_.state_updates) {
      TRY(check_state_update(update).within("state update of " + update.weight));
    }
    return std::move(types_);
  }

 private:
  Status add_value(const std::string& name, const TensorType& type, bool may_be_empty) {
    TRY(check_name(name, "a value"));
    if (TRY(checked_element_count(type.shape)) == 0 && !may_be_empty) {
      return unreadable("shape " + to_string(type.shape) + " holds nothing");
    }
    if (!types_.emplace(name, type).second) {
      return unreadable("the name '" + name + "' is taken by another value");
    }
    return {};
  }

  Status add_weight(const Weight& weight) {
    if (weight.trainable && !is_floating(weight.type.dtype)) {
      return unreadable(std::string(name_of(weight.type.dtype)) + " cannot be trained");
    }
    return add_value(weight.name, weight.type, false);
  }

  // A list of integers may be empty: Reshape's shape where the result is a scalar.
  Status add_constant(const Constant& constant) {
    const TensorType& type = constant.value.type();
    if (constant.value.data() == nullptr) return unreadable("has no value");
    return add_value(constant.name, type, type.dtype == DType::kInt64 && type.shape.size() == 1);
  }

  Status add_node(const Node& node) {
    TRY(check_name(node.name, "a node (" + node.op + ")"));
    const std::string place = "node " + node.name;
    if (!node_names_.insert(node.name).second) {
      return unreadable("another node has this name").within(place);
    }
    for (const std::string& input : node.inputs) {
      if (!input.empty()) TRY(check_known(input, "reads").within(place));
    }
    Result<std::vector<TensorType>> types = infer_node(node, types_, constants_);
    if (!types.ok()) return within_node(types.error(), place);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].empty()) {
        TRY(add_value(node.outputs[i], (*types)[i], false).within(place));
      }
    }
    return {};
  }

  // `node conv1 (Conv): ...`, or `node conv1: unknown op ...` where there is no operator to name.
  static Error within_node(const Error& error, const std::string& place) {
    const bool names_operator = error.message.front() == '(';
    return {error.kind, place + (names_operator ? " " : ": ") + error.message};
  }

  Status check_known(const std::string& name, const std::string& what) const {
    if (types_.count(name) > 0) return {};
    for (const Node& node : graph_.nodes) {
      if (std::find(node.outputs.begin(), node.outputs.end(), name) != node.outputs.end()) {
        return unreadable(what + " '" + name + "', which node " + node.name +
                          " makes only later; put that node first");
      }
    }
    std::vector<std::string_view> names;
    for (const auto& [known, type] : types_) names.push_back(known);
    return unreadable(what + " '" + name + "', which nothing makes" + did_you_mean(name, names));
  }

  Status check_state_update(const StateUpdate& update) {
    const Weight* weight = graph_.find_weight(update.weight);
    if (weight == nullptr) return unreadable("there is no such weight");
    if (weight->trainable)
      return unreadable("the weight is trainable; only a state can be updated");
    if (!updated_.insert(update.weight).second) return unreadable("it is updated twice");
    TRY(check_known(update.value, "takes"));
    const TensorType& type = types_.find(update.value)->second;
    if (type == weight->type) return {};
    return unreadable("it is " + to_string(weight->type) + ", the value '" + update.value +
                      "' is " + to_string(type));
  }

  const Graph& graph_;
  ConstantMap constants_;
  ValueTypes types_;
  std::set<std::string_view> node_names_;
  std::set<std::string_view> updated_;
};

}  // namespace

Result<ValueTypes> check_graph(const Graph& graph) {
  return Checker(graph).check().within("workload " + graph.name);
}

Result<ValueTypes> check_subgraph(const Graph& graph) {
  if (!graph.weights.empty() || !graph.state_updates.empty()) {
    return unreadable("a graph in an attribute has no weights; hand them in as inputs");
  }
  return Checker(graph).check();
}

}  // namespace gradstone
