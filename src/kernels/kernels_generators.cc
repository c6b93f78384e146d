// SPDX-License-Identifier: Apache-2.0
// Values made from shapes and numbers.
#include <algorithm>

#include "kernels/copying.h"
#include "kernels/element_type.h"

namespace gradstone::kernels {
namespace {

// The extents from `start` on, as many as the output holds. A start before the first axis is 0.
Status shape(const KernelCall& call) {
  const Shape& extents = call.input_shape(0);
  const auto rank = static_cast<std::int64_t>(extents.size());
  const std::int64_t start = attribute_or(call.node, "start", std::int64_t{0});
  auto axis =
      static_cast<std::size_t>(std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank));
  for (std::int64_t& extent : call.output<std::int64_t>(0)) extent = extents[axis++];
  return {};
}

Status size(const KernelCall& call) {
  call.output<std::int64_t>(0)[0] = element_count(call.input_shape(0));
  return {};
}

Status constant_of_shape(const KernelCall& call) {
  fill(call.outputs[0], attribute_or(call.node, "value", 0.0));
  return {};
}

// Integers wrap around in between, which a last element within their range undoes.
Status range(const KernelCall& call) {
  with_element_type(call.outputs[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T start = call.input<T>(0)[0], delta = call.input<T>(2)[0];
    const std::span<T> y = call.output<T>(0);
    for (std::size_t i = 0; i < y.size(); ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        y[i] = static_cast<T>(static_cast<double>(start) + static_cast<double>(i) * delta);
      } else {
        y[i] = static_cast<T>(static_cast<std::uint64_t>(start) +
                              i * static_cast<std::uint64_t>(delta));
      }
    }
  });
  return {};
}

Status eye_like(const KernelCall& call) {
  const Shape& matrix = call.output_shape(0);
  const std::int64_t k =
      std::clamp(attribute_or(call.node, "k", std::int64_t{0}), -matrix[0], matrix[1]);
  fill(call.outputs[0], 0);
  with_element_type(call.outputs[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t row = std::max<std::int64_t>(-k, 0); row < matrix[0]; ++row) {
      if (row + k >= matrix[1]) break;
      call.output<T>(0)[static_cast<std::size_t>(row * matrix[1] + row + k)] = T(1);
    }
  });
  return {};
}

}  // namespace

std::vector<KernelRow> generator_kernels() {
  return {{"", "Shape", shape, shape},
          {"", "Size", size, size},
          {"", "ConstantOfShape", constant_of_shape, constant_of_shape},
          {"", "Range", range, range},
          {"", "EyeLike", eye_like, eye_like}};
}

}  // namespace gradstone::kernels
