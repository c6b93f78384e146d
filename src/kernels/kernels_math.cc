// SPDX-License-Identifier: Apache-2.0
// Functions of single numbers, remainders, and the operators of any number of operands.
#include <cmath>
#include <vector>

#include "kernels/elementwise.h"

namespace gradstone::kernels {
namespace {

// A row for a function of <cmath>.
template <class T, T (*kFunction)(T)>
Status apply(const KernelCall& call) {
  return unary<T>(call, kFunction);
}

template <float (*kFloat)(float), double (*kDouble)(double)>
KernelRow row_of(std::string_view op) {
  return {"", op, apply<float, kFloat>, apply<double, kDouble>};
}

Status absolute(const KernelCall& call) {
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    using Wrapping = typename WrappingOf<T>::Type;
    if constexpr (std::is_integral_v<T>) {
      return unary<T>(call, [](T x) {
        return x < 0 ? static_cast<T>(Wrapping(0) - static_cast<Wrapping>(x)) : x;
      });
    } else {
      return unary<T>(call, [](T x) { return std::abs(x); });
    }
  });
}

Status sign(const KernelCall& call) {
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    return unary<T>(call, [](T x) {
      if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(x)) return x;
      }
      return static_cast<T>((x > 0) - (x < 0));
    });
  });
}

// ONNX's Mod: of the sign of the divisor (Python's %), with fmod that of the dividend (C's).
template <class T>
T remainder_of(T a, T b, bool fmod) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;  // the least integer would trap
    const T remainder = static_cast<T>(a % b);
    const bool adjust = !fmod && remainder != 0 && (remainder < 0) != (b < 0);
    return adjust ? static_cast<T>(remainder + b) : remainder;
  }
}

Status modulo(const KernelCall& call) {
  const bool fmod = attribute_or(call.node, "fmod", std::int64_t{0}) != 0;
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      for (const T divisor : call.input<T>(1)) {
        if (divisor == 0) return failed("integer division by zero");
      }
    }
    return binary<T>(call, [&](T a, T b) { return remainder_of(a, b, fmod); });
  });
}

// Folds all inputs but the first, which is the start. NaN wins.
template <class Better>
Status extremum(const KernelCall& call, Better better) {
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* y = call.output<T>(0).data();
    fold_broadcast<T>(call, 0, y, [](T& best, T x) { best = x; });
    for (std::size_t i = 1; i < call.inputs.size(); ++i) {
      fold_broadcast<T>(call, i, y, [&](T& best, T x) {
        if (better(x, best) || x != x) best = x;
      });
    }
    return Status();
  });
}

Status maximum(const KernelCall& call) {
  return extremum(call, [](auto a, auto b) { return a > b; });
}

Status minimum(const KernelCall& call) {
  return extremum(call, [](auto a, auto b) { return a < b; });
}

template <class T>
Status sum_over(const KernelCall& call, double divisor) {
  const std::span<T> y = call.output<T>(0);
  std::vector<double> sums(y.size(), 0.0);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    fold_broadcast<T>(call, i, sums.data(), [](double& sum, T x) { sum += x; });
  }
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(sums[i] / divisor);
  return {};
}

template <class T>
Status sum(const KernelCall& call) {
  return sum_over<T>(call, 1.0);
}

template <class T>
Status mean(const KernelCall& call) {
  return sum_over<T>(call, static_cast<double>(call.inputs.size()));
}

}  // namespace

std::vector<KernelRow> math_kernels() {
  return {row_of<std::sin, std::sin>("Sin"),
          row_of<std::cos, std::cos>("Cos"),
          row_of<std::tan, std::tan>("Tan"),
          row_of<std::asin, std::asin>("Asin"),
          row_of<std::acos, std::acos>("Acos"),
          row_of<std::atan, std::atan>("Atan"),
          row_of<std::sinh, std::sinh>("Sinh"),
          row_of<std::cosh, std::cosh>("Cosh"),
          row_of<std::asinh, std::asinh>("Asinh"),
          row_of<std::acosh, std::acosh>("Acosh"),
          row_of<std::atanh, std::atanh>("Atanh"),
          row_of<std::erf, std::erf>("Erf"),
          row_of<std::ceil, std::ceil>("Ceil"),
          row_of<std::floor, std::floor>("Floor"),
          row_of<std::nearbyint, std::nearbyint>("Round"),  // to even, the mode at start
          {"", "Abs", absolute, absolute},
          {"", "Sign", sign, sign},
          {"", "Mod", modulo, modulo},
          {"", "Max", maximum, maximum},
          {"", "Min", minimum, minimum},
          {"", "Sum", sum<float>, sum<double>},
          {"", "Mean", mean<float>, mean<double>}};
}

}  // namespace gradstone::kernels
