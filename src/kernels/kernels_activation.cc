// SPDX-License-Identifier: Apache-2.0
// Activations. Exponentials are taken of what is not positive, so that none overflows, and with
// expm1 and log1p, so that small results keep their digits.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/activation_defaults.h"
#include "kernels/elementwise.h"

namespace gradstone::kernels {
namespace {

double number(const KernelCall& call, std::string_view attribute, double fallback) {
  return attribute_or(call.node, attribute, fallback);
}

// Clevert et al. 2016: alpha (e^x - 1) below 0.
template <class T>
Status elu(const KernelCall& call) {
  const T alpha = static_cast<T>(number(call, "alpha", 1.0));
  return unary<T>(call, [&](T x) { return x > 0 ? x : alpha * std::expm1(x); });
}

// Klambauer et al. 2017: gamma times Elu.
template <class T>
Status selu(const KernelCall& call) {
  const double gamma = number(call, "gamma", kSeluGamma);
  const T above = static_cast<T>(gamma);
  const T below = static_cast<T>(gamma * number(call, "alpha", kSeluAlpha));
  return unary<T>(call, [&](T x) { return x > 0 ? above * x : below * std::expm1(x); });
}

template <class T>
Status leaky_relu(const KernelCall& call) {
  const T alpha = static_cast<T>(number(call, "alpha", 0.01));
  return unary<T>(call, [&](T x) { return x > 0 ? x : alpha * x; });
}

// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
template <class T>
Status softplus(const KernelCall& call) {
  return unary<T>(call, [](T x) { return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x))); });
}

template <class T>
Status hard_sigmoid(const KernelCall& call) {
  const T alpha = static_cast<T>(number(call, "alpha", 0.2));
  const T beta = static_cast<T>(number(call, "beta", 0.5));
  return unary<T>(call, [&](T x) {
    const T line = alpha * x + beta;
    return line < 0 ? T(0) : line > 1 ? T(1) : line;
  });
}

// x Phi(x). For negative x, 1 + erf would lose all digits; erfc keeps them.
template <class T>
T gelu_of(T x) {
  return x / 2 * std::erfc(-x / std::numbers::sqrt2_v<T>);
}

// 1 + tanh(u) = 2 / (1 + e^-2u)
template <class T>
T gelu_by_tanh(T x) {
  const T root = std::sqrt(2 * std::numbers::inv_pi_v<T>);
  const T u = root * (x + static_cast<T>(0.044715) * x * x * x);
  const T e = std::exp(-2 * std::abs(u));
  return x * (u >= 0 ? T(1) : e) / (1 + e);
}

template <class T>
Status gelu(const KernelCall& call) {
  return attribute_or(call.node, "approximate", "none") == "tanh"
             ? unary<T>(call, [](T x) { return gelu_by_tanh(x); })
             : unary<T>(call, [](T x) { return gelu_of(x); });
}

// min(max(x, low), high), NaN staying NaN.
Status clip(const KernelCall& call) {
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* low = call.has_input(1) ? call.input<T>(1).data() : nullptr;
    const T* high = call.has_input(2) ? call.input<T>(2).data() : nullptr;
    return unary<T>(call, [&](T x) {
      if (low != nullptr && x < *low) x = *low;
      if (high != nullptr && x > *high) x = *high;
      return x;
    });
  });
}

}  // namespace

std::vector<KernelRow> activation_kernels() {
  return {{"", "Elu", elu<float>, elu<double>},
          {"", "Selu", selu<float>, selu<double>},
          {"", "LeakyRelu", leaky_relu<float>, leaky_relu<double>},
          {"", "Softplus", softplus<float>, softplus<double>},
          {"", "HardSigmoid", hard_sigmoid<float>, hard_sigmoid<double>},
          {"", "Gelu", gelu<float>, gelu<double>},
          {"", "Clip", clip, clip}};
}

}  // namespace gradstone::kernels
