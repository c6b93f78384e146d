// SPDX-License-Identifier: Apache-2.0
// Sums of tensors. Every sum is taken in double, whatever the element type, so that the reference
// does not add a rounding error of its own to means, losses and bias gradients. (Matrix products
// are the exception: see gemm.h.)
#pragma once

#include <array>
#include <span>
#include <vector>

#include "kernels/strided.h"

namespace gradstone::kernels {

// Sum of transform(value) over a row of elements. Eight partial sums, so that additions overlap.
template <class T, class Transform>
double sum_of(std::span<const T> values, Transform transform) {
  std::array<double, 8> partial{};
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    for (std::size_t k = 0; k < 8; ++k) partial[k] += transform(values[i + k]);
  }
  for (; i < values.size(); ++i) partial[0] += transform(values[i]);
  double sum = 0;
  for (const double part : partial) sum += part;
  return sum;
}

template <class T>
double sum_of(std::span<const T> values) {
  return sum_of(values, [](T value) { return static_cast<double>(value); });
}

// Sums `x` of shape `from` over the axes along which `to` is repeated when broadcast to `from`.
// The answer holds the elements of `to`.
template <class T>
std::vector<double> sum_to(std::span<const T> x, const Shape& from, const Shape& to) {
  std::vector<double> sums(static_cast<std::size_t>(element_count(to)), 0.0);
  for_each_run<2>(from, {row_major_strides(from), broadcast_strides(to, from)},
                  [&](const Run<2>& run) {
                    const T* in = x.data() + run.offset[0];
                    double* out = sums.data() + run.offset[1];
                    const auto count = static_cast<std::size_t>(run.count);
                    if (run.stride[1] == 0) {
                      *out += sum_of(std::span<const T>(in, count));
                    } else {
                      for (std::size_t i = 0; i < count; ++i) out[i] += in[i];
                    }
                  });
  return sums;
}

}  // namespace gradstone::kernels
