// SPDX-License-Identifier: Apache-2.0
#include "graph/gradients.h"
#include "graph/onnx_ops.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using enum AttributeKind;

bool is_training(const NodeContext& context) {
  return attribute_or(context.node, "training_mode", std::int64_t{0}) != 0;
}

Status check_batch_normalization_outputs(const NodeContext& context) {
  const std::vector<std::string>& outputs = context.node.outputs;
  for (std::size_t i = 1; i < outputs.size(); ++i) {
    if (!outputs[i].empty() && !is_training(context)) {
      return unreadable("running statistics are outputs only with training_mode = 1");
    }
  }
  return {};
}

OutputTypes infer_batch_normalization(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_floating(context, 0, "the input"));
  if (input.shape.size() < 2) {
    return unreadable("the input has shape " + to_string(input.shape) +
                      "; expected [batch, channels, ...]");
  }
  TRY(chosen(context.node, "running_variance", {"population", "sample"}));
  TRY(check_batch_normalization_outputs(context));
  const Shape channels = {input.shape[1]};
  constexpr std::string_view kNames[] = {"the input", "scale", "bias", "mean", "variance"};
  for (std::size_t i = 1; i < 5; ++i) {
    TRY(expect_like_first(context, i, kNames[i]));
    if (context.inputs[i]->shape != channels) {
      return unreadable(std::string(kNames[i]) + " has shape " +
                        to_string(context.inputs[i]->shape) + "; expected " + to_string(channels));
    }
  }
  const TensorType statistic = {input.dtype, channels};
  return std::vector<TensorType>{input, statistic, statistic};
}

// Two operations an element to scale and shift (what concerns a whole channel is left out); in
// training also one for the mean and three (subtract, multiply, add) for the variance.
std::int64_t batch_normalization_flops(const NodeContext& context,
                                       std::span<const TensorType> outputs) {
  return saturating_product({is_training(context) ? 6 : 2, outputs[0].elements()});
}

OutputTypes infer_lrn(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_floating(context, 0, "the input"));
  if (input.shape.size() < 2) {
    return unreadable("the input has shape " + to_string(input.shape) +
                      "; expected [batch, channels, ...]");
  }
  const std::int64_t size = attribute_or(context.node, "size", std::int64_t{0});
  if (size < 1) return unreadable("size = " + std::to_string(size) + "; expected 1 or more");
  return std::vector<TensorType>{input};
}

// For each element its square, `size` - 1 additions, scale and bias, a power and a division.
std::int64_t lrn_flops(const NodeContext& context, std::span<const TensorType> outputs) {
  const std::int64_t size = attribute_or(context.node, "size", std::int64_t{1});
  return saturating_product({saturating_sum(size, 4), outputs[0].elements()});
}

// ratio and training_mode are inputs since opset 12; here they are constants, since a graph is
// either a training or an inference graph.
OutputTypes infer_dropout(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_floating(context, 0, "the input"));
  TRY(expect_floating(context, 1, "ratio"));
  if (context.inputs[1] != nullptr) {
    const double ratio = TRY(constant_number(context, 1, "ratio"));
    if (!(ratio >= 0 && ratio < 1)) {
      return unreadable("ratio is " + std::to_string(ratio) + "; expected [0, 1)");
    }
  }
  if (context.inputs[2] != nullptr) {
    TRY(constant_number(context, 2, "training_mode"));
    if (context.inputs[2]->dtype != DType::kBool) return unreadable("training_mode is not bool");
  }
  return std::vector<TensorType>{input, {DType::kBool, input.shape}};
}

// One product an element in training; drawing the mask is not counted. Nothing in inference.
std::int64_t dropout_flops(const NodeContext& context, std::span<const TensorType> outputs) {
  const bool training =
      context.constants[2] != nullptr && element_as_double(context.constants[2]->ref(), 0) != 0;
  return training ? outputs[0].elements() : 0;
}

}  // namespace

std::vector<OpDef> normalization_rows() {
  return {
      {.name = "BatchNormalization",
       .min_inputs = 5,
       .max_inputs = 5,
       .max_outputs = 3,
       .attributes = {{"epsilon", kFloat},
                      {"momentum", kFloat},
                      {"training_mode", kInt},
                      {"running_variance", kString}},
       .infer = infer_batch_normalization,
       .flops = batch_normalization_flops,
       .gradient = gradient_of_batch_normalization,
       .summary = "Per channel (X - mean) / sqrt(variance + epsilon) * scale + bias; in training "
                  "with the batch's statistics, and updated running ones as further outputs. "
                  "running_variance, not in ONNX: population (default) or sample"},
      {.name = "LRN",
       .attributes = {{"alpha", kFloat}, {"beta", kFloat}, {"bias", kFloat}, {"size", kInt, true}},
       .infer = infer_lrn,
       .flops = lrn_flops,
       .gradient = gradient_of_lrn,
       .summary = "Local response normalization across channels"},
      {.name = "Dropout",
       .max_inputs = 3,
       .max_outputs = 2,
       .attributes = {{"seed", kInt}},
       .infer = infer_dropout,
       .flops = dropout_flops,
       .gradient = gradient_of_dropout,
       .summary = "Inputs data, ratio (0.5), training_mode (false), the latter two constants; "
                  "outputs the data kept and scaled by 1 / (1 - ratio), and the mask"},
  };
}

}  // namespace gradstone
