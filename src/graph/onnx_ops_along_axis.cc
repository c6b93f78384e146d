// SPDX-License-Identifier: Apache-2.0
// Operators along one axis that keep or number it: the softmax family, CumSum, ArgMax and ArgMin.
#include "graph/element_types.h"
#include "graph/onnx_ops.h"
#include "graph/rule_parts.h"

namespace gradstone {
namespace {

using enum AttributeKind;

OutputTypes infer_softmax(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_floating(context, 0, "the input"));
  TRY(resolved_axis(attribute_or(context.node, "axis", std::int64_t{-1}), input.shape.size()));
  return std::vector<TensorType>{input};
}

// For each element a comparison (the maximum), a subtraction, an exponential, an addition, and a
// division or for LogSoftmax another subtraction.
std::int64_t softmax_flops(const NodeContext&, std::span<const TensorType> outputs) {
  return saturating_product({5, outputs[0].elements()});
}

// The axis need not be a constant, since no shape depends on it.
OutputTypes infer_cumulative_sum(const NodeContext& context) {
  const TensorType &input = *context.inputs[0], &axis = *context.inputs[1];
  TRY(expect_elements(context, 0, Elements::kWide, "the input"));
  TRY(expect_index_type(axis, "axis"));
  if (axis.elements() != 1) {
    return unreadable("axis has shape " + to_string(axis.shape) + "; expected one number");
  }
  if (context.constants[1] != nullptr) {
    const double value = TRY(constant_number(context, 1, "axis"));
    TRY(resolved_axis(static_cast<std::int64_t>(value), input.shape.size()));
  }
  return std::vector<TensorType>{input};
}

// Each element of x is added to the sums at or after its place, or before it; the adjoint looks the
// other way.
Status gradient_of_cumulative_sum(GradientBuilder& b) {
  Attributes attributes = b.node().attributes;
  attributes["reverse"] =
      std::int64_t{attribute_or(b.node(), "reverse", std::int64_t{0}) == 0 ? 1 : 0};
  b.give(0, b.append("sum", "CumSum", {b.cotangent(), b.input(1)}, attributes));
  return {};
}

OutputTypes infer_place(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_elements(context, 0, Elements::kNumbers, "the input"));
  const std::size_t axis =
      TRY(resolved_axis(attribute_or(context.node, "axis", std::int64_t{0}), input.shape.size()));
  Shape shape = input.shape;
  shape[axis] = 1;
  if (attribute_or(context.node, "keepdims", std::int64_t{1}) == 0) {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  return std::vector<TensorType>{{DType::kInt64, shape}};
}

OpDef place_row(std::string_view name, std::string_view summary) {
  return {.name = name,
          .attributes = {{"axis", kInt}, {"keepdims", kInt}, {"select_last_index", kInt}},
          .infer = infer_place,
          .flops = one_per_input_element,
          .summary = summary};
}

}  // namespace

std::vector<OpDef> along_axis_rows() {
  return {
      {.name = "Softmax",
       .attributes = {{"axis", kInt}},
       .infer = infer_softmax,
       .flops = softmax_flops,
       .gradient = gradient_of_softmax,
       .summary = "exp(x) / sum of exp(x) along `axis` (-1)"},
      {.name = "LogSoftmax",
       .attributes = {{"axis", kInt}},
       .infer = infer_softmax,
       .flops = softmax_flops,
       .gradient = gradient_of_log_softmax,
       .summary = "Logarithm of Softmax"},
      {.name = "CumSum",
       .min_inputs = 2,
       .max_inputs = 2,
       .attributes = {{"exclusive", kInt}, {"reverse", kInt}},
       .infer = infer_cumulative_sum,
       .flops = one_per_element,
       .gradient = gradient_of_cumulative_sum,
       .summary = "Sum of the elements up to each place along the axis of the second input; "
                  "exclusive: without its own; reverse: from the end"},
      place_row("ArgMax",
                "Place of the maximum along `axis` (0), of several the first, or the last "
                "with select_last_index"),
      place_row("ArgMin",
                "Place of the minimum along `axis` (0), of several the first, or the last "
                "with select_last_index"),
  };
}

}  // namespace gradstone
