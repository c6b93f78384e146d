// SPDX-License-Identifier: Apache-2.0
#include "graph/expansion.h"
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
  TRY(expect_image(input));
  const Window window = TRY(pooling_window_of(context.node, spatial_part(input.shape)));
  return TensorType{input.dtype, with_spatial_part(input.shape[0], input.shape[1], window.output)};
}

OutputTypes infer_max_pool(const NodeContext& context) {
  const DType dtype = context.inputs[0]->dtype;
  if (dtype != DType::kInt8 && dtype != DType::kUInt8) {
    TRY(expect_floating(context, 0, "the input"));
  }
  const std::int64_t order = attribute_or(context.node, "storage_order", std::int64_t{0});
  if (order != 0 && order != 1) {
    return unreadable("storage_order = " + std::to_string(order) + "; expected 0 or 1");
  }
  const TensorType pooled = TRY(pooled_type(context));
  return std::vector<TensorType>{pooled, {DType::kInt64, pooled.shape}};
}

OutputTypes infer_average_pool(const NodeContext& context) {
  TRY(expect_floating(context, 0, "the input"));
  return std::vector<TensorType>{TRY(pooled_type(context))};
}

// A comparison, or an addition and at the end a division, for each place of each window, whether it
// lies in the padding or not.
std::int64_t pooling_flops(const NodeContext& context, std::span<const TensorType> outputs) {
  const Shape kernel = attribute_or(context.node, "kernel_shape", Shape{});
  return saturating_product(outputs[0].elements(), kernel);
}

OutputTypes infer_global_pool(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_floating(context, 0, "the input"));
  TRY(expect_image(input));
  const Shape ones(input.shape.size() - 2, 1);
  return std::vector<TensorType>{
      {input.dtype, with_spatial_part(input.shape[0], input.shape[1], ones)}};
}

// The maximum of one window as large as the image.
Status expand_global_max_pool(ExpansionBuilder& b) {
  const Shape shape = b.shape_of(b.input(0));
  b.set_output(0,
               b.append("pool", "MaxPool", {b.input(0)}, {{"kernel_shape", spatial_part(shape)}}));
  return {};
}

// Weight [input channels, output channels / groups, kernel...].
Status check_transposed_channels(const Node& node, const Shape& input, const Shape& weight) {
  const std::int64_t groups = attribute_or(node, "group", std::int64_t{1});
  if (weight[0] != input[1]) {
    return unreadable("weight has " + std::to_string(weight[0]) +
                      " input channels, the input has " + std::to_string(input[1]));
  }
  if (groups >= 1 && input[1] % groups == 0) return {};
  return unreadable("group = " + std::to_string(groups) + " does not divide " +
                    std::to_string(input[1]) + " input channels");
}

OutputTypes infer_conv_transpose(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  const TensorType& weight = *context.inputs[1];
  TRY(expect_floating(context, 0, "the input"));
  TRY(expect_like_first(context, 1, "weight"));
  TRY(expect_like_first(context, 2, "bias"));
  TRY(expect_image(input));
  TRY(expect_rank(weight, input.shape.size(), "weight"));
  TRY(check_transposed_channels(context.node, input.shape, weight.shape));
  const Shape kernel = spatial_part(weight.shape);
  const Shape stated = attribute_or(context.node, "kernel_shape", kernel);
  if (stated != kernel) {
    return unreadable("kernel_shape " + to_string(stated) + " is not the weight's " +
                      to_string(kernel));
  }
  const std::int64_t groups = attribute_or(context.node, "group", std::int64_t{1});
  const std::int64_t channels = saturating_product({weight.shape[1], groups});
  if (context.inputs[2] != nullptr && context.inputs[2]->shape != Shape{channels}) {
    return unreadable("bias has shape " + to_string(context.inputs[2]->shape) + "; expected " +
                      to_string(Shape{channels}));
  }
  const TransposedWindow window =
      TRY(transposed_window_of(context.node, kernel, spatial_part(input.shape)));
  Shape extents = window.output;
  for (std::size_t i = 0; i < extents.size(); ++i) extents[i] += window.zeros[i];
  return std::vector<TensorType>{
      {input.dtype, with_spatial_part(input.shape[0], channels, extents)}};
}

// A multiply-add for each input element and weight that it meets.
std::int64_t conv_transpose_flops(const NodeContext& context, std::span<const TensorType>) {
  const Shape& weight = context.inputs[1]->shape;
  return saturating_product(saturating_product({2, context.inputs[0]->elements()}),
                            std::span<const std::int64_t>(weight).subspan(1));
}

std::string with_zeros_behind(ExpansionBuilder& b, const std::string& value, const Shape& zeros) {
  if (zeros == Shape(zeros.size(), 0)) return value;
  Shape pads(zeros.size() + 4, 0);
  pads.insert(pads.end(), zeros.begin(), zeros.end());
  return b.append("zeros", "Pad", {value, b.integers(pads)});
}

Status expand_conv_transpose(ExpansionBuilder& b) {
  const Shape output = b.shape_of(b.node().outputs[0]);
  const TransposedWindow window = TRY(transposed_window_of(
      b.node(), spatial_part(b.shape_of(b.input(1))), spatial_part(b.shape_of(b.input(0)))));
  Shape pads = window.pads_begin;
  pads.insert(pads.end(), window.pads_end.begin(), window.pads_end.end());
  const std::string adjoint =
      b.append("conv", "ConvGradInput", {b.input(1), b.input(0)},
               {{"dilations", window.dilations},
                {"group", attribute_or(b.node(), "group", std::int64_t{1})},
                {"pads", pads},
                {"strides", window.strides},
                {"input_shape", with_spatial_part(output[0], output[1], window.output)}});
  std::string y = with_zeros_behind(b, adjoint, window.zeros);
  if (!b.input(2).empty()) {
    Shape channels(output.size() - 1, 1);
    channels[0] = output[1];
    y = b.add(y, b.reshape(b.input(2), channels));
  }
  b.set_output(0, y);
  return {};
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
      {.name = "ConvTranspose",
       .min_inputs = 2,
       .max_inputs = 3,
       .attributes = {{"auto_pad", kString},
                      {"dilations", kInts},
                      {"group", kInt},
                      {"kernel_shape", kInts},
                      {"output_padding", kInts},
                      {"output_shape", kInts},
                      {"pads", kInts},
                      {"strides", kInts}},
       .infer = infer_conv_transpose,
       .flops = conv_transpose_flops,
       .multiply_adds = true,
       .other_flops = bias_flops,
       .expand = expand_conv_transpose,
       .summary = "Transposed convolution: the adjoint of Conv from its input's side; inputs X, W, "
                  "optional B"},
  };
}

std::vector<OpDef> pooling_rows() {
  return {
      {.name = "MaxPool",
       .max_outputs = 2,
       .attributes = {{"auto_pad", kString},
                      {"ceil_mode", kInt},
                      {"dilations", kInts},
                      {"kernel_shape", kInts, true},
                      {"pads", kInts},
                      {"storage_order", kInt},
                      {"strides", kInts}},
       .infer = infer_max_pool,
       .flops = pooling_flops,
       .gradient = gradient_of_max_pool,
       .summary =
           "Maximum of each window, and its place in the flat input; with storage_order 1 places "
           "within a channel count the first spatial axis fastest"},
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
       .infer = infer_global_pool,
       .flops = one_per_input_element,
       .gradient = gradient_of_global_average_pool,
       .summary = "Average over all spatial axes"},
      {.name = "GlobalMaxPool",
       .infer = infer_global_pool,
       .flops = one_per_input_element,
       .expand = expand_global_max_pool,
       .summary = "Maximum over all spatial axes"},
  };
}

}  // namespace gradstone
