// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic, and Where, which chooses by them. Only Where has a gradient: truth has none.
#include "graph/element_types.h"
#include "graph/onnx_ops.h"
#include "graph/rule_parts.h"

namespace gradstone {
namespace {

using enum AttributeKind;
using Infer = OutputTypes (*)(const NodeContext&);

// A comparison is an operation; logic of truth values is none.
OpDef comparison(std::string_view name, Infer infer, std::string_view summary) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = infer,
          .flops = one_per_element,
          .summary = summary};
}

OpDef logic(std::string_view name, std::string_view summary) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = infer_broadcast<Elements::kBool>,
          .summary = summary};
}

OutputTypes infer_number_test(const NodeContext& context) {
  TRY(expect_floating(context, 0, "the input"));
  return std::vector<TensorType>{{DType::kBool, context.inputs[0]->shape}};
}

OutputTypes infer_where(const NodeContext& context) {
  TRY(expect_elements(context, 0, Elements::kBool, "the condition"));
  return std::vector<TensorType>{
      TRY(broadcast_inputs(context, 1, Elements::kAny, context.inputs[0]->shape))};
}

Status gradient_of_where(GradientBuilder& b) {
  const std::string g = b.cotangent(), zero = number_like(b, 0, g);
  if (b.wants(1)) give_summed(b, 1, select(b, b.input(0), g, zero));
  if (b.wants(2)) give_summed(b, 2, select(b, b.input(0), zero, g));
  return {};
}

}  // namespace

std::vector<OpDef> logic_rows() {
  return {
      comparison("Equal", infer_comparison<Elements::kAny>, "a == b, broadcast"),
      comparison("Greater", infer_comparison<Elements::kNumbers>, "a > b, broadcast"),
      comparison("GreaterOrEqual", infer_comparison<Elements::kNumbers>, "a >= b, broadcast"),
      comparison("Less", infer_comparison<Elements::kNumbers>, "a < b, broadcast"),
      comparison("LessOrEqual", infer_comparison<Elements::kNumbers>, "a <= b, broadcast"),
      {.name = "IsInf",
       .attributes = {{"detect_negative", kInt}, {"detect_positive", kInt}},
       .infer = infer_number_test,
       .flops = one_per_element,
       .summary = "Whether x is infinite, of a sign that is detected (both by default)"},
      {.name = "IsNaN",
       .infer = infer_number_test,
       .flops = one_per_element,
       .summary = "Whether x is no number"},
      logic("And", "a and b, broadcast"),
      logic("Or", "a or b, broadcast"),
      logic("Xor", "Either a or b, broadcast"),
      {.name = "Not", .infer = infer_like_first<Elements::kBool>, .summary = "not x"},
      {.name = "Where",
       .min_inputs = 3,
       .max_inputs = 3,
       .infer = infer_where,
       .gradient = gradient_of_where,
       .summary =
           "The second input where the first, a condition, holds, else the third; broadcast"},
  };
}

}  // namespace gradstone
