// SPDX-License-Identifier: Apache-2.0
// Functions of single numbers beside the arithmetic of onnx_ops_elementwise.cc, and those of any
// number of operands.
#include <cmath>
#include <numbers>

#include "graph/element_types.h"
#include "graph/onnx_ops.h"
#include "graph/rule_parts.h"

namespace gradstone {
namespace {

using enum AttributeKind;
using Gradient = Status (*)(GradientBuilder&);
using Infer = OutputTypes (*)(const NodeContext&);

// At 0 nothing flows.
Status gradient_of_abs(GradientBuilder& b) {
  b.give(0, b.mul(b.cotangent(), apply(b, "Sign", b.input(0))));
  return {};
}

// erf' = 2 / sqrt(pi) e^(-x^2)
Status gradient_of_erf(GradientBuilder& b) {
  const std::string x = b.input(0);
  const std::string bell = apply(b, "Exp", b.neg(b.mul(x, x)));
  b.give(0, b.mul(b.cotangent(), b.scale(bell, 2 * std::numbers::inv_sqrtpi)));
  return {};
}

Status gradient_of_sin(GradientBuilder& b) {
  b.give(0, b.mul(b.cotangent(), apply(b, "Cos", b.input(0))));
  return {};
}

Status gradient_of_cos(GradientBuilder& b) {
  b.give(0, b.neg(b.mul(b.cotangent(), apply(b, "Sin", b.input(0)))));
  return {};
}

Status gradient_of_sinh(GradientBuilder& b) {
  b.give(0, b.mul(b.cotangent(), apply(b, "Cosh", b.input(0))));
  return {};
}

Status gradient_of_cosh(GradientBuilder& b) {
  b.give(0, b.mul(b.cotangent(), apply(b, "Sinh", b.input(0))));
  return {};
}

// tan' = 1 + tan^2
Status gradient_of_tan(GradientBuilder& b) {
  const std::string slope = b.offset(b.mul(b.output(0), b.output(0)), 1);
  b.give(0, b.mul(b.cotangent(), slope));
  return {};
}

// The inverse functions have slopes 1 / q or 1 / sqrt(q), with q = sign x^2 + constant
// (Abramowitz and Stegun, 4.4.52-54 and 4.6.37-39).
std::string quadratic(GradientBuilder& b, double sign, double constant) {
  return b.offset(b.scale(b.mul(b.input(0), b.input(0)), sign), constant);
}

Status give_over_root(GradientBuilder& b, double sign, double constant) {
  b.give(0, b.div(b.cotangent(), apply(b, "Sqrt", quadratic(b, sign, constant))));
  return {};
}

Status gradient_of_asin(GradientBuilder& b) { return give_over_root(b, -1, 1); }
Status gradient_of_asinh(GradientBuilder& b) { return give_over_root(b, 1, 1); }
Status gradient_of_acosh(GradientBuilder& b) { return give_over_root(b, 1, -1); }

Status gradient_of_acos(GradientBuilder& b) {
  const std::string root = apply(b, "Sqrt", quadratic(b, -1, 1));
  b.give(0, b.neg(b.div(b.cotangent(), root)));
  return {};
}

Status gradient_of_atan(GradientBuilder& b) {
  b.give(0, b.div(b.cotangent(), quadratic(b, 1, 1)));
  return {};
}

Status gradient_of_atanh(GradientBuilder& b) {
  b.give(0, b.div(b.cotangent(), quadratic(b, -1, 1)));
  return {};
}

OutputTypes infer_mod(const NodeContext& context) {
  const bool floating = is_floating(context.inputs[0]->dtype);
  if (floating && attribute_or(context.node, "fmod", std::int64_t{0}) == 0) {
    return unreadable("fmod = 0 is for integers; floating types need fmod = 1");
  }
  return infer_broadcast<Elements::kNumbers>(context);
}

// a - b trunc(a / b)
Status gradient_of_mod(GradientBuilder& b) {
  const std::string g = b.cotangent();
  if (b.wants(0)) give_summed(b, 0, g);
  if (!b.wants(1)) return {};
  const std::string quotient = b.div(b.input(0), b.input(1));
  const std::string whole = apply(b, "Floor", apply(b, "Abs", quotient));
  give_summed(b, 1, b.neg(b.mul(g, b.mul(apply(b, "Sign", quotient), whole))));
  return {};
}

// Operands that equal the extremum share its cotangent evenly.
Status gradient_of_extremum(GradientBuilder& b) {
  const std::string g = b.cotangent();
  const DType dtype = b.type_of(g).dtype;
  std::vector<std::string> taken;
  std::string count;
  for (std::size_t i = 0; i < b.node().inputs.size(); ++i) {
    taken.push_back(b.append("taken", "Equal", {b.input(i), b.output(0)}));
    const std::string one = b.cast(taken.back(), dtype);
    count = count.empty() ? one : b.add(count, one);
  }
  const std::string share = b.div(g, count);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (b.wants(i)) give_summed(b, i, masked(b, taken[i], share));
  }
  return {};
}

Status give_all(GradientBuilder& b, const std::string& g) {
  for (std::size_t i = 0; i < b.node().inputs.size(); ++i) {
    if (b.wants(i)) give_summed(b, i, g);
  }
  return {};
}

Status gradient_of_sum(GradientBuilder& b) { return give_all(b, b.cotangent()); }

Status gradient_of_mean(GradientBuilder& b) {
  return give_all(b, b.scale(b.cotangent(), 1 / static_cast<double>(b.node().inputs.size())));
}

// Between n operands n - 1 operations an element.
std::int64_t folding_flops(const NodeContext& context, std::span<const TensorType> outputs) {
  const auto operands = static_cast<std::int64_t>(context.inputs.size());
  return saturating_product({operands - 1, outputs[0].elements()});
}

// And a division.
std::int64_t mean_flops(const NodeContext& context, std::span<const TensorType> outputs) {
  const auto operands = static_cast<std::int64_t>(context.inputs.size());
  return saturating_product({operands, outputs[0].elements()});
}

OpDef function(std::string_view name, Gradient gradient, std::string_view summary,
               Infer infer = infer_like_first<Elements::kFloating>) {
  return {.name = name,
          .infer = infer,
          .flops = one_per_element,
          .gradient = gradient,
          .summary = summary};
}

OpDef variadic(std::string_view name, Infer infer, Gradient gradient, std::string_view summary) {
  return {.name = name,
          .max_inputs = kVariadic,
          .infer = infer,
          .flops = folding_flops,
          .gradient = gradient,
          .summary = summary};
}

std::vector<OpDef> trigonometry() {
  return {
      function("Sin", gradient_of_sin, "Sine"),
      function("Cos", gradient_of_cos, "Cosine"),
      function("Tan", gradient_of_tan, "Tangent"),
      function("Asin", gradient_of_asin, "Inverse of the sine"),
      function("Acos", gradient_of_acos, "Inverse of the cosine"),
      function("Atan", gradient_of_atan, "Inverse of the tangent"),
      function("Sinh", gradient_of_sinh, "Hyperbolic sine"),
      function("Cosh", gradient_of_cosh, "Hyperbolic cosine"),
      function("Asinh", gradient_of_asinh, "Inverse of the hyperbolic sine"),
      function("Acosh", gradient_of_acosh, "Inverse of the hyperbolic cosine"),
      function("Atanh", gradient_of_atanh, "Inverse of the hyperbolic tangent"),
  };
}

}  // namespace

std::vector<OpDef> math_rows() {
  std::vector<OpDef> rows = trigonometry();
  rows.insert(
      rows.end(),
      {function("Abs", gradient_of_abs, "|x|", infer_like_first<Elements::kNumbers>),
       function("Sign", gradient_is_zero, "-1, 0 or 1", infer_like_first<Elements::kNumbers>),
       function("Erf", gradient_of_erf, "Error function"),
       function("Ceil", gradient_is_zero, "The least whole number not below x"),
       function("Floor", gradient_is_zero, "The greatest whole number not above x"),
       function("Round", gradient_is_zero, "The nearest whole number, of two the even one"),
       {.name = "Mod",
        .min_inputs = 2,
        .max_inputs = 2,
        .attributes = {{"fmod", kInt}},
        .infer = infer_mod,
        .flops = one_per_element,
        .gradient = gradient_of_mod,
        .summary = "Remainder of a / b with the sign of b; with fmod = 1 that of a. Broadcast"},
       variadic("Max", infer_broadcast<Elements::kNumbers>, gradient_of_extremum,
                "Largest of the inputs, broadcast"),
       variadic("Min", infer_broadcast<Elements::kNumbers>, gradient_of_extremum,
                "Smallest of the inputs, broadcast"),
       variadic("Sum", infer_broadcast<Elements::kFloating>, gradient_of_sum,
                "Sum of the inputs, broadcast"),
       variadic("Mean", infer_broadcast<Elements::kFloating>, gradient_of_mean,
                "Mean of the inputs, broadcast")});
  rows.back().flops = mean_flops;
  return rows;
}

}  // namespace gradstone
