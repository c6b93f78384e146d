// SPDX-License-Identifier: Apache-2.0
#include "graph/gradients.h"
#include "graph/onnx_ops.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using enum AttributeKind;

struct GemmSizes {
  std::int64_t rows = 0, columns = 0, inner = 0;
};

Result<GemmSizes> gemm_sizes(const NodeContext& context) {
  const TensorType& a = *context.inputs[0];
  const TensorType& b = *context.inputs[1];
  TRY(expect_rank(a, 2, "A"));
  TRY(expect_rank(b, 2, "B"));
  const std::size_t a_turned = attribute_or(context.node, "transA", std::int64_t{0}) != 0 ? 1 : 0;
  const std::size_t b_turned = attribute_or(context.node, "transB", std::int64_t{0}) != 0 ? 1 : 0;
  const std::int64_t inner = a.shape[1 - a_turned];
  if (b.shape[b_turned] != inner) {
    return unreadable("A " + to_string(a.shape) + (a_turned != 0 ? " (transposed)" : "") + " has " +
                      std::to_string(inner) + " columns, B " + to_string(b.shape) +
                      (b_turned != 0 ? " (transposed)" : "") + " has " +
                      std::to_string(b.shape[b_turned]) + " rows");
  }
  return GemmSizes{a.shape[a_turned], b.shape[1 - b_turned], inner};
}

OutputTypes infer_gemm(const NodeContext& context) {
  TRY(expect_floating(context, 0, "A"));
  TRY(expect_like_first(context, 1, "B"));
  TRY(expect_like_first(context, 2, "C"));
  const GemmSizes sizes = TRY(gemm_sizes(context));
  const Shape shape = {sizes.rows, sizes.columns};
  const TensorType* c = context.inputs[2];
  if (c != nullptr && !broadcasts_to(c->shape, shape)) {
    return unreadable("C has shape " + to_string(c->shape) + ", which does not broadcast to " +
                      to_string(shape));
  }
  return std::vector<TensorType>{{context.inputs[0]->dtype, shape}};
}

std::int64_t gemm_flops(const NodeContext& context, std::span<const TensorType>) {
  const GemmSizes sizes = gemm_sizes(context).value();
  return saturating_product({2, sizes.rows, sizes.columns, sizes.inner});
}

// Adding C, and scaling by alpha and beta where they are not 1.
std::int64_t gemm_other_flops(const NodeContext& context, std::span<const TensorType> outputs) {
  const std::int64_t elements = outputs[0].elements();
  const TensorType* c = context.inputs[2];
  std::int64_t flops = attribute_or(context.node, "alpha", 1.0) != 1.0 ? elements : 0;
  if (c != nullptr) {
    flops += elements;
    if (attribute_or(context.node, "beta", 1.0) != 1.0) flops += c->elements();
  }
  return flops;
}

// NumPy's matmul: a vector on the left is a row, on the right a column, and that axis goes again.
OutputTypes infer_matmul(const NodeContext& context) {
  TRY(expect_floating(context, 0, "A"));
  TRY(expect_like_first(context, 1, "B"));
  const Shape& a = context.inputs[0]->shape;
  const Shape& b = context.inputs[1]->shape;
  if (a.empty() || b.empty()) return unreadable("a scalar is no matrix; use Mul");
  const std::int64_t inner = a.back();
  const std::int64_t b_rows = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (inner != b_rows) {
    return unreadable("A " + to_string(a) + " has " + std::to_string(inner) + " columns, B " +
                      to_string(b) + " has " + std::to_string(b_rows) + " rows");
  }
  const auto batch_part = [](const Shape& shape) {
    return shape.size() <= 2 ? Shape{} : Shape(shape.begin(), shape.end() - 2);
  };
  Shape shape = TRY(broadcast_shapes(batch_part(a), batch_part(b)));
  if (a.size() >= 2) shape.push_back(a[a.size() - 2]);
  if (b.size() >= 2) shape.push_back(b.back());
  return std::vector<TensorType>{{context.inputs[0]->dtype, shape}};
}

std::int64_t matmul_flops(const NodeContext& context, std::span<const TensorType> outputs) {
  return saturating_product({2, outputs[0].elements(), context.inputs[0]->shape.back()});
}

}  // namespace

std::vector<OpDef> matrix_rows() {
  return {
      {.name = "Gemm",
       .min_inputs = 2,
       .max_inputs = 3,
       .attributes = {{"alpha", kFloat}, {"beta", kFloat}, {"transA", kInt}, {"transB", kInt}},
       .infer = infer_gemm,
       .flops = gemm_flops,
       .multiply_adds = true,
       .other_flops = gemm_other_flops,
       .gradient = gradient_of_gemm,
       .summary = "alpha * A * B + beta * C"},
      {.name = "MatMul",
       .min_inputs = 2,
       .max_inputs = 2,
       .infer = infer_matmul,
       .flops = matmul_flops,
       .multiply_adds = true,
       .gradient = gradient_of_matmul,
       .summary = "Matrix product over the last two axes, the others broadcast"},
  };
}

}  // namespace gradstone
