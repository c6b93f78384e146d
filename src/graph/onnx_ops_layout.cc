// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "graph/gradients.h"
#include "graph/onnx_ops.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using enum AttributeKind;

OutputTypes infer_identity(const NodeContext& context) {
  return std::vector<TensorType>{*context.inputs[0]};
}

// Copies extents for 0 and finds where -1 stands; -1 itself stays.
Result<Shape> requested_shape(const Shape& input, Shape requested, bool allow_zero) {
  bool inferred = false;
  for (std::size_t i = 0; i < requested.size(); ++i) {
    if (requested[i] == 0 && !allow_zero) {
      if (i >= input.size()) {
        return unreadable("0 at place " + std::to_string(i) + " copies an extent that input " +
                          to_string(input) + " does not have");
      }
      requested[i] = input[i];
    }
    if (requested[i] < -1 || (requested[i] == -1 && inferred)) {
      return unreadable("shape " + to_string(requested) + "; expected extents and at most one -1");
    }
    inferred = inferred || requested[i] == -1;
  }
  return requested;
}

OutputTypes infer_reshape(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  const bool allow_zero = attribute_or(context.node, "allowzero", std::int64_t{0}) != 0;
  const Shape requested = TRY(constant_integers(context, 1, "shape"));
  Shape shape = TRY(requested_shape(input.shape, requested, allow_zero));
  std::int64_t* inferred = nullptr;
  Shape known;
  for (std::int64_t& extent : shape) {
    if (extent == -1) {
      inferred = &extent;
    } else {
      known.push_back(extent);
    }
  }
  const std::int64_t count = TRY(checked_element_count(known));
  const std::int64_t elements = input.elements();
  if (inferred != nullptr && count > 0 && elements % count == 0) *inferred = elements / count;
  if (inferred == nullptr ? count == elements : *inferred != -1) {
    return std::vector<TensorType>{{input.dtype, shape}};
  }
  return unreadable("input " + to_string(input.shape) + " has " + std::to_string(elements) +
                    " elements, which do not fit shape " + to_string(requested));
}

OutputTypes infer_flatten(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  const std::int64_t axis = attribute_or(context.node, "axis", std::int64_t{1});
  const auto split =
      static_cast<std::ptrdiff_t>(TRY(resolved_axis(axis, input.shape.size(), /*allow_end=*/true)));
  const Shape before(input.shape.begin(), input.shape.begin() + split);
  const Shape after(input.shape.begin() + split, input.shape.end());
  return std::vector<TensorType>{{input.dtype, {element_count(before), element_count(after)}}};
}

OutputTypes infer_transpose(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  const std::size_t rank = input.shape.size();
  std::vector<std::int64_t> reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const std::vector<std::int64_t> order = attribute_or(context.node, "perm", reversed);
  std::vector<bool> seen(rank, false);
  Shape shape;
  for (const std::int64_t axis : order) {
    const bool inside = axis >= 0 && axis < static_cast<std::int64_t>(rank);
    if (!inside || seen[static_cast<std::size_t>(axis)]) break;
    seen[static_cast<std::size_t>(axis)] = true;
    shape.push_back(input.shape[static_cast<std::size_t>(axis)]);
  }
  if (shape.size() != rank || order.size() != rank) {
    return unreadable("perm " + to_string(order) + " is no order of the " + std::to_string(rank) +
                      " axes of the input");
  }
  return std::vector<TensorType>{{input.dtype, shape}};
}

OutputTypes infer_concat(const NodeContext& context) {
  const TensorType& first = *context.inputs[0];
  const std::int64_t requested = attribute_or(context.node, "axis", std::int64_t{0});
  const std::size_t axis = TRY(resolved_axis(requested, first.shape.size()));
  Shape shape = first.shape;
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    TRY(expect_like_first(context, i, "input " + std::to_string(i)));
    Shape other = context.inputs[i]->shape;
    if (other.size() == shape.size()) {
      shape[axis] = saturating_sum(shape[axis], other[axis]);
      other[axis] = shape[axis];
    }
    if (other != shape) {
      return unreadable("input " + std::to_string(i) + " has shape " +
                        to_string(context.inputs[i]->shape) + ", the first has " +
                        to_string(first.shape) + "; they may differ along axis " +
                        std::to_string(axis) + " only");
    }
  }
  return std::vector<TensorType>{{first.dtype, shape}};
}

OutputTypes infer_expand(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  const Shape requested = TRY(constant_integers(context, 1, "shape"));
  const Shape shape = TRY(broadcast_shapes(input.shape, requested));
  return std::vector<TensorType>{{input.dtype, shape}};
}

}  // namespace

std::vector<OpDef> layout_rows() {
  return {
      {.name = "Identity",
       .infer = infer_identity,
       .gradient = gradient_of_identity,
       .summary = "The input"},
      {.name = "Reshape",
       .min_inputs = 2,
       .max_inputs = 2,
       .attributes = {{"allowzero", kInt}},
       .infer = infer_reshape,
       .gradient = gradient_of_reshape,
       .summary = "Another shape, a constant; 0 copies an extent, -1 takes the rest"},
      {.name = "Flatten",
       .attributes = {{"axis", kInt}},
       .infer = infer_flatten,
       .gradient = gradient_of_reshape,
       .summary = "A matrix: the axes before `axis` by the others"},
      {.name = "Transpose",
       .attributes = {{"perm", kInts}},
       .infer = infer_transpose,
       .gradient = gradient_of_transpose,
       .summary = "Axes in another order; by default reversed"},
      {.name = "Concat",
       .max_inputs = kVariadic,
       .attributes = {{"axis", kInt, true}},
       .infer = infer_concat,
       .gradient = gradient_of_concat,
       .summary = "Inputs one after the other along `axis`"},
      {.name = "Expand",
       .min_inputs = 2,
       .max_inputs = 2,
       .infer = infer_expand,
       .gradient = gradient_of_expand,
       .summary = "The input broadcast with a shape, a constant"},
  };
}

}  // namespace gradstone
