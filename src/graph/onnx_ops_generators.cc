// SPDX-License-Identifier: Apache-2.0
// Values made from shapes and numbers, not from the elements of a tensor. No gradient flows.
#include <algorithm>
#include <cmath>

#include "graph/onnx_dtype.h"
#include "graph/onnx_ops.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using enum AttributeKind;

// A place in a shape, counted from the end if negative, and clamped.
std::int64_t clamped_axis(std::int64_t axis, std::int64_t rank) {
  return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
}

OutputTypes infer_shape(const NodeContext& context) {
  const auto rank = static_cast<std::int64_t>(context.inputs[0]->shape.size());
  const std::int64_t start =
      clamped_axis(attribute_or(context.node, "start", std::int64_t{0}), rank);
  const std::int64_t end = clamped_axis(attribute_or(context.node, "end", rank), rank);
  return std::vector<TensorType>{{DType::kInt64, {std::max<std::int64_t>(end - start, 0)}}};
}

OutputTypes infer_size(const NodeContext&) { return std::vector<TensorType>{{DType::kInt64, {}}}; }

OutputTypes infer_constant_of_shape(const NodeContext& context) {
  const std::string name = attribute_or(context.node, "dtype", std::string_view("float32"));
  const std::optional<DType> dtype = dtype_from_name(name);
  if (!dtype) return unreadable("unknown dtype '" + name + "'");
  const Shape shape = TRY(constant_integers(context, 0, "the shape"));
  return std::vector<TensorType>{{*dtype, shape}};
}

OutputTypes infer_range(const NodeContext& context) {
  const DType dtype = context.inputs[0]->dtype;
  if (dtype == DType::kBool || dtype == DType::kInt8 || dtype == DType::kUInt8) {
    return unreadable("the start is " + std::string(name_of(dtype)) +
                      "; expected float32, float64, int32 or int64");
  }
  TRY(expect_like_first(context, 1, "the limit"));
  TRY(expect_like_first(context, 2, "the delta"));
  const double start = TRY(constant_number(context, 0, "the start"));
  const double limit = TRY(constant_number(context, 1, "the limit"));
  const double delta = TRY(constant_number(context, 2, "the delta"));
  const double count = std::ceil((limit - start) / delta);
  if (!(std::abs(count) < static_cast<double>(kMaxElements))) {
    return unreadable("the numbers from " + std::to_string(start) + " to " + std::to_string(limit) +
                      " by " + std::to_string(delta) + " do not end");
  }
  return std::vector<TensorType>{{dtype, {std::max<std::int64_t>(std::int64_t(count), 0)}}};
}

OutputTypes infer_eye_like(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_rank(input, 2, "the input"));
  const std::int64_t code = attribute_or(context.node, "dtype", onnx_code(input.dtype));
  const std::optional<DType> dtype = dtype_from_onnx_code(code);
  if (!dtype) return unsupported("dtype " + std::to_string(code) + " of ONNX is not supported");
  return std::vector<TensorType>{{*dtype, input.shape}};
}

}  // namespace

std::vector<OpDef> generator_rows() {
  return {
      {.name = "Shape",
       .attributes = {{"start", kInt}, {"end", kInt}},
       .infer = infer_shape,
       .summary = "Extents of the input, those of axes `start` to `end`"},
      {.name = "Size", .infer = infer_size, .summary = "Number of elements of the input"},
      {.name = "ConstantOfShape",
       .attributes = {{"value", kFloat}, {"dtype", kString}},
       .infer = infer_constant_of_shape,
       .summary = "A tensor of the shape in the input, a constant; ONNX's one-element tensor "
                  "`value` is here a number (0) and a dtype by name (float32)"},
      {.name = "Range",
       .min_inputs = 3,
       .max_inputs = 3,
       .infer = infer_range,
       .summary = "start + i * delta up to and without limit; all three are constants"},
      {.name = "EyeLike",
       .attributes = {{"dtype", kInt}, {"k", kInt}},
       .infer = infer_eye_like,
       .summary = "A matrix of the input's shape with ones on diagonal `k`, zero elsewhere"},
  };
}

}  // namespace gradstone
