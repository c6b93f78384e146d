// SPDX-License-Identifier: Apache-2.0
// Operators that compute each element of the output from one element of each input.
#include <cmath>
#include <type_traits>

#include "graph/element_conversion.h"
#include "kernels/elementwise.h"

namespace gradstone::kernels {
namespace {

Status relu(const KernelCall& call) {
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    return unary<T>(call, [](T x) { return x > 0 ? x : T(0); });
  });
}

template <class T>
Status heaviside_step(const KernelCall& call) {
  return unary<T>(call, [](T x) { return x > 0 ? T(1) : T(0); });
}

template <class T>
Status hyperbolic_tangent(const KernelCall& call) {
  return unary<T>(call, [](T x) { return std::tanh(x); });
}

// The exponential never overflows: its argument is not positive.
template <class T>
Status sigmoid(const KernelCall& call) {
  return unary<T>(call, [](T x) {
    const T e = std::exp(-std::abs(x));
    return (x >= 0 ? T(1) : e) / (1 + e);
  });
}

template <class T>
Status exponential(const KernelCall& call) {
  return unary<T>(call, [](T x) { return std::exp(x); });
}

template <class T>
Status logarithm(const KernelCall& call) {
  return unary<T>(call, [](T x) { return std::log(x); });
}

template <class T>
Status square_root(const KernelCall& call) {
  return unary<T>(call, [](T x) { return std::sqrt(x); });
}

template <class T>
Status reciprocal(const KernelCall& call) {
  return unary<T>(call, [](T x) { return 1 / x; });
}

template <class Function>
Status arithmetic(const KernelCall& call, Function function) {
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    using Wrapping = typename WrappingOf<T>::Type;
    return binary<T>(call, [&](T a, T b) {
      return static_cast<T>(function(static_cast<Wrapping>(a), static_cast<Wrapping>(b)));
    });
  });
}

Status add(const KernelCall& call) {
  return arithmetic(call, [](auto a, auto b) { return a + b; });
}

Status subtract(const KernelCall& call) {
  return arithmetic(call, [](auto a, auto b) { return a - b; });
}

Status multiply(const KernelCall& call) {
  return arithmetic(call, [](auto a, auto b) { return a * b; });
}

Status negate(const KernelCall& call) {
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    using Wrapping = typename WrappingOf<T>::Type;
    return unary<T>(call, [](T x) { return static_cast<T>(-static_cast<Wrapping>(x)); });
  });
}

Status divide(const KernelCall& call) {
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      for (const T divisor : call.input<T>(1)) {
        if (divisor == 0) return failed("integer division by zero");
      }
      // The quotient by -1 is taken apart: that of the least integer would overflow.
      return binary<T>(call, [](T a, T b) {
        using Wrapping = typename WrappingOf<T>::Type;
        return std::is_signed_v<T> && b == static_cast<T>(-1)
                   ? static_cast<T>(Wrapping(0) - static_cast<Wrapping>(a))
                   : static_cast<T>(a / b);
      });
    } else {
      return binary<T>(call, [](T a, T b) { return a / b; });
    }
  });
}

// x^n by repeated squaring, wrapping around. 1 / x^-n towards zero for negative n.
template <class T>
T integer_power(T x, std::int64_t n) {
  if (n < 0) return x == 1 ? T(1) : static_cast<T>(x == T(-1) ? (n % 2 == 0 ? 1 : -1) : 0);
  std::uint64_t result = 1;
  for (auto square = static_cast<std::uint64_t>(x); n > 0; n /= 2, square *= square) {
    if (n % 2 == 1) result *= square;
  }
  return static_cast<T>(result);
}

template <class T, class P>
T power_of(T x, P p) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<P>) {
    return integer_power(x, p);
  } else if constexpr (std::is_same_v<T, P>) {
    return p == 2 ? x * x : std::pow(x, p);
  } else {
    return converted_element<T>(std::pow(static_cast<double>(x), static_cast<double>(p)));
  }
}

Status refuse_powers_of_zero(const KernelCall& call) {
  const DType base = call.inputs[0].type.dtype, exponent = call.inputs[1].type.dtype;
  if (is_floating(base) || is_floating(exponent)) return {};
  const auto holds = [&](std::size_t input, auto test) {
    for (std::int64_t i = 0; i < call.inputs[input].type.elements(); ++i) {
      if (test(element_as_double(call.inputs[input], i))) return true;
    }
    return false;
  };
  if (holds(0, [](double x) { return x == 0; }) && holds(1, [](double p) { return p < 0; })) {
    return failed("an integer base of zero and a negative exponent");
  }
  return {};
}

Status power(const KernelCall& call) {
  TRY(refuse_powers_of_zero(call));
  return with_number_type(call.inputs[0].type.dtype, [&](auto base) {
    return with_number_type(call.inputs[1].type.dtype, [&](auto exponent) {
      using T = decltype(base);
      using P = decltype(exponent);
      return binary<T, P, T>(call, [](T x, P p) { return power_of(x, p); });
    });
  });
}

}  // namespace

std::vector<KernelRow> elementwise_kernels() {
  return {{"", "Relu", relu, relu},
          {"", "Tanh", hyperbolic_tangent<float>, hyperbolic_tangent<double>},
          {"", "Sigmoid", sigmoid<float>, sigmoid<double>},
          {"", "Neg", negate, negate},
          {"", "Exp", exponential<float>, exponential<double>},
          {"", "Log", logarithm<float>, logarithm<double>},
          {"", "Sqrt", square_root<float>, square_root<double>},
          {"", "Reciprocal", reciprocal<float>, reciprocal<double>},
          {"", "Add", add, add},
          {"", "Sub", subtract, subtract},
          {"", "Mul", multiply, multiply},
          {"", "Div", divide, divide},
          {"", "Pow", power, power},
          {kGradstoneDomain, "HeavisideStep", heaviside_step<float>, heaviside_step<double>}};
}

}  // namespace gradstone::kernels
