// SPDX-License-Identifier: Apache-2.0
// Operators that work on each element by itself: arithmetic, activations, comparisons and logic.
#include "engines/torch/lowering_forms.h"
#include "engines/torch/support.h"
#include "graph/activation_defaults.h"

namespace gradstone::torch_engine {
namespace {

// Of functions that need neither attributes nor a look at the types.
template <at::Tensor (*kFunction)(const at::Tensor&)>
Result<Step> lower_unary(const LoweringContext& context) {
  return unary(context, [](const at::Tensor& x) { return kFunction(x); });
}
template <at::Tensor (*kFunction)(const at::Tensor&, const at::Tensor&)>
Result<Step> lower_binary(const LoweringContext& context) {
  return binary(context, [](const at::Tensor& a, const at::Tensor& b) { return kFunction(a, b); });
}

bool floating_first(const LoweringContext& context) {
  return is_floating(context.input_type(0).dtype);
}

// --- Arithmetic

Result<Step> lower_identity(const LoweringContext& context) {
  return unary(context, [](const at::Tensor& x) { return x; });
}
// Through int64, as the reference converts floating numbers to narrow integers.
Result<Step> lower_cast(const LoweringContext& context) {
  const DType target = context.output_types[0].dtype;
  const at::ScalarType type = scalar_type(target);
  const bool narrows = floating_first(context) && !is_floating(target) && target != DType::kBool;
  if (narrows) return unary(context, [=](const at::Tensor& x) { return x.to(at::kLong).to(type); });
  return unary(context, [=](const at::Tensor& x) { return x.to(type); });
}

// The sum may take the place of the first term if it has its shape.
bool fits_first(const LoweringContext& context) {
  return context.may_overwrite_first && context.input_type(0) == context.output_types[0];
}
Result<Step> lower_add(const LoweringContext& context) {
  if (fits_first(context)) {
    return binary(context, [](at::Tensor& a, const at::Tensor& b) { return a.add_(b); });
  }
  return binary(context, [](const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); });
}
Result<Step> lower_sub(const LoweringContext& context) {
  return binary(context, [](const at::Tensor& a, const at::Tensor& b) { return at::sub(a, b); });
}
Result<Step> lower_div(const LoweringContext& context) {
  if (floating_first(context)) {
    return binary(context, [](const at::Tensor& a, const at::Tensor& b) { return at::div(a, b); });
  }
  return binary(context, [](const at::Tensor& a, const at::Tensor& b) {
    return at::div(a, b, c10::string_view("trunc"));
  });
}
Result<Step> lower_mod(const LoweringContext& context) {
  if (has_flag(context.node(), "fmod")) {
    return binary(context, [](const at::Tensor& a, const at::Tensor& b) { return at::fmod(a, b); });
  }
  return binary(context,
                [](const at::Tensor& a, const at::Tensor& b) { return at::remainder(a, b); });
}

// The power has the base's type, whatever the exponent's.
Result<Step> lower_pow(const LoweringContext& context) {
  const bool floating = floating_first(context);
  const at::ScalarType type = scalar_type(context.input_type(0).dtype);
  const Tensor* constant = context.rules.constants[1];
  if (floating && constant != nullptr && constant->type().elements() == 1 &&
      context.output_shape() == context.input_shape(0)) {
    const double power = element_as_double(constant->ref(), 0);
    return unary(context, [=](const at::Tensor& x) { return at::pow(x, power); });
  }
  if (!floating && is_floating(context.input_type(1).dtype)) {
    return binary(context, [=](const at::Tensor& a, const at::Tensor& b) {
      return at::pow(a.to(at::kDouble), b.to(at::kDouble)).to(at::kLong).to(type);
    });
  }
  return binary(context,
                [=](const at::Tensor& a, const at::Tensor& b) { return at::pow(a, b.to(type)); });
}

// y = f(...f(f(x0, x1), x2)...)
template <class Function>
Step folded(const LoweringContext& context, Function function) {
  const std::vector<Slot> inputs = context.inputs;
  const Slot y = context.output(0);
  return [=](at::Tensor* v) {
    at::Tensor result = v[inputs[0]];
    for (std::size_t i = 1; i < inputs.size(); ++i) result = function(result, v[inputs[i]]);
    v[y] = result;
  };
}
Result<Step> lower_sum(const LoweringContext& context) {
  return folded(context, [](const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); });
}
Result<Step> lower_mean(const LoweringContext& context) {
  const Step sum = TRY(lower_sum(context));
  const auto count = static_cast<double>(context.inputs.size());
  const Slot y = context.output(0);
  return Step([=](at::Tensor* v) {
    sum(v);
    v[y] = v[y] / count;
  });
}
// Of two operands ATen halves the gradient where they are equal; of more, one after the other, it
// would not share it evenly.
template <at::Tensor (*kOfTwo)(const at::Tensor&, const at::Tensor&),
          at::Tensor (*kOfAxis)(const at::Tensor&, at::IntArrayRef, bool)>
Result<Step> lower_extremum(const LoweringContext& context) {
  if (context.inputs.size() <= 2) return folded(context, kOfTwo);
  const std::vector<Slot> inputs = context.inputs;
  const Slot y = context.output(0);
  return Step([=](at::Tensor* v) {
    std::vector<at::Tensor> operands;
    for (const Slot input : inputs) operands.push_back(v[input]);
    v[y] = kOfAxis(at::stack(at::broadcast_tensors(operands)), {0}, false);
  });
}

// --- Activations

double number(const LoweringContext& context, std::string_view attribute, double fallback) {
  return attribute_or(context.node(), attribute, fallback);
}

Result<Step> lower_relu(const LoweringContext& context) {
  if (context.may_overwrite_first) return unary(context, [](at::Tensor& x) { return x.relu_(); });
  return lower_unary<at::relu>(context);
}
Result<Step> lower_elu(const LoweringContext& context) {
  const double alpha = number(context, "alpha", 1.0);
  return unary(context, [=](const at::Tensor& x) { return at::elu(x, alpha); });
}
// Not at::selu, whose constants are its own.
Result<Step> lower_selu(const LoweringContext& context) {
  const double alpha = number(context, "alpha", kSeluAlpha);
  const double gamma = number(context, "gamma", kSeluGamma);
  return unary(context, [=](const at::Tensor& x) { return at::elu(x, alpha, gamma); });
}
Result<Step> lower_celu(const LoweringContext& context) {
  const double alpha = number(context, "alpha", 1.0);
  return unary(context, [=](const at::Tensor& x) { return at::celu(x, alpha); });
}
Result<Step> lower_leaky_relu(const LoweringContext& context) {
  const double alpha = number(context, "alpha", 0.01);
  return unary(context, [=](const at::Tensor& x) { return at::leaky_relu(x, alpha); });
}
Result<Step> lower_thresholded_relu(const LoweringContext& context) {
  const double alpha = number(context, "alpha", 1.0);
  return unary(context, [=](const at::Tensor& x) { return at::threshold(x, alpha, 0); });
}
Result<Step> lower_gelu(const LoweringContext& context) {
  const std::string approximate = attribute_or(context.node(), "approximate", "none");
  return unary(context, [=](const at::Tensor& x) { return at::gelu(x, approximate); });
}
// Above 40 log(1 + e^x) is x in float64, too; ATen's own threshold, 20, is one for float32.
Result<Step> lower_softplus(const LoweringContext& context) {
  return unary(context, [](const at::Tensor& x) { return at::softplus(x, 1, 40); });
}
Result<Step> lower_softsign(const LoweringContext& context) {
  return unary(context, [](const at::Tensor& x) { return x / (x.abs() + 1); });
}
// at::hardsigmoid is that of slope 1/6, and its gradient is good to float32 only. at::hardtanh rather
// than a clamp: no gradient at the bounds.
Result<Step> lower_hard_sigmoid(const LoweringContext& context) {
  const double alpha = number(context, "alpha", 0.2), beta = number(context, "beta", 0.5);
  const bool single = context.input_type(0).dtype == DType::kFloat32;
  if (single && static_cast<float>(alpha) == 1.0F / 6 && beta == 0.5) {
    return lower_unary<at::hardsigmoid>(context);
  }
  return unary(context, [=](const at::Tensor& x) { return at::hardtanh(x * alpha + beta, 0, 1); });
}

// Slopes that ATen's own can express are one for all or one a channel.
Result<Step> lower_prelu(const LoweringContext& context) {
  const Shape &x = context.input_shape(0), &slope = context.input_shape(1);
  const std::int64_t slopes = element_count(slope);
  const bool channels = x.size() >= 2 && slope.size() == x.size() - 1 && slope[0] == x[1];
  if (floating_first(context) && (slopes == 1 || (channels && slopes == x[1]))) {
    return binary(context, [=](const at::Tensor& in, const at::Tensor& weight) {
      return at::prelu(in, weight.reshape({slopes}));
    });
  }
  return binary(context, [](const at::Tensor& in, const at::Tensor& weight) {
    return at::where(in.gt(0), in, in * weight);
  });
}

at::Scalar scalar_of(const Tensor& constant) {
  if (is_floating(constant.type().dtype)) return element_as_double(constant.ref(), 0);
  return converted(constant.ref(), DType::kInt64).as<std::int64_t>()[0];
}

Result<Step> lower_clip(const LoweringContext& context) {
  const Slot x = context.input(0), y = context.output(0);
  const Slot low = context.input(1), high = context.input(2);
  if (low == kAbsent && high == kAbsent) return lower_identity(context);
  const auto known = [&](std::size_t i) {
    return context.input(i) == kAbsent || context.rules.constants[i] != nullptr;
  };
  if (!known(1) || !known(2)) {
    return Step([=](at::Tensor* v) {
      at::Tensor clipped = v[x];
      if (low != kAbsent) clipped = at::clamp_min(clipped, v[low].reshape({}));
      if (high != kAbsent) clipped = at::clamp_max(clipped, v[high].reshape({}));
      v[y] = clipped;
    });
  }
  if (high == kAbsent) {
    const at::Scalar least = scalar_of(*context.rules.constants[1]);
    return Step([=](at::Tensor* v) { v[y] = at::clamp_min(v[x], least); });
  }
  const at::Scalar most = scalar_of(*context.rules.constants[2]);
  if (low == kAbsent) return Step([=](at::Tensor* v) { v[y] = at::clamp_max(v[x], most); });
  const at::Scalar least = scalar_of(*context.rules.constants[1]);
  return Step([=](at::Tensor* v) { v[y] = at::clamp(v[x], least, most); });
}

// --- Comparisons and logic

Result<Step> lower_is_inf(const LoweringContext& context) {
  const bool negative = has_flag(context.node(), "detect_negative", true);
  const bool positive = has_flag(context.node(), "detect_positive", true);
  return unary(context, [=](const at::Tensor& x) {
    at::Tensor found = at::isinf(x);
    if (!negative) found = found.logical_and(x.gt(0));
    if (!positive) found = found.logical_and(x.lt(0));
    return found;
  });
}
Result<Step> lower_where(const LoweringContext& context) {
  return ternary(context, [](const at::Tensor& condition, const at::Tensor& a,
                             const at::Tensor& b) { return at::where(condition, a, b); });
}

std::vector<Lowering> arithmetic() {
  return {
      {"Identity", lower_identity},
      {"Cast", lower_cast},
      {"Add", lower_add, true},
      {"Sub", lower_sub, true},
      {"Mul", lower_binary<at::mul>},
      {"Div", lower_div},
      {"Mod", lower_mod},
      {"Pow", lower_pow},
      {"Sum", lower_sum},
      {"Mean", lower_mean},
      {"Max", lower_extremum<at::maximum, at::amax>},
      {"Min", lower_extremum<at::minimum, at::amin>},
      {"Abs", lower_unary<at::abs>},
      {"Acos", lower_unary<at::acos>},
      {"Acosh", lower_unary<at::acosh>},
      {"Asin", lower_unary<at::asin>},
      {"Asinh", lower_unary<at::asinh>},
      {"Atan", lower_unary<at::atan>},
      {"Atanh", lower_unary<at::atanh>},
      {"Ceil", lower_unary<at::ceil>},
      {"Cos", lower_unary<at::cos>},
      {"Cosh", lower_unary<at::cosh>},
      {"Erf", lower_unary<at::erf>},
      {"Exp", lower_unary<at::exp>},
      {"Floor", lower_unary<at::floor>},
      {"Log", lower_unary<at::log>},
      {"Neg", lower_unary<at::neg>},
      {"Reciprocal", lower_unary<at::reciprocal>},
      {"Round", lower_unary<at::round>},  // of two nearest the even one, as ONNX
      {"Sign", lower_unary<at::sign>},
      {"Sin", lower_unary<at::sin>},
      {"Sinh", lower_unary<at::sinh>},
      {"Sqrt", lower_unary<at::sqrt>},
      {"Tan", lower_unary<at::tan>},
  };
}

std::vector<Lowering> activations() {
  return {
      {"Relu", lower_relu},
      {"Tanh", lower_unary<at::tanh>},
      {"Sigmoid", lower_unary<at::sigmoid>},
      {"Elu", lower_elu},
      {"Selu", lower_selu},
      {"Celu", lower_celu},
      {"LeakyRelu", lower_leaky_relu},
      {"PRelu", lower_prelu},
      {"ThresholdedRelu", lower_thresholded_relu},
      {"Gelu", lower_gelu},
      {"Softplus", lower_softplus},
      {"Softsign", lower_softsign},
      {"HardSigmoid", lower_hard_sigmoid},
      {"HardSwish", lower_unary<at::hardswish>},
      {"Mish", lower_unary<at::mish>},
      {"Clip", lower_clip},
  };
}

std::vector<Lowering> logic() {
  return {
      {"Equal", lower_binary<at::eq>},          {"Greater", lower_binary<at::gt>},
      {"GreaterOrEqual", lower_binary<at::ge>}, {"Less", lower_binary<at::lt>},
      {"LessOrEqual", lower_binary<at::le>},    {"And", lower_binary<at::logical_and>},
      {"Or", lower_binary<at::logical_or>},     {"Xor", lower_binary<at::logical_xor>},
      {"Not", lower_unary<at::logical_not>},    {"IsInf", lower_is_inf},
      {"IsNaN", lower_unary<at::isnan>},        {"Where", lower_where},
  };
}

}  // namespace

const std::vector<Lowering>& elementwise_lowerings() {
  static const std::vector<Lowering> rows = joined({arithmetic(), activations(), logic()});
  return rows;
}

}  // namespace gradstone::torch_engine
