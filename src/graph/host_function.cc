// SPDX-License-Identifier: Apache-2.0
#include "graph/host_function.h"

#include "base/suggest.h"
#include "graph/gradients.h"
#include "graph/own_ops.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using enum AttributeKind;
using Integers = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

// The types that the attributes state: dtypes by name, and the extents of all outputs in one list.
Result<std::vector<TensorType>> stated_types(const Node& node) {
  const Strings dtypes = attribute_or(node, "output_dtypes", Strings{});
  const Integers ranks = attribute_or(node, "output_ranks", Integers{});
  const Integers extents = attribute_or(node, "output_extents", Integers{});
  if (dtypes.size() != ranks.size()) {
    return unreadable("states " + std::to_string(dtypes.size()) + " dtypes and " +
                      std::to_string(ranks.size()) + " ranks");
  }
  std::vector<TensorType> types;
  auto next = extents.begin();
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    const std::optional<DType> dtype = dtype_from_name(dtypes[i]);
    if (!dtype) return unreadable("unknown dtype '" + dtypes[i] + "'");
    if (ranks[i] < 0 || ranks[i] > extents.end() - next) {
      return unreadable("output_extents does not hold the " + std::to_string(ranks[i]) +
                        " extents of output " + std::to_string(i));
    }
    types.push_back({*dtype, Shape(next, next + ranks[i])});
    next += ranks[i];
  }
  if (next != extents.end()) return unreadable("output_extents holds more than output_ranks says");
  return types;
}

OutputTypes infer_host(const NodeContext& context) {
  std::vector<TensorType> types = TRY(stated_types(context.node));
  if (context.node.outputs.size() > types.size()) {
    return unreadable("has " + std::to_string(context.node.outputs.size()) +
                      " outputs; its attributes state " + std::to_string(types.size()));
  }
  return types;
}

// No gradient flows through; what flows around it is not stopped.
Status gradient_of_host(GradientBuilder&) { return {}; }

Status check_types(const Node& node, const HostFunction& function, const ValueTypes& types) {
  std::vector<TensorType> inputs;
  for (const std::string& input : node.inputs) inputs.push_back(types.find(input)->second);
  const HostParameters parameters = host_parameters(node);
  const std::vector<TensorType> made = TRY(function.output_types(inputs, parameters));
  const std::vector<TensorType> stated = TRY(stated_types(node));
  if (made.size() != stated.size()) {
    return unreadable("states " + std::to_string(stated.size()) + " outputs; the function makes " +
                      std::to_string(made.size()));
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i] == stated[i]) continue;
    return unreadable("states output " + std::to_string(i) + " as " + to_string(stated[i]) +
                      "; the function makes " + to_string(made[i]));
  }
  return {};
}

}  // namespace

const HostFunction* HostFunctions::find(std::string_view name) const {
  for (const HostFunction& function : functions_) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

Status HostFunctions::check(const Graph& graph, const ValueTypes& types) const {
  for (const Node& node : graph.nodes) {
    if (!is_host(node)) continue;
    const std::string place = "workload " + graph.name + ": node " + node.name + " (Host)";
    const std::string name = attribute_or(node, "function", "");
    const HostFunction* function = find(name);
    if (function == nullptr) {
      std::vector<std::string_view> names;
      for (const HostFunction& known : functions_) names.push_back(known.name);
      return unsupported(place + ": no host function '" + name + "' here" +
                         did_you_mean(name, names));
    }
    TRY(check_types(node, *function, types).within(place));
  }
  return {};
}

bool is_host(const Node& node) { return node.domain == kGradstoneDomain && node.op == "Host"; }

HostParameters host_parameters(const Node& node) {
  return {attribute_or(node, "integers", Integers{}),
          attribute_or(node, "numbers", std::vector<double>{})};
}

std::map<std::string, Attribute> host_attributes(std::string_view function,
                                                 const std::vector<TensorType>& outputs,
                                                 const HostParameters& parameters) {
  Strings dtypes;
  Integers ranks, extents;
  for (const TensorType& type : outputs) {
    dtypes.emplace_back(name_of(type.dtype));
    ranks.push_back(static_cast<std::int64_t>(type.shape.size()));
    extents.insert(extents.end(), type.shape.begin(), type.shape.end());
  }
  std::map<std::string, Attribute> attributes = {{"function", std::string(function)},
                                                 {"output_dtypes", dtypes},
                                                 {"output_ranks", ranks},
                                                 {"output_extents", extents}};
  if (!parameters.integers.empty()) attributes["integers"] = parameters.integers;
  if (!parameters.numbers.empty()) attributes["numbers"] = parameters.numbers;
  return attributes;
}

std::vector<OpDef> host_rows() {
  return {{.name = "Host",
           .domain = kGradstoneDomain,
           .min_inputs = 0,
           .max_inputs = kVariadic,
           .max_outputs = kVariadic,
           .attributes = {{"function", kString, true},
                          {"output_dtypes", kStrings, true},
                          {"output_ranks", kInts, true},
                          {"output_extents", kInts, true},
                          {"integers", kInts},
                          {"numbers", kFloats}},
           .infer = infer_host,
           .gradient = gradient_of_host,
           .summary =
               "The C++ function named `function` of the inputs; its output types are stated; "
               "no gradient flows through"}};
}

}  // namespace gradstone
