// SPDX-License-Identifier: Apache-2.0
#include "graph/node_rules.h"

#include <algorithm>
#include <array>

#include "base/suggest.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

// In the order of AttributeKind and of the variant Attribute.
constexpr std::array<std::string_view, 7> kKinds = {
    "an integer",       "a float",           "a string", "a list of integers",
    "a list of floats", "a list of strings", "a graph"};

std::string count_range(int least, int most) {
  if (most == kVariadic) return std::to_string(least) + " or more";
  if (least == most) return std::to_string(least);
  return std::to_string(least) + " to " + std::to_string(most);
}

Status check_count(std::size_t count, int least, int most, std::string_view what) {
  const auto number = static_cast<std::int64_t>(count);
  if (number >= least && (most == kVariadic || number <= most)) return {};
  return unreadable("has " + std::to_string(count) + " " + std::string(what) + "; expected " +
                    count_range(least, most));
}

Status check_arity(const Node& node, const OpDef& op) {
  TRY(check_count(node.inputs.size(), op.min_inputs, op.max_inputs, "inputs"));
  TRY(check_count(node.outputs.size(), op.min_outputs, op.max_outputs, "outputs"));
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool optional = op.max_inputs != kVariadic && (static_cast<int>(i) >= op.min_inputs ||
                                                         static_cast<int>(i) == op.optional_input);
    if (node.inputs[i].empty() && !optional) {
      return unreadable("input " + std::to_string(i) + " is required, but absent");
    }
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(op.min_outputs); ++i) {
    if (node.outputs[i].empty()) {
      return unreadable("output " + std::to_string(i) + " is required, but has no name");
    }
  }
  return {};
}

Status check_attribute(const OpDef& op, const std::string& name, const Attribute& value) {
  std::vector<std::string_view> names;
  for (const AttributeDef& known : op.attributes) {
    names.push_back(known.name);
    if (known.name != name) continue;
    const auto* body = std::get_if<Subgraph>(&value);
    if (body != nullptr && *body == nullptr) {
      return unreadable("attribute '" + name + "' holds no graph");
    }
    if (static_cast<std::size_t>(known.kind) == value.index()) return {};
    return unreadable("attribute '" + name + "' is " + std::string(kKinds[value.index()]) +
                      "; expected " + std::string(kKinds[static_cast<std::size_t>(known.kind)]));
  }
  return unreadable("unknown attribute '" + name + "'" + did_you_mean(name, names));
}

Status check_attributes(const Node& node, const OpDef& op) {
  for (const auto& [name, value] : node.attributes) TRY(check_attribute(op, name, value));
  for (const AttributeDef& known : op.attributes) {
    if (known.required && node.attributes.count(std::string(known.name)) == 0) {
      return unreadable("attribute '" + std::string(known.name) + "' is missing");
    }
  }
  return {};
}

Status check_outputs(const std::vector<TensorType>& types) {
  for (const TensorType& type : types) {
    if (TRY(checked_element_count(type.shape)) == 0) {
      return unreadable("the output would have shape " + to_string(type.shape) +
                        ", which holds nothing");
    }
  }
  return {};
}

Result<std::vector<TensorType>> infer_checked(const Node& node, const OpDef& op,
                                              const ValueTypes& types,
                                              const ConstantMap& constants) {
  TRY(check_attributes(node, op));
  TRY(check_arity(node, op));
  const NodeInputs inputs(node, op, types, constants);
  const TensorType* first = inputs.context().inputs.empty() ? nullptr : inputs.context().inputs[0];
  if (first != nullptr && first->elements() == 0) return unreadable("the first input is empty");
  std::vector<TensorType> outputs = TRY(op.infer(inputs.context()));
  TRY(check_outputs(outputs));
  return outputs;
}

}  // namespace

ConstantMap constants_of(const Graph& graph) {
  ConstantMap constants;
  for (const Constant& constant : graph.constants) constants[constant.name] = &constant.value;
  return constants;
}

NodeInputs::NodeInputs(const Node& node, const OpDef& op, const ValueTypes& types,
                       const ConstantMap& constants)
    : node_(node) {
  const std::size_t slots =
      op.max_inputs == kVariadic ? 0 : static_cast<std::size_t>(op.max_inputs);
  types_.resize(std::max(node.inputs.size(), slots));
  constants_.resize(types_.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto type = types.find(node.inputs[i]);
    if (type != types.end()) types_[i] = &type->second;
    const auto constant = constants.find(node.inputs[i]);
    if (constant != constants.end()) constants_[i] = constant->second;
  }
}

Result<const OpDef*> op_of(const Node& node) {
  if (const OpDef* op = find_op(node.domain, node.op)) return op;
  std::vector<std::string_view> names;
  for (const OpDef& row : op_table()) {
    if (row.domain == node.domain) names.push_back(row.name);
  }
  const std::string place = node.domain.empty() ? "" : " of domain '" + node.domain + "'";
  return unreadable("unknown op '" + node.op + "'" + place + did_you_mean(node.op, names));
}

Result<std::vector<TensorType>> infer_node(const Node& node, const ValueTypes& types,
                                           const ConstantMap& constants) {
  const OpDef* op = TRY(op_of(node));
  Result<std::vector<TensorType>> outputs = infer_checked(node, *op, types, constants);
  if (outputs.ok()) return outputs;
  return Error{outputs.error().kind, "(" + node.op + "): " + outputs.error().message};
}

}  // namespace gradstone
