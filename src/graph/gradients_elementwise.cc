// SPDX-License-Identifier: Apache-2.0
// Rules of operators that work on each element by itself. g is the cotangent of the output y.
#include "graph/gradients.h"
#include "graph/rule_parts.h"

namespace gradstone {
namespace {

// The value that every element of a constant has.
std::optional<double> uniform_value(const Tensor* constant) {
  if (!constant || constant->type().elements() == 0) return std::nullopt;
  const double first = element_as_double(constant->ref(), 0);
  for (std::int64_t i = 1; i < constant->type().elements(); ++i) {
    if (element_as_double(constant->ref(), i) != first) return std::nullopt;
  }
  return first;
}

}  // namespace

Status gradient_of_add(GradientBuilder& b) {
  const std::string g = b.cotangent();
  if (b.wants(0)) give_summed(b, 0, g);
  if (b.wants(1)) give_summed(b, 1, g);
  return {};
}

Status gradient_of_sub(GradientBuilder& b) {
  const std::string g = b.cotangent();
  if (b.wants(0)) give_summed(b, 0, g);
  if (b.wants(1)) b.give(1, b.neg(b.sum_to(g, b.shape_of(b.input(1)))));
  return {};
}

Status gradient_of_mul(GradientBuilder& b) {
  const std::string g = b.cotangent();
  if (b.wants(0)) give_summed(b, 0, b.mul(g, b.input(1)));
  if (b.wants(1)) give_summed(b, 1, b.mul(g, b.input(0)));
  return {};
}

// d(a/b) = g/b, -(g/b) y
Status gradient_of_div(GradientBuilder& b) {
  const std::string quotient = b.div(b.cotangent(), b.input(1));
  if (b.wants(0)) give_summed(b, 0, quotient);
  if (b.wants(1)) give_summed(b, 1, b.neg(b.mul(quotient, b.output(0))));
  return {};
}

// d(x^p) = g p x^(p-1), g y log x. A constant exponent is treated apart so that x = 0 gives no NaN:
// the zeroth power has no gradient, the first is the identity. Other exponents are looked at one by
// one: nothing flows to x where p = 0, nor to p where x = 0.
Status gradient_of_pow(GradientBuilder& b) {
  const std::string g = b.cotangent(), x = b.input(0);
  const DType dtype = b.type_of(x).dtype;
  const std::string p = b.cast(b.input(1), dtype);
  if (const std::optional<double> power = uniform_value(b.constant(1)); power && b.wants(0)) {
    if (*power == 0) return {};
    const std::string slope =
        *power == 1   ? g
        : *power == 2 ? b.mul(g, x)
                      : b.mul(g, b.append("pow", "Pow", {x, b.scalar(*power - 1, dtype)}));
    give_summed(b, 0, b.scale(slope, *power));
  } else if (b.wants(0)) {
    const std::string none = b.append("none", "Equal", {p, b.scalar(0, dtype)});
    const std::string below = select(b, none, b.scalar(0, dtype), b.offset(p, -1));
    give_summed(b, 0, b.mul(g, b.mul(p, b.append("pow", "Pow", {x, below}))));
  }
  if (b.wants(1)) {
    const std::string none = b.append("none", "Equal", {x, b.scalar(0, dtype)});
    const std::string logarithm = apply(b, "Log", select(b, none, b.scalar(1, dtype), x));
    const std::string of_power =
        b.sum_to(b.mul(g, b.mul(b.output(0), logarithm)), Shape(b.shape_of(p)));
    b.give(1, b.cast(of_power, b.type_of(b.input(1)).dtype));
  }
  return {};
}

Status gradient_of_neg(GradientBuilder& b) {
  b.give(0, b.neg(b.cotangent()));
  return {};
}

Status gradient_of_exp(GradientBuilder& b) {
  b.give(0, b.mul(b.cotangent(), b.output(0)));
  return {};
}

Status gradient_of_log(GradientBuilder& b) {
  b.give(0, b.div(b.cotangent(), b.input(0)));
  return {};
}

Status gradient_of_sqrt(GradientBuilder& b) {
  b.give(0, b.div(b.scale(b.cotangent(), 0.5), b.output(0)));
  return {};
}

Status gradient_of_reciprocal(GradientBuilder& b) {
  const std::string square = b.mul(b.output(0), b.output(0));
  b.give(0, b.neg(b.mul(b.cotangent(), square)));
  return {};
}

Status gradient_of_relu(GradientBuilder& b) {
  const std::string step = b.append("step", "HeavisideStep", {b.input(0)});
  b.give(0, b.mul(b.cotangent(), step));
  return {};
}

// g (1 - y^2)
Status gradient_of_tanh(GradientBuilder& b) {
  const std::string square = b.mul(b.output(0), b.output(0));
  const std::string one = b.scalar(1, b.type_of(square).dtype);
  b.give(0, b.mul(b.cotangent(), b.sub(one, square)));
  return {};
}

// g y (1 - y)
Status gradient_of_sigmoid(GradientBuilder& b) {
  const std::string y = b.output(0);
  const std::string one = b.scalar(1, b.type_of(y).dtype);
  b.give(0, b.mul(b.cotangent(), b.mul(y, b.sub(one, y))));
  return {};
}

Status gradient_of_identity(GradientBuilder& b) {
  b.give(0, b.cotangent());
  return {};
}

Status gradient_of_cast(GradientBuilder& b) {
  b.give(0, b.cast(b.cotangent(), b.type_of(b.input(0)).dtype));
  return {};
}

// The mask that the forward pass drew, times 1 / (1 - ratio).
Status gradient_of_dropout(GradientBuilder& b) {
  const std::string g = b.cotangent();
  if (uniform_value(b.constant(2)).value_or(0) == 0) {  // inference
    b.give(0, g);
    return {};
  }
  const double ratio = uniform_value(b.constant(1)).value_or(0.5);
  const std::string mask = b.cast(b.output(1), b.type_of(g).dtype);
  b.give(0, b.mul(g, b.scale(mask, 1 / (1 - ratio))));
  return {};
}

Status gradient_of_heaviside_step(GradientBuilder&) { return {}; }

}  // namespace gradstone
