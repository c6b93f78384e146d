// SPDX-License-Identifier: Apache-2.0
// Reductions over axes. g is the cotangent of the output y, with the reduced axes put back.
#include <algorithm>
#include <numeric>

#include "graph/element_types.h"
#include "graph/onnx_ops.h"
#include "graph/reduction.h"
#include "graph/rule_parts.h"

namespace gradstone {
namespace {

using enum AttributeKind;
using Infer = OutputTypes (*)(const NodeContext&);

template <Elements kElements>
OutputTypes infer_reduction(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_elements(context, 0, kElements, "the input"));
  const Reduction reduction = TRY(reduction_of(context));
  Shape shape;
  for (std::size_t i = 0; i < input.shape.size(); ++i) {
    const bool reduced = std::binary_search(reduction.axes.begin(), reduction.axes.end(), i);
    if (!reduced) shape.push_back(input.shape[i]);
    if (reduced && reduction.keep_dims) shape.push_back(1);
  }
  return std::vector<TensorType>{{input.dtype, shape}};
}

// So many operations for each element of the input, and of the output.
template <int kEachInput, int kEachOutput>
std::int64_t reduction_flops(const NodeContext& context, std::span<const TensorType> outputs) {
  return saturating_sum(saturating_product({kEachInput, context.inputs[0]->elements()}),
                        saturating_product({kEachOutput, outputs[0].elements()}));
}

std::vector<std::int64_t> axes_of(NodeBuilder& b) {
  const NodeInputs inputs = b.node_inputs();
  const Reduction reduction = reduction_of(inputs.context()).value();
  return {reduction.axes.begin(), reduction.axes.end()};
}

std::string put_back(GradientBuilder& b, const std::string& value) {
  const std::vector<std::int64_t> axes = axes_of(b);
  return with_axes_kept(b, value, {axes.begin(), axes.end()}, b.shape_of(b.input(0)));
}

std::string spread_cotangent(GradientBuilder& b) { return put_back(b, b.cotangent()); }

// Elements that equal the extremum share its cotangent evenly.
Status gradient_of_extremum(GradientBuilder& b) {
  const std::string g = spread_cotangent(b);
  const std::string taken = b.append("taken", "Equal", {b.input(0), put_back(b, b.output(0))});
  const std::string count = b.sum(b.cast(taken, b.type_of(g).dtype), axes_of(b), true);
  b.give(0, masked(b, taken, b.div(g, count)));
  return {};
}

// g sign(x)
Status gradient_of_l1(GradientBuilder& b) {
  b.give(0, b.mul(spread_cotangent(b), apply(b, "Sign", b.input(0))));
  return {};
}

// g x / y; where all of x is 0, so is the gradient.
Status gradient_of_l2(GradientBuilder& b) {
  const std::string y = put_back(b, b.output(0));
  const std::string none = b.append("none", "Equal", {y, number_like(b, 0, y)});
  const std::string length = select(b, none, number_like(b, 1, y), y);
  b.give(0, b.mul(b.div(spread_cotangent(b), length), b.input(0)));
  return {};
}

// 2 g x
Status gradient_of_sum_square(GradientBuilder& b) {
  b.give(0, b.mul(b.scale(spread_cotangent(b), 2), b.input(0)));
  return {};
}

// g e^(x - y)
Status gradient_of_log_sum_exp(GradientBuilder& b) {
  const std::string share = apply(b, "Exp", b.sub(b.input(0), put_back(b, b.output(0))));
  b.give(0, b.mul(spread_cotangent(b), share));
  return {};
}

bool keeps_axes(const NodeBuilder& b) {
  return attribute_or(b.node(), "keepdims", std::int64_t{1}) != 0;
}

Status expand_l1(ExpansionBuilder& b) {
  b.set_output(0, b.sum(apply(b, "Abs", b.input(0)), axes_of(b), keeps_axes(b)));
  return {};
}

std::string sum_of_squares(ExpansionBuilder& b) {
  return b.sum(b.mul(b.input(0), b.input(0)), axes_of(b), keeps_axes(b));
}

Status expand_sum_square(ExpansionBuilder& b) {
  b.set_output(0, sum_of_squares(b));
  return {};
}

// Roots and logarithms of integers are truncated, which only kernels do.
Status need_floating(const NodeBuilder& b) {
  if (is_floating(b.type_of(b.input(0)).dtype)) return {};
  return unsupported("of integers it has no simpler form");
}

Status expand_l2(ExpansionBuilder& b) {
  TRY(need_floating(b));
  b.set_output(0, apply(b, "Sqrt", sum_of_squares(b)));
  return {};
}

Status expand_log_sum(ExpansionBuilder& b) {
  TRY(need_floating(b));
  b.set_output(0, apply(b, "Log", b.sum(b.input(0), axes_of(b), keeps_axes(b))));
  return {};
}

// m + log(sum of e^(x - m)) with the maximum m, so that nothing overflows.
Status expand_log_sum_exp(ExpansionBuilder& b) {
  TRY(need_floating(b));
  const std::string x = b.input(0);
  const std::vector<std::int64_t> axes = axes_of(b);
  std::string maximum = x;
  if (!axes.empty()) maximum = b.append("maximum", "ReduceMax", {x}, {{"axes", axes}});
  const std::string sum = b.sum(apply(b, "Exp", b.sub(x, maximum)), axes, true);
  const std::string kept = b.add(maximum, apply(b, "Log", sum));
  b.set_output(0, b.reshape(kept, Shape(b.shape_of(b.node().outputs[0]))));
  return {};
}

// The elements to be multiplied as columns of a matrix, one row for each element of the output.
std::string as_rows(ExpansionBuilder& b) {
  const Shape shape = b.shape_of(b.input(0));
  const std::vector<std::int64_t> axes = axes_of(b);
  std::vector<std::int64_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(), [&](std::int64_t axis) {
    return !std::binary_search(axes.begin(), axes.end(), axis);
  });
  const std::int64_t rows = element_count(b.shape_of(b.node().outputs[0]));
  const std::string ordered = b.append("transpose", "Transpose", {b.input(0)}, {{"perm", order}});
  return b.reshape(ordered, {rows, element_count(shape) / rows});
}

// Halves are multiplied with each other until one column is left. Unlike y / x, the derivative of
// this is right where an x is 0.
Status expand_prod(ExpansionBuilder& b) {
  std::string matrix = as_rows(b);
  const std::int64_t rows = b.shape_of(matrix)[0];
  for (std::int64_t columns = b.shape_of(matrix)[1]; columns > 1; columns = (columns + 1) / 2) {
    const auto part = [&](std::int64_t first, std::int64_t last) {
      return b.slice(matrix, {0, first}, {rows, last});
    };
    const std::int64_t half = columns / 2;
    std::string product = b.mul(part(0, half), part(half, 2 * half));
    if (columns % 2 == 1) {
      product = b.append("concat", "Concat", {product, part(2 * half, columns)},
                         {{"axis", std::int64_t{1}}});
    }
    matrix = product;
  }
  b.set_output(0, b.reshape(matrix, Shape(b.shape_of(b.node().outputs[0]))));
  return {};
}

OpDef reduction(std::string_view name, std::string_view summary) {
  return {.name = name,
          .attributes = {{"axes", kInts}, {"keepdims", kInt}},
          .infer = infer_reduction<Elements::kWide>,
          .flops = one_per_input_element,
          .summary = summary};
}

std::vector<OpDef> norm_rows() {
  OpDef l1 = reduction("ReduceL1", "Sum of |x| over `axes`, by default all");
  l1.flops = reduction_flops<2, 0>;
  l1.gradient = gradient_of_l1;
  l1.expand = expand_l1;
  OpDef l2 = reduction("ReduceL2", "Square root of the sum of squares over `axes`, by default all");
  l2.flops = reduction_flops<2, 1>;
  l2.gradient = gradient_of_l2;
  l2.expand = expand_l2;
  OpDef squares = reduction("ReduceSumSquare", "Sum of squares over `axes`, by default all");
  squares.flops = reduction_flops<2, 0>;
  squares.gradient = gradient_of_sum_square;
  squares.expand = expand_sum_square;
  return {l1, l2, squares};
}

std::vector<OpDef> logarithm_rows() {
  OpDef sum = reduction("ReduceLogSum", "Logarithm of the sum over `axes`, by default all");
  sum.flops = reduction_flops<1, 1>;
  sum.expand = expand_log_sum;
  OpDef exponentials =
      reduction("ReduceLogSumExp", "Logarithm of the sum of e^x over `axes`, by default all");
  // A comparison (the maximum), a subtraction, an exponential and an addition; then a logarithm and
  // an addition.
  exponentials.flops = reduction_flops<4, 2>;
  exponentials.gradient = gradient_of_log_sum_exp;
  exponentials.expand = expand_log_sum_exp;
  return {sum, exponentials};
}

std::vector<OpDef> plain_rows() {
  OpDef mean = reduction("ReduceMean", "Mean over `axes`, by default all");
  mean.gradient = gradient_of_reduce_mean;
  OpDef sum = reduction("ReduceSum",
                        "Sum over the axes of the second input, a constant; by default "
                        "all");
  sum.max_inputs = 2;
  sum.attributes = {{"keepdims", kInt}, {"noop_with_empty_axes", kInt}};
  sum.gradient = gradient_of_reduce_sum;
  OpDef product = reduction("ReduceProd", "Product over `axes`, by default all");
  product.expand = expand_prod;
  OpDef maximum = reduction("ReduceMax", "Maximum over `axes`, by default all");
  maximum.infer = infer_reduction<Elements::kNumbers>;
  maximum.gradient = gradient_of_extremum;
  OpDef minimum = reduction("ReduceMin", "Minimum over `axes`, by default all");
  minimum.infer = infer_reduction<Elements::kNumbers>;
  minimum.gradient = gradient_of_extremum;
  return {mean, sum, product, maximum, minimum};
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
  std::vector<OpDef> rows = plain_rows();
  for (const auto part : {norm_rows, logarithm_rows}) {
    for (OpDef& row : part()) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace gradstone
