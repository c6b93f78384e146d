// SPDX-License-Identifier: Apache-2.0
// Elements read from, or written to, places that other tensors name. Gathering and scattering are
// each other's adjoints, so their gradients are made of one another.
#include <algorithm>
#include <numeric>

#include "graph/gradients.h"
#include "graph/onnx_ops.h"
#include "graph/shape_rules.h"
#include "graph/zeros.h"

namespace gradstone {
namespace {

using enum AttributeKind;
using Integers = std::vector<std::int64_t>;

std::ptrdiff_t places(std::int64_t count) { return static_cast<std::ptrdiff_t>(count); }

// [.., k]: k numbers name a slice of the data behind `batch_dims` axes. The shape of all slices.
Result<Shape> nd_slices(const Shape& data, const TensorType& indices, std::int64_t batch_dims) {
  if (indices.dtype != DType::kInt64) {
    return unreadable("indices is " + to_string(indices) + "; expected int64");
  }
  if (indices.shape.empty() || data.empty()) return unreadable("needs data and indices of rank 1+");
  const auto rank = static_cast<std::int64_t>(data.size());
  const std::int64_t depth = indices.shape.back();
  if (depth < 1 || depth > rank - batch_dims) {
    return unreadable("indices " + to_string(indices.shape) + " hold " + std::to_string(depth) +
                      " numbers a place; the data " + to_string(data) + " takes 1 to " +
                      std::to_string(rank - batch_dims));
  }
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  shape.insert(shape.end(), data.begin() + places(batch_dims + depth), data.end());
  return shape;
}

OutputTypes infer_gather_nd(const NodeContext& context) {
  const TensorType& data = *context.inputs[0];
  const TensorType& indices = *context.inputs[1];
  const std::int64_t batch = attribute_or(context.node, "batch_dims", std::int64_t{0});
  const auto least_rank =
      static_cast<std::int64_t>(std::min(data.shape.size(), indices.shape.size()));
  if (batch < 0 || batch >= least_rank ||
      !std::equal(data.shape.begin(), data.shape.begin() + places(batch), indices.shape.begin())) {
    return unreadable("batch_dims = " + std::to_string(batch) + " does not fit data " +
                      to_string(data.shape) + " and indices " + to_string(indices.shape));
  }
  const Shape shape = TRY(nd_slices(data.shape, indices, batch));
  return std::vector<TensorType>{{data.dtype, shape}};
}

// The node's indices with the batch's own places before them, as if batch_dims were 0.
std::string whole_indices(GradientBuilder& b, std::int64_t batch) {
  const Shape indices = b.shape_of(b.input(1));
  if (batch == 0) return b.input(1);
  std::vector<std::string> parts;
  for (std::int64_t axis = 0; axis < batch; ++axis) {
    Integers numbers(static_cast<std::size_t>(indices[static_cast<std::size_t>(axis)]));
    std::iota(numbers.begin(), numbers.end(), 0);
    Shape along(indices.size(), 1), target = indices;
    along[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(numbers.size());
    target.back() = 1;
    parts.push_back(b.expand(b.reshape(b.integers(numbers), along), target));
  }
  parts.push_back(b.input(1));
  return b.append("indices", "Concat", parts, {{"axis", std::int64_t{-1}}});
}

Status gradient_of_gather_nd(GradientBuilder& b) {
  if (!b.wants(0)) return {};
  const std::int64_t batch = attribute_or(b.node(), "batch_dims", std::int64_t{0});
  const std::string indices = whole_indices(b, batch);
  b.give(0,
         b.append("scatter", "ScatterND", {zeros(b, b.type_of(b.input(0))), indices, b.cotangent()},
                  {{"reduction", "add"}}));
  return {};
}

Status check_updates(const NodeContext& context, const Shape& expected) {
  TRY(expect_like_first(context, 2, "updates"));
  const std::string reduction = TRY(chosen(context.node, "reduction", {"none", "add", "mul"}));
  if (reduction != "none" && context.inputs[0]->dtype == DType::kBool) {
    return unsupported("reduction '" + reduction + "' of bool; cast to uint8 before it");
  }
  if (context.inputs[2]->shape == expected) return {};
  return unreadable("updates has shape " + to_string(context.inputs[2]->shape) + "; expected " +
                    to_string(expected));
}

OutputTypes infer_scatter_nd(const NodeContext& context) {
  const Shape expected = TRY(nd_slices(context.inputs[0]->shape, *context.inputs[1], 0));
  TRY(check_updates(context, expected));
  return std::vector<TensorType>{*context.inputs[0]};
}

// Indices as large as the data at most, along every axis but `axis`.
Status check_element_indices(const NodeContext& context) {
  const Shape& data = context.inputs[0]->shape;
  const TensorType& indices = *context.inputs[1];
  TRY(expect_index_type(indices, "indices"));
  const std::int64_t requested = attribute_or(context.node, "axis", std::int64_t{0});
  const std::size_t axis = TRY(resolved_axis(requested, data.size()));
  TRY(expect_rank(indices, data.size(), "indices"));
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (i != axis && indices.shape[i] > data[i]) {
      return unreadable("indices " + to_string(indices.shape) + " reach beyond data " +
                        to_string(data) + " along axis " + std::to_string(i));
    }
  }
  return {};
}

OutputTypes infer_gather_elements(const NodeContext& context) {
  TRY(check_element_indices(context));
  return std::vector<TensorType>{{context.inputs[0]->dtype, context.inputs[1]->shape}};
}

Status gradient_of_gather_elements(GradientBuilder& b) {
  if (!b.wants(0)) return {};
  const std::int64_t axis = attribute_or(b.node(), "axis", std::int64_t{0});
  b.give(0, b.append("scatter", "ScatterElements",
                     {zeros(b, b.type_of(b.input(0))), b.input(1), b.cotangent()},
                     {{"axis", axis}, {"reduction", "add"}}));
  return {};
}

OutputTypes infer_scatter_elements(const NodeContext& context) {
  TRY(check_element_indices(context));
  TRY(check_updates(context, context.inputs[1]->shape));
  return std::vector<TensorType>{*context.inputs[0]};
}

// Scattering with `op` and reading back with `gather`. The product's gradient divides by the
// update: one that is 0 gets NaN rather than a wrong number.
Status gradient_of_scatter(GradientBuilder& b, std::string_view op, std::string_view gather) {
  const std::string g = b.cotangent(), indices = b.input(1), updates = b.input(2);
  const std::string reduction = attribute_or(b.node(), "reduction", std::string_view("none"));
  Attributes axis = b.node().attributes;
  axis.erase("reduction");
  if (b.wants(0) && reduction == "add") b.give(0, g);
  if (b.wants(0) && reduction != "add") {
    const std::string factor =
        reduction == "none" ? zeros(b, TensorType(b.type_of(updates))) : updates;
    b.give(0, b.append("data", op, {g, indices, factor}, b.node().attributes));
  }
  if (!b.wants(2)) return {};
  if (reduction == "mul") {
    const std::string product = b.append("gather", gather, {b.mul(g, b.output(0)), indices}, axis);
    b.give(2, b.div(product, updates));
  } else {
    b.give(2, b.append("gather", gather, {g, indices}, axis));
  }
  return {};
}

Status gradient_of_scatter_nd(GradientBuilder& b) {
  return gradient_of_scatter(b, "ScatterND", "GatherND");
}

Status gradient_of_scatter_elements(GradientBuilder& b) {
  return gradient_of_scatter(b, "ScatterElements", "GatherElements");
}

OutputTypes infer_one_hot(const NodeContext& context) {
  const TensorType& indices = *context.inputs[0];
  const TensorType& values = *context.inputs[2];
  if (indices.dtype == DType::kBool) return unreadable("indices is bool; expected numbers");
  const auto depth = static_cast<std::int64_t>(TRY(constant_number(context, 1, "depth")));
  if (values.shape != Shape{2}) {
    return unreadable("values has shape " + to_string(values.shape) + "; expected [2]: off, on");
  }
  const std::int64_t requested = attribute_or(context.node, "axis", std::int64_t{-1});
  const std::size_t axis = TRY(resolved_axis(requested, indices.shape.size() + 1));
  Shape shape = indices.shape;
  shape.insert(shape.begin() + places(static_cast<std::int64_t>(axis)), depth);
  return std::vector<TensorType>{{values.dtype, shape}};
}

// values = [off, on]: each gets the sum of g where it stands.
Status gradient_of_one_hot(GradientBuilder& b) {
  if (!b.wants(2)) return {};
  const DType dtype = b.type_of(b.input(2)).dtype;
  const std::vector<double> bits = {0, 1};
  const std::string mask_values =
      b.constant_value(converted(Tensor::of<double>({2}, bits).ref(), dtype));
  const std::string g = b.cotangent();
  const std::string mask =
      b.append("mask", "OneHot", {b.input(0), b.input(1), mask_values}, b.node().attributes);
  Integers axes(b.shape_of(g).size());
  std::iota(axes.begin(), axes.end(), 0);
  const std::string on = b.reshape(b.sum(b.mul(g, mask), axes, false), {1});
  const std::string off = b.sub(b.reshape(b.sum(g, axes, false), {1}), on);
  b.give(2, b.append("concat", "Concat", {off, on}, {{"axis", std::int64_t{0}}}));
  return {};
}

OutputTypes infer_top_k(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  if (input.dtype == DType::kBool) return unreadable("the input is bool; expected numbers");
  const std::int64_t requested = attribute_or(context.node, "axis", std::int64_t{-1});
  const std::size_t axis = TRY(resolved_axis(requested, input.shape.size()));
  const Integers k = TRY(constant_integers(context, 1, "K"));
  if (k.size() != 1 || k[0] < 0 || k[0] > input.shape[axis]) {
    return unreadable("K = " + to_string(k) + " along an axis of " +
                      std::to_string(input.shape[axis]));
  }
  Shape shape = input.shape;
  shape[axis] = k[0];
  return std::vector<TensorType>{{input.dtype, shape}, {DType::kInt64, shape}};
}

// Finding the k largest takes a comparison an element at least, and we count no more.
std::int64_t top_k_flops(const NodeContext& context, std::span<const TensorType>) {
  return context.inputs[0]->elements();
}

Status gradient_of_top_k(GradientBuilder& b) {
  if (b.cotangent(0).empty()) return {};
  const std::int64_t axis = attribute_or(b.node(), "axis", std::int64_t{-1});
  b.give(0, b.append("scatter", "ScatterElements",
                     {zeros(b, b.type_of(b.input(0))), b.output(1), b.cotangent(0)},
                     {{"axis", axis}}));
  return {};
}

std::vector<OpDef> gathering_rows() {
  return {
      {.name = "GatherND",
       .min_inputs = 2,
       .max_inputs = 2,
       .attributes = {{"batch_dims", kInt}},
       .infer = infer_gather_nd,
       .gradient = gradient_of_gather_nd,
       .summary = "Slices of the data at places named by the last axis of the indices, int64"},
      {.name = "GatherElements",
       .min_inputs = 2,
       .max_inputs = 2,
       .attributes = {{"axis", kInt}},
       .infer = infer_gather_elements,
       .gradient = gradient_of_gather_elements,
       .summary = "For each index the element at that place along `axis`, elsewhere at its own"},
      {.name = "ScatterND",
       .min_inputs = 3,
       .max_inputs = 3,
       .attributes = {{"reduction", kString}},
       .infer = infer_scatter_nd,
       .gradient = gradient_of_scatter_nd,
       .summary = "The data with updates put in, added or multiplied at places as in GatherND"},
      {.name = "ScatterElements",
       .min_inputs = 3,
       .max_inputs = 3,
       .attributes = {{"axis", kInt}, {"reduction", kString}},
       .infer = infer_scatter_elements,
       .gradient = gradient_of_scatter_elements,
       .summary = "The data with updates put in, added or multiplied at places as in "
                  "GatherElements"},
  };
}

}  // namespace

std::vector<OpDef> indexing_rows() {
  std::vector<OpDef> rows = gathering_rows();
  rows.push_back({.name = "OneHot",
                  .min_inputs = 3,
                  .max_inputs = 3,
                  .attributes = {{"axis", kInt}},
                  .infer = infer_one_hot,
                  .gradient = gradient_of_one_hot,
                  .summary = "values[1] at each index along a new `axis` of extent depth, a "
                             "constant; values[0] elsewhere"});
  rows.push_back({.name = "TopK",
                  .min_inputs = 2,
                  .max_inputs = 2,
                  .min_outputs = 1,
                  .max_outputs = 2,
                  .attributes = {{"axis", kInt}, {"largest", kInt}, {"sorted", kInt}},
                  .infer = infer_top_k,
                  .flops = top_k_flops,
                  .gradient = gradient_of_top_k,
                  .summary = "The K largest or least along `axis` in order, and their places; of "
                             "equal ones the first; K is a constant"});
  return rows;
}

}  // namespace gradstone
