// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/gemm.h"
#include "kernels/kernel.h"
#include "kernels/strided.h"

namespace gradstone::kernels {
namespace {

// y = alpha a' b' + beta c, with c broadcast.
template <class T>
Status general_product(const KernelCall& call) {
  const Shape& shape = call.output_shape(0);
  const auto alpha = static_cast<T>(attribute_or(call.node, "alpha", 1.0));
  const auto beta = static_cast<T>(attribute_or(call.node, "beta", 1.0));
  const bool a_transposed = attribute_or(call.node, "transA", std::int64_t{0}) != 0;
  const bool b_transposed = attribute_or(call.node, "transB", std::int64_t{0}) != 0;
  MatrixRef<T> a{call.input<T>(0).data(), call.input_shape(0)[1], 1};
  MatrixRef<T> b{call.input<T>(1).data(), call.input_shape(1)[1], 1};
  const std::int64_t depth = call.input_shape(0)[a_transposed ? 0 : 1];
  if (a_transposed) a = a.transposed();
  if (b_transposed) b = b.transposed();

  const std::span<T> y = call.output<T>(0);
  std::fill(y.begin(), y.end(), T(0));
  add_product<T>({shape[0], shape[1], depth}, a, b, y.data());
  if (alpha != 1) {
    for (T& value : y) value *= alpha;
  }
  if (!call.has_input(2) || beta == 0) return {};
  const T* c = call.input<T>(2).data();
  for_each_run<2>(shape, {row_major_strides(shape), broadcast_strides(call.input_shape(2), shape)},
                  [&](const Run<2>& run) {
                    T* out = y.data() + run.offset[0];
                    const T* in = c + run.offset[1];
                    for (std::int64_t i = 0; i < run.count; ++i) {
                      out[i] += beta * in[i * run.stride[1]];
                    }
                  });
  return {};
}

// numpy.matmul: leading axes are broadcast; a vector is a row on the left and a column on the
// right.
template <class T>
Status matrix_product(const KernelCall& call) {
  Shape a_shape = call.input_shape(0), b_shape = call.input_shape(1);
  if (a_shape.size() == 1) a_shape.insert(a_shape.begin(), 1);
  if (b_shape.size() == 1) b_shape.push_back(1);
  const std::int64_t rows = a_shape[a_shape.size() - 2], depth = a_shape.back();
  const std::int64_t columns = b_shape.back();
  const Shape a_batch(a_shape.begin(), a_shape.end() - 2);
  const Shape b_batch(b_shape.begin(), b_shape.end() - 2);
  Shape batch(std::max(a_batch.size(), b_batch.size()), 1);
  for (std::size_t i = 0; i < a_batch.size(); ++i)
    batch[batch.size() - 1 - i] = a_batch[a_batch.size() - 1 - i];
  for (std::size_t i = 0; i < b_batch.size(); ++i) {
    std::int64_t& extent = batch[batch.size() - 1 - i];
    extent = extent == 1 ? b_batch[b_batch.size() - 1 - i] : extent;
  }

  const T* a = call.input<T>(0).data();
  const T* b = call.input<T>(1).data();
  const std::span<T> y = call.output<T>(0);
  std::fill(y.begin(), y.end(), T(0));
  for_each_run<3>(
      batch,
      {row_major_strides(batch), broadcast_strides(a_batch, batch),
       broadcast_strides(b_batch, batch)},
      [&](const Run<3>& run) {
        for (std::int64_t i = 0; i < run.count; ++i) {
          const T* left = a + (run.offset[1] + i * run.stride[1]) * rows * depth;
          const T* right = b + (run.offset[2] + i * run.stride[2]) * depth * columns;
          T* out = y.data() + (run.offset[0] + i * run.stride[0]) * rows * columns;
          add_product<T>({rows, columns, depth}, {left, depth, 1}, {right, columns, 1}, out);
        }
      });
  return {};
}

}  // namespace

std::vector<KernelRow> matrix_kernels() {
  return {{"", "Gemm", general_product<float>, general_product<double>},
          {"", "MatMul", matrix_product<float>, matrix_product<double>}};
}

}  // namespace gradstone::kernels
