// SPDX-License-Identifier: Apache-2.0
// A tensor seen as rows along one of its axes. Not for several axes at once: see sums.h.
#pragma once

#include "graph/dtype.h"

namespace gradstone::kernels {

// Elements `stride` apart.
struct Row {
  std::int64_t first = 0, stride = 1, extent = 1;
  std::int64_t at(std::int64_t i) const { return first + i * stride; }
};

// Calls visit(const Row&) for every row along `axis`, in row-major order of the other axes.
template <class Visit>
void for_each_row(const Shape& shape, std::size_t axis, Visit visit) {
  const std::int64_t extent = shape[axis];
  std::int64_t stride = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) stride *= shape[i];
  const std::int64_t elements = element_count(shape);
  if (elements == 0) return;
  for (std::int64_t outer = 0; outer < elements; outer += extent * stride) {
    for (std::int64_t inner = 0; inner < stride; ++inner) visit(Row{outer + inner, stride, extent});
  }
}

}  // namespace gradstone::kernels
