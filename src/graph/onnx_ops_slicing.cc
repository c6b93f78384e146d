// SPDX-License-Identifier: Apache-2.0
#include "graph/gradients.h"
#include "graph/onnx_ops.h"
#include "graph/shape_rules.h"
#include "graph/slicing.h"

namespace gradstone {
namespace {

using enum AttributeKind;

// Whether every index lies inside the axis is known only when the graph runs.
OutputTypes infer_gather(const NodeContext& context) {
  const TensorType& data = *context.inputs[0];
  const TensorType& indices = *context.inputs[1];
  TRY(expect_index_type(indices, "indices"));
  const std::int64_t requested = attribute_or(context.node, "axis", std::int64_t{0});
  const auto axis = static_cast<std::ptrdiff_t>(TRY(resolved_axis(requested, data.shape.size())));
  Shape shape(data.shape.begin(), data.shape.begin() + axis);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), data.shape.begin() + axis + 1, data.shape.end());
  return std::vector<TensorType>{{data.dtype, shape}};
}

OutputTypes infer_slice(const NodeContext& context) {
  const Slicing slicing = TRY(slicing_of(context));
  return std::vector<TensorType>{{context.inputs[0]->dtype, slicing.extents}};
}

OutputTypes infer_pad(const NodeContext& context) {
  TRY(expect_like_first(context, 2, "constant_value"));
  const Pads pads = TRY(pads_of(context));
  if (pads.mode == PadMode::kConstant) TRY(padding_of(context));
  TensorType type = *context.inputs[0];
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    type.shape[i] += pads.begin[i] + pads.end[i];
  }
  return std::vector<TensorType>{type};
}

}  // namespace

std::vector<OpDef> slicing_rows() {
  return {
      {.name = "Gather",
       .min_inputs = 2,
       .max_inputs = 2,
       .attributes = {{"axis", kInt}},
       .infer = infer_gather,
       .gradient = gradient_of_gather,
       .summary = "Slices of the data along `axis` at the indices, int32 or int64; negative ones "
                  "count from the end"},
      {.name = "Slice",
       .min_inputs = 3,
       .max_inputs = 5,
       .infer = infer_slice,
       .gradient = gradient_of_slice,
       .summary = "A box of the data: starts, ends, axes, steps, all constants"},
      {.name = "Pad",
       .min_inputs = 2,
       .max_inputs = 3,
       .attributes = {{"mode", kString}},
       .infer = infer_pad,
       .gradient = gradient_of_pad,
       .summary = "The data with a constant, its mirror image or its border around it; pads, which "
                  "may be negative, and constant_value are constants"},
  };
}

}  // namespace gradstone
