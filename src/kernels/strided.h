// SPDX-License-Identifier: Apache-2.0
// Walks over tensors that are seen broadcast, transposed, sliced or reduced: each is a set of
// strides over one common index space. Offsets count elements.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph/dtype.h"

namespace gradstone::kernels {

using Strides = std::vector<std::int64_t>;

inline Strides row_major_strides(const Shape& shape) {
  Strides strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

// `shape` seen as `target`, by the broadcasting rule of ONNX (aligned at the last axis): stride 0
// along the axes that are repeated.
inline Strides broadcast_strides(const Shape& shape, const Shape& target) {
  Strides strides(target.size(), 0);
  const Strides own = row_major_strides(shape);
  const std::size_t missing = target.size() - shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != 1) strides[missing + axis] = own[axis];
  }
  return strides;
}

// A straight piece of the walk: element i of tensor n is at offset[n] + i * stride[n].
template <std::size_t N>
struct Run {
  std::int64_t count = 1;
  std::array<std::int64_t, N> offset{};
  std::array<std::int64_t, N> stride{};
};

namespace internal {

template <std::size_t N>
struct Axis {
  std::int64_t extent = 1;
  std::array<std::int64_t, N> stride{};
};

// Drops axes of extent 1 and joins neighbours that every tensor walks as one.
template <std::size_t N>
std::vector<Axis<N>> joined_axes(const Shape& extents, const std::array<Strides, N>& strides) {
  std::vector<Axis<N>> axes;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1) continue;
    Axis<N> axis{extents[i], {}};
    for (std::size_t n = 0; n < N; ++n) axis.stride[n] = strides[n][i];
    bool joins = !axes.empty();
    for (std::size_t n = 0; n < N && joins; ++n) {
      joins = axes.back().stride[n] == axis.stride[n] * axis.extent;
    }
    if (joins) axis.extent *= axes.back().extent;
    if (joins) axes.pop_back();
    axes.push_back(axis);
  }
  if (axes.empty()) axes.push_back({});
  return axes;
}

}  // namespace internal

// Calls visit(const Run<N>&) for pieces that cover the index space `extents` in row-major order.
template <std::size_t N, class Visit>
void for_each_run(const Shape& extents, const std::array<Strides, N>& strides, Visit visit) {
  if (element_count(extents) == 0) return;
  auto axes = internal::joined_axes(extents, strides);
  Run<N> run{axes.back().extent, {}, axes.back().stride};
  axes.pop_back();
  std::vector<std::int64_t> index(axes.size(), 0);
  while (true) {
    visit(run);
    std::size_t axis = axes.size();
    for (; axis > 0; --axis) {  // the next index, last axis fastest
      const auto& outer = axes[axis - 1];
      for (std::size_t n = 0; n < N; ++n) run.offset[n] += outer.stride[n];
      if (++index[axis - 1] < outer.extent) break;
      for (std::size_t n = 0; n < N; ++n) run.offset[n] -= outer.stride[n] * outer.extent;
      index[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

}  // namespace gradstone::kernels
