// SPDX-License-Identifier: Apache-2.0
// Loops over the elements of one or two broadcast operands, and the choice of their type. What
// kernels of elementwise operators are written with.
#pragma once

#include <type_traits>

#include "kernels/element_type.h"
#include "kernels/kernel.h"
#include "kernels/strided.h"

namespace gradstone::kernels {

// Calls visit(zero) with a zero of `dtype`, which is no bool.
template <class Visit>
Status with_number_type(DType dtype, Visit visit) {
  return with_element_type(dtype, [&](auto zero) -> Status {
    if constexpr (std::is_same_v<decltype(zero), bool>) {
      CHECK(false, "arithmetic on truth values");
      return {};
    } else {
      return visit(zero);
    }
  });
}

// The type in which sums and products of T are taken: integers wrap around, so they lose the sign.
template <class T, bool = std::is_integral_v<T>>
struct WrappingOf {
  using Type = std::make_unsigned_t<T>;
};
template <class T>
struct WrappingOf<T, false> {
  using Type = T;
};

// Input 0 of type X, output 0 of type Y.
template <class X, class Y = X, class Function>
Status unary(const KernelCall& call, Function function) {
  const std::span<const X> x = call.input<X>(0);
  const std::span<Y> y = call.output<Y>(0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = function(x[i]);
  return {};
}

// Inputs 0 and 1 of types A and B, broadcast, output 0 of type Y.
template <class A, class B = A, class Y = A, class Function>
Status binary(const KernelCall& call, Function function) {
  const Shape& shape = call.output_shape(0);
  const A* a = call.input<A>(0).data();
  const B* b = call.input<B>(1).data();
  Y* y = call.output<Y>(0).data();
  const auto compute = [&](const Run<3>& run) {
    const A* pa = a + run.offset[1];
    const B* pb = b + run.offset[2];
    Y* py = y + run.offset[0];
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

// Calls fold(sum[k], x) for every element of input `input`, broadcast to the shape of output 0;
// `sum` has one item an element of the output.
template <class T, class Sum, class Fold>
void fold_broadcast(const KernelCall& call, std::size_t input, Sum* sum, Fold fold) {
  const Shape& shape = call.output_shape(0);
  const T* x = call.input<T>(input).data();
  for_each_run<2>(shape,
                  {row_major_strides(shape), broadcast_strides(call.input_shape(input), shape)},
                  [&](const Run<2>& run) {
                    Sum* to = sum + run.offset[0];
                    const T* from = x + run.offset[1];
                    for (std::int64_t i = 0; i < run.count; ++i) {
                      fold(to[i * run.stride[0]], from[i * run.stride[1]]);
                    }
                  });
}

}  // namespace gradstone::kernels
