// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "graph/gradients.h"
#include "graph/onnx_ops.h"
#include "graph/reduction.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using enum AttributeKind;

OutputTypes infer_reduction(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_floating(context, 0, "the input"));
  const Reduction reduction = TRY(reduction_of(context));
  Shape shape;
  for (std::size_t i = 0; i < input.shape.size(); ++i) {
    const bool reduced = std::binary_search(reduction.axes.begin(), reduction.axes.end(), i);
    if (!reduced) shape.push_back(input.shape[i]);
    if (reduced && reduction.keep_dims) shape.push_back(1);
  }
  return std::vector<TensorType>{{input.dtype, shape}};
}

OutputTypes infer_softmax(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_floating(context, 0, "the input"));
  TRY(resolved_axis(attribute_or(context.node, "axis", std::int64_t{-1}), input.shape.size()));
  return std::vector<TensorType>{input};
}

// For each element a comparison (the maximum), a subtraction, an exponential, an addition, and a
// division or for LogSoftmax another subtraction.
std::int64_t softmax_flops(const NodeContext&, std::span<const TensorType> outputs) {
  return saturating_product({5, outputs[0].elements()});
}

}  // namespace

Result<Reduction> reduction_of(const NodeContext& context) {
  Reduction reduction;
  reduction.keep_dims = attribute_or(context.node, "keepdims", std::int64_t{1}) != 0;
  const std::size_t rank = context.inputs[0]->shape.size();
  std::vector<std::int64_t> axes = attribute_or(context.node, "axes", std::vector<std::int64_t>{});
  if (context.inputs.size() > 1 && context.inputs[1] != nullptr) {
    axes = TRY(constant_integers(context, 1, "axes"));
  }
  if (axes.empty()) {
    const bool noop = attribute_or(context.node, "noop_with_empty_axes", std::int64_t{0}) != 0;
    axes.resize(noop ? 0 : rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  reduction.axes = TRY(resolved_axes(axes, rank));
  return reduction;
}

std::vector<OpDef> reduction_rows() {
  return {
      {.name = "ReduceMean",
       .attributes = {{"axes", kInts}, {"keepdims", kInt}},
       .infer = infer_reduction,
       .flops = one_per_input_element,
       .gradient = gradient_of_reduce_mean,
       .summary = "Mean over `axes`, by default all"},
      {.name = "ReduceSum",
       .max_inputs = 2,
       .attributes = {{"keepdims", kInt}, {"noop_with_empty_axes", kInt}},
       .infer = infer_reduction,
       .flops = one_per_input_element,
       .gradient = gradient_of_reduce_sum,
       .summary = "Sum over the axes of the second input, a constant; by default all"},
      {.name = "Softmax",
       .attributes = {{"axis", kInt}},
       .infer = infer_softmax,
       .flops = softmax_flops,
       .gradient = gradient_of_softmax,
       .summary = "exp(x) / sum of exp(x) along `axis` (-1)"},
      {.name = "LogSoftmax",
       .attributes = {{"axis", kInt}},
       .infer = infer_softmax,
       .flops = softmax_flops,
       .gradient = gradient_of_log_softmax,
       .summary = "Logarithm of Softmax"},
  };
}

}  // namespace gradstone
