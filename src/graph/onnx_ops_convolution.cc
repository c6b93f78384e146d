// SPDX-License-Identifier: Apache-2.0
#include "graph/gradients.h"
#include "graph/onnx_ops.h"
#include "graph/shape_rules.h"
#include "graph/window.h"

namespace gradstone {
namespace {

using enum AttributeKind;

Shape spatial_part(const Shape& shape) { return Shape(shape.begin() + 2, shape.end()); }

Shape with_spatial_part(std::int64_t batch, std::int64_t channels, const Shape& spatial) {
  Shape shape = {batch, channels};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

Status expect_image(const TensorType& type) {
  const std::size_t rank = type.shape.size();
  if (rank >= 3 && rank <= 5) return {};
  return unreadable("the input has shape " + to_string(type.shape) +
                    "; expected [batch, channels, 1 to 3 spatial axes]");
}

// Weight [outputs, channels / groups, kernel...].
Status check_conv_channels(const Node& node, const Shape& input, const Shape& weight) {
  const std::int64_t groups = attribute_or(node, "group", std::int64_t{1});
  if (groups < 1 || input[1] % groups != 0 || weight[0] % groups != 0) {
    return unreadable("group = " + std::to_string(groups) + " does not divide " +
                      std::to_string(input[1]) + " input and " + std::to_string(weight[0]) +
                      " output channels");
  }
  if (weight[1] == input[1] / groups) return {};
  if (groups == 1) {
    return unreadable("weight has " + std::to_string(weight[1]) +
                      " input channels, the input has " + std::to_string(input[1]));
  }
  return unreadable("weight has " + std::to_string(weight[1]) + " input channels a group, " +
                    std::to_string(groups) + " groups of the input have " +
                    std::to_string(input[1] / groups));
}

OutputTypes infer_conv(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  const TensorType& weight = *context.inputs[1];
  TRY(expect_floating(context, 0, "the input"));
  TRY(expect_like_first(context, 1, "weight"));
  TRY(expect_like_first(context, 2, "bias"));
  TRY(expect_image(input));
  TRY(expect_rank(weight, input.shape.size(), "weight"));
  TRY(check_conv_channels(context.node, input.shape, weight.shape));
  const Shape kernel = spatial_part(weight.shape);
  const Shape stated = attribute_or(context.node, "kernel_shape", kernel);
  if (stated != kernel) {
    return unreadable("kernel_shape " + to_string(stated) + " is not the weight's " +
                      to_string(kernel));
  }
  const TensorType* bias = context.inputs[2];
  if (bias != nullptr && bias->shape != Shape{weight.shape[0]}) {
    return unreadable("bias has shape " + to_string(bias->shape) + "; expected " +
                      to_string(Shape{weight.shape[0]}));
  }
  const Window window = TRY(window_of(context.node, kernel, spatial_part(input.shape)));
  return std::vector<TensorType>{
      {input.dtype, with_spatial_part(input.shape[0], weight.shape[0], window.output)}};
}

// A multiply-add for each output element and weight that reaches it, padding counted as data.
std::int64_t conv_flops(const NodeContext& context, std::span<const TensorType> outputs) {
  const Shape& weight = context.inputs[1]->shape;
  return saturating_product(saturating_product({2, outputs[0].elements()}),
                            std::span<const std::int64_t>(weight).subspan(1));
}

std::int64_t bias_flops(const NodeContext& context, std::span<const TensorType> outputs) {
  return context.inputs[2] == nullptr ? 0 : outputs[0].elements();
}

Result<TensorType> pooled_type(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_floating(context, 0, "the input"));
  TRY(expect_image(input));
  const Window window = TRY(pooling_window_of(context.node, spatial_part(input.shape)));
  return TensorType{input.dtype, with_spatial_part(input.shape[0], input.shape[1], window.output)};
}

OutputTypes infer_max_pool(const NodeContext& context) {
  if (context.node.outputs.size() > 1 && !context.node.outputs[1].empty()) {
    return unsupported(
        "output Indices is not supported, since frameworks number places differently; use Y only");
  }
  const TensorType pooled = TRY(pooled_type(context));
  return std::vector<TensorType>{pooled, {DType::kInt64, pooled.shape}};
}

OutputTypes infer_average_pool(const NodeContext& context) {
  return std::vector<TensorType>{TRY(pooled_type(context))};
}

// A comparison, or an addition and at the end a division, for each place of each window, whether it
// lies in the padding or not.
std::int64_t pooling_flops(const NodeContext& context, std::span<const TensorType> outputs) {
  const Shape kernel = attribute_or(context.node, "kernel_shape", Shape{});
  return saturating_product(outputs[0].elements(), kernel);
}

OutputTypes infer_global_average_pool(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_floating(context, 0, "the input"));
  TRY(expect_image(input));
  const Shape ones(input.shape.size() - 2, 1);
  return std::vector<TensorType>{
      {input.dtype, with_spatial_part(input.shape[0], input.shape[1], ones)}};
}

}  // namespace

std::vector<OpDef> convolution_rows() {
  return {
      {.name = "Conv",
       .min_inputs = 2,
       .max_inputs = 3,
       .attributes = {{"auto_pad", kString},
                      {"dilations", kInts},
                      {"group", kInt},
                      {"kernel_shape", kInts},
                      {"pads", kInts},
                      {"strides", kInts}},
       .infer = infer_conv,
       .flops = conv_flops,
       .multiply_adds = true,
       .other_flops = bias_flops,
       .gradient = gradient_of_conv,
       .summary = "Convolution over 1 to 3 spatial axes; inputs X, W, optional B"},
      {.name = "MaxPool",
       .max_outputs = 2,
       .attributes = {{"auto_pad", kString},
                      {"ceil_mode", kInt},
                      {"dilations", kInts},
                      {"kernel_shape", kInts, true},
                      {"pads", kInts},
                      {"strides", kInts}},
       .infer = infer_max_pool,
       .flops = pooling_flops,
       .gradient = gradient_of_max_pool,
       .summary = "Maximum of each window; output Indices is not supported"},
      {.name = "AveragePool",
       .attributes = {{"auto_pad", kString},
                      {"ceil_mode", kInt},
                      {"count_include_pad", kInt},
                      {"kernel_shape", kInts, true},
                      {"pads", kInts},
                      {"strides", kInts}},
       .infer = infer_average_pool,
       .flops = pooling_flops,
       .gradient = gradient_of_average_pool,
       .summary = "Average of each window; with count_include_pad over the padded input, without "
                  "over the input"},
      {.name = "GlobalAveragePool",
       .infer = infer_global_average_pool,
       .flops = one_per_input_element,
       .gradient = gradient_of_global_average_pool,
       .summary = "Average over all spatial axes"},
  };
}

}  // namespace gradstone
