// SPDX-License-Identifier: Apache-2.0
// Matrix product, the one kernel that is made fast: convolutions and dense layers all end here.
#pragma once

#include <cstdint>

namespace gradstone::kernels {

// A matrix in somebody else's memory; element (i, j) is data[i * row_stride + j * column_stride].
template <class T>
struct MatrixRef {
  const T* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  MatrixRef transposed() const { return {data, column_stride, row_stride}; }
};

struct GemmSizes {
  std::int64_t rows = 0, columns = 0, depth = 0;
};

// c += a b. `a` is rows x depth, `b` depth x columns, `c` row-major rows x columns without gaps.
// Sums are taken in T, blocks of the depth one after the other: the order does not depend on the
// machine, but where the processor has fused multiply-adds the rounding does.
template <class T>
void add_product(const GemmSizes& sizes, const MatrixRef<T>& a, const MatrixRef<T>& b, T* c);

extern template void add_product(const GemmSizes&, const MatrixRef<float>&, const MatrixRef<float>&,
                                 float*);
extern template void add_product(const GemmSizes&, const MatrixRef<double>&,
                                 const MatrixRef<double>&, double*);

}  // namespace gradstone::kernels
