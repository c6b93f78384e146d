// SPDX-License-Identifier: Apache-2.0
// Operators that compute each element of the output from one element of each input.
#include <cmath>
#include <type_traits>

#include "kernels/kernel.h"
#include "kernels/strided.h"

namespace gradstone::kernels {
namespace {

template <class T, class Function>
Status unary(const KernelCall& call, Function function) {
  const std::span<const T> x = call.input<T>(0);
  const std::span<T> y = call.output<T>(0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = function(x[i]);
  return {};
}

template <class T>
Status relu(const KernelCall& call) {
  return unary<T>(call, [](T x) { return x > 0 ? x : T(0); });
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

template <class T, class Function>
Status binary(const KernelCall& call, Function function) {
  const Shape& shape = call.output_shape(0);
  const T* a = call.input<T>(0).data();
  const T* b = call.input<T>(1).data();
  T* y = call.output<T>(0).data();
  const auto compute = [&](const Run<3>& run) {
    const T* pa = a + run.offset[1];
    const T* pb = b + run.offset[2];
    T* py = y + run.offset[0];
    const std::int64_t sa = run.stride[1], sb = run.stride[2];
    // The three common cases are written out so that the compiler can vectorise them.
    if (sa == 1 && sb == 1) {
      for (std::int64_t i = 0; i < run.count; ++i) py[i] = function(pa[i], pb[i]);
    } else if (sa == 1 && sb == 0) {
      for (std::int64_t i = 0; i < run.count; ++i) py[i] = function(pa[i], *pb);
    } else if (sa == 0 && sb == 1) {
      for (std::int64_t i = 0; i < run.count; ++i) py[i] = function(*pa, pb[i]);
    } else {
      for (std::int64_t i = 0; i < run.count; ++i) py[i] = function(pa[i * sa], pb[i * sb]);
    }
  };
  for_each_run<3>(shape,
                  {row_major_strides(shape), broadcast_strides(call.input_shape(0), shape),
                   broadcast_strides(call.input_shape(1), shape)},
                  compute);
  return {};
}

// Calls visit(zero) with a zero of the type in which the node computes. Integers wrap around, so
// their sums and products are taken without a sign.
template <class Visit>
Status with_arithmetic_type(const KernelCall& call, Visit visit) {
  switch (call.outputs[0].type.dtype) {
    case DType::kFloat32:
      return visit(float{});
    case DType::kFloat64:
      return visit(double{});
    case DType::kInt32:
      return visit(std::int32_t{});
    default:
      return visit(std::int64_t{});
  }
}

template <class T>
struct WrappingOf {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct WrappingOf<float> {
  using Type = float;
};
template <>
struct WrappingOf<double> {
  using Type = double;
};

template <class Function>
Status arithmetic(const KernelCall& call, Function function) {
  return with_arithmetic_type(call, [&](auto zero) {
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
  return with_arithmetic_type(call, [&](auto zero) {
    using T = decltype(zero);
    using Wrapping = typename WrappingOf<T>::Type;
    return unary<T>(call, [](T x) { return static_cast<T>(-static_cast<Wrapping>(x)); });
  });
}

Status divide(const KernelCall& call) {
  return with_arithmetic_type(call, [&](auto zero) -> Status {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      for (const T divisor : call.input<T>(1)) {
        if (divisor == 0) return failed("integer division by zero");
      }
      // The quotient by -1 is taken apart: that of the least integer would overflow.
      return binary<T>(call, [](T a, T b) {
        using Wrapping = typename WrappingOf<T>::Type;
        return b == -1 ? static_cast<T>(Wrapping(0) - static_cast<Wrapping>(a))
                       : static_cast<T>(a / b);
      });
    } else {
      return binary<T>(call, [](T a, T b) { return a / b; });
    }
  });
}

template <class T>
Status power(const KernelCall& call) {
  return binary<T>(call, [](T a, T b) { return b == 2 ? a * a : std::pow(a, b); });
}

}  // namespace

std::vector<KernelRow> elementwise_kernels() {
  return {{"", "Relu", relu<float>, relu<double>},
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
          {"", "Pow", power<float>, power<double>},
          {kGradstoneDomain, "HeavisideStep", heaviside_step<float>, heaviside_step<double>}};
}

}  // namespace gradstone::kernels
