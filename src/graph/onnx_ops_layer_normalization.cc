// SPDX-License-Identifier: Apache-2.0
// Normalizations by the statistics of each sample: LayerNormalization, InstanceNormalization,
// MeanVarianceNormalization. Their gradients are those of their definitions.
#include <numeric>

#include "graph/element_types.h"
#include "graph/onnx_ops.h"
#include "graph/rule_parts.h"

namespace gradstone {
namespace {

using enum AttributeKind;
using Integers = std::vector<std::int64_t>;

Integers axes_from(std::size_t first, std::size_t rank) {
  Integers axes(rank - first);
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(first));
  return axes;
}

// The deviations from the mean over `axes`, and the population variance.
struct Moments {
  std::string mean, centred, variance;
};

Moments moments(NodeBuilder& b, const std::string& x, const Integers& axes) {
  Moments result;
  result.mean = axes.empty() ? x : b.mean(x, axes);
  result.centred = b.sub(x, result.mean);
  const std::string squares = b.mul(result.centred, result.centred);
  result.variance = axes.empty() ? squares : b.mean(squares, axes);
  return result;
}

std::string inverse_deviation(NodeBuilder& b, const std::string& variance) {
  const double epsilon = attribute_or(b.node(), "epsilon", 1e-5);
  return apply(b, "Reciprocal", apply(b, "Sqrt", b.offset(variance, epsilon)));
}

Result<std::size_t> layer_axis(const Node& node, const Shape& shape) {
  return resolved_axis(attribute_or(node, "axis", std::int64_t{-1}), shape.size());
}

// stash_type asks for statistics in another type. 1, float32, is ONNX's default, which would spoil
// float64: statistics have the type of the input.
OutputTypes infer_layer_normalization(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_floating(context, 0, "the input"));
  const std::size_t axis = TRY(layer_axis(context.node, input.shape));
  const Shape normalized(input.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                         input.shape.end());
  constexpr std::string_view kNames[] = {"", "scale", "bias"};
  for (std::size_t i = 1; i < 3; ++i) {
    TRY(expect_like_first(context, i, kNames[i]));
    const TensorType* type = context.inputs[i];
    if (type == nullptr || broadcasts_to(type->shape, normalized)) continue;
    return unreadable(std::string(kNames[i]) + " has shape " + to_string(type->shape) +
                      ", which does not broadcast to " + to_string(normalized));
  }
  TensorType statistic = input;
  std::fill(statistic.shape.begin() + static_cast<std::ptrdiff_t>(axis), statistic.shape.end(), 1);
  return std::vector<TensorType>{input, statistic, statistic};
}

Status expand_layer_normalization(ExpansionBuilder& b) {
  const Shape shape = b.shape_of(b.input(0));
  const std::size_t axis = TRY(layer_axis(b.node(), shape));
  const Moments m = moments(b, b.input(0), axes_from(axis, shape.size()));
  const std::string inverse = inverse_deviation(b, m.variance);
  const std::string scaled = b.mul(b.mul(m.centred, inverse), b.input(1));
  b.set_output(0, b.input(2).empty() ? scaled : b.add(scaled, b.input(2)));
  b.set_output(1, m.mean);
  b.set_output(2, inverse);
  return {};
}

// For each element one operation for the mean, three for the variance (subtract, multiply, add),
// two to normalize, one to scale and one to shift.
std::int64_t layer_normalization_flops(const NodeContext& context,
                                       std::span<const TensorType> outputs) {
  return saturating_product({context.inputs[2] == nullptr ? 7 : 8, outputs[0].elements()});
}

OutputTypes infer_instance_normalization(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_floating(context, 0, "the input"));
  if (input.shape.size() < 3) {
    return unreadable("the input has shape " + to_string(input.shape) +
                      "; expected [batch, channels, 1 or more spatial axes]");
  }
  constexpr std::string_view kNames[] = {"", "scale", "bias"};
  for (std::size_t i = 1; i < 3; ++i) {
    TRY(expect_like_first(context, i, kNames[i]));
    if (context.inputs[i]->shape == Shape{input.shape[1]}) continue;
    return unreadable(std::string(kNames[i]) + " has shape " + to_string(context.inputs[i]->shape) +
                      "; expected " + to_string(Shape{input.shape[1]}));
  }
  return std::vector<TensorType>{input};
}

Status expand_instance_normalization(ExpansionBuilder& b) {
  const Shape shape = b.shape_of(b.input(0));
  Shape channels(shape.size() - 1, 1);
  channels[0] = shape[1];
  const Moments m = moments(b, b.input(0), axes_from(2, shape.size()));
  const std::string slope =
      b.mul(b.reshape(b.input(1), channels), inverse_deviation(b, m.variance));
  b.set_output(0, b.add(b.mul(m.centred, slope), b.reshape(b.input(2), channels)));
  return {};
}

// As layer normalization, but scale and inverse deviation are one factor.
std::int64_t six_an_element(const NodeContext&, std::span<const TensorType> outputs) {
  return saturating_product({6, outputs[0].elements()});
}

// By default the axes of batch, height and width.
Result<std::vector<std::size_t>> mean_variance_axes(const Node& node, const Shape& shape) {
  return resolved_axes(attribute_or(node, "axes", Integers{0, 2, 3}), shape.size());
}

OutputTypes infer_mean_variance_normalization(const NodeContext& context) {
  TRY(expect_floating(context, 0, "the input"));
  TRY(mean_variance_axes(context.node, context.inputs[0]->shape));
  return std::vector<TensorType>{*context.inputs[0]};
}

// (x - mean) / (deviation + 1e-9), as ONNX defines it.
Status expand_mean_variance_normalization(ExpansionBuilder& b) {
  const auto axes = TRY(mean_variance_axes(b.node(), b.shape_of(b.input(0))));
  const Moments m = moments(b, b.input(0), {axes.begin(), axes.end()});
  b.set_output(0, b.div(m.centred, b.offset(apply(b, "Sqrt", m.variance), 1e-9)));
  return {};
}

}  // namespace

std::vector<OpDef> layer_normalization_rows() {
  return {
      {.name = "LayerNormalization",
       .min_inputs = 2,
       .max_inputs = 3,
       .max_outputs = 3,
       .attributes = {{"axis", kInt}, {"epsilon", kFloat}, {"stash_type", kInt}},
       .infer = infer_layer_normalization,
       .flops = layer_normalization_flops,
       .expand = expand_layer_normalization,
       .summary = "(X - mean) / sqrt(variance + epsilon) * scale + bias over the axes from `axis` "
                  "(-1); further outputs mean and 1 / sqrt(variance + epsilon), of X's type "
                  "whatever stash_type says"},
      {.name = "InstanceNormalization",
       .min_inputs = 3,
       .max_inputs = 3,
       .attributes = {{"epsilon", kFloat}},
       .infer = infer_instance_normalization,
       .flops = six_an_element,
       .expand = expand_instance_normalization,
       .summary = "The same over the spatial axes, with a scale and a bias for each channel"},
      {.name = "MeanVarianceNormalization",
       .attributes = {{"axes", kInts}},
       .infer = infer_mean_variance_normalization,
       .flops = six_an_element,
       .expand = expand_mean_variance_normalization,
       .summary = "(X - mean) / (deviation + 1e-9) over `axes` (0, 2, 3)"},
  };
}

}  // namespace gradstone
