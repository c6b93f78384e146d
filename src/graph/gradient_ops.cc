// SPDX-License-Identifier: Apache-2.0
// Shapes and costs of the operators that backward passes are made of. An adjoint's shape is checked
// with the shape rule of its forward operator, so that the geometry of windows stands in one place.
#include "graph/gradient_ops.h"

#include "graph/gradients.h"
#include "graph/node_rules.h"
#include "graph/onnx_ops.h"
#include "graph/op_table.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using Outputs = std::span<const TensorType>;

// The node as it stood in the forward pass: operator `op` with inputs of the given types.
class Forward {
 public:
  Forward(const NodeContext& context, std::string_view op, const std::vector<TensorType>& inputs)
      : node_(context.node) {
    node_.op = op;
    node_.domain.clear();
    node_.attributes.erase("input_shape");
    node_.attributes.erase("weight_shape");
    node_.inputs.clear();
    node_.outputs = {"output"};
    for (const TensorType& type : inputs) {
      node_.inputs.push_back("input" + std::to_string(types_.size()));
      types_.emplace(node_.inputs.back(), type);
    }
  }

  Result<TensorType> output() const {
    const std::vector<TensorType> outputs = TRY(infer_node(node_, types_, {}));
    return outputs.front();
  }

  std::int64_t flops() const {
    const OpDef& op = *find_op("", node_.op);
    const std::vector<TensorType> outputs = {output().value()};
    return op.flops(NodeInputs(node_, op, types_, {}).context(), outputs);
  }

 private:
  Node node_;
  ValueTypes types_;
};

Result<Shape> shape_attribute(const NodeContext& context, std::string_view name) {
  Shape shape = attribute_or(context.node, name, Shape{});
  const std::int64_t elements = TRY(checked_element_count(shape).within(name));
  if (elements > 0) return shape;
  return unreadable(std::string(name) + " " + to_string(shape) + " holds nothing");
}

Status check_cotangent(const TensorType& cotangent, const Forward& forward) {
  const TensorType expected = TRY(forward.output());
  if (cotangent == expected) return {};
  return unreadable("the cotangent is " + to_string(cotangent) + ", the forward output is " +
                    to_string(expected));
}

// Type of the forward input, whose shape is an attribute and whose elements are the cotangent's.
Result<TensorType> described_input(const NodeContext& context) {
  const std::size_t last = context.inputs.size() - 1;
  TRY(expect_floating(context, last, "the cotangent"));
  const Shape shape = TRY(shape_attribute(context, "input_shape"));
  return TensorType{context.inputs[last]->dtype, shape};
}

OutputTypes infer_conv_grad_input(const NodeContext& context) {
  const TensorType input = TRY(described_input(context));
  const Forward conv(context, "Conv", {input, *context.inputs[0]});
  TRY(check_cotangent(*context.inputs[1], conv));
  return std::vector{input};
}

std::int64_t flops_conv_grad_input(const NodeContext& context, Outputs outputs) {
  return Forward(context, "Conv", {outputs[0], *context.inputs[0]}).flops();
}

OutputTypes infer_conv_grad_weight(const NodeContext& context) {
  TRY(expect_floating(context, 1, "the cotangent"));
  const TensorType& cotangent = *context.inputs[1];
  const Shape shape = TRY(shape_attribute(context, "weight_shape"));
  const TensorType weight{cotangent.dtype, shape};
  const Forward conv(context, "Conv", {*context.inputs[0], weight});
  TRY(check_cotangent(cotangent, conv));
  return std::vector{weight};
}

std::int64_t flops_conv_grad_weight(const NodeContext& context, Outputs outputs) {
  return Forward(context, "Conv", {*context.inputs[0], outputs[0]}).flops();
}

OutputTypes infer_max_pool_grad(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  const Forward pool(context, "MaxPool", {input});
  TRY(check_cotangent(*context.inputs[1], pool));
  return std::vector{input};
}

OutputTypes infer_max_pool_gather(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  if (*context.inputs[1] != input) {
    return unreadable("gathers from " + to_string(*context.inputs[1]) + " at maxima of " +
                      to_string(input));
  }
  const TensorType pooled = TRY(Forward(context, "MaxPool", {input}).output());
  return std::vector{pooled};
}

OutputTypes infer_average_pool_grad(const NodeContext& context) {
  const TensorType input = TRY(described_input(context));
  const Forward pool(context, "AveragePool", {input});
  TRY(check_cotangent(*context.inputs[0], pool));
  return std::vector{input};
}

std::int64_t flops_average_pool_grad(const NodeContext& context, Outputs outputs) {
  return Forward(context, "AveragePool", {outputs[0]}).flops();
}

OutputTypes infer_channel_window_sum(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_floating(context, 0, "the input"));
  if (input.shape.size() < 2) return unreadable("needs a channel axis, not " + to_string(input));
  const std::int64_t size = attribute_or(context.node, "size", std::int64_t{0});
  if (size < 1) return unreadable("size " + std::to_string(size) + " is below 1");
  return std::vector{input};
}

std::int64_t flops_channel_window_sum(const NodeContext& context, Outputs outputs) {
  return saturating_product(
      {outputs[0].elements(), attribute_or(context.node, "size", std::int64_t{1})});
}

OutputTypes infer_gather_grad(const NodeContext& context) {
  const TensorType input = TRY(described_input(context));
  const Forward gather(context, "Gather", {input, *context.inputs[0]});
  TRY(check_cotangent(*context.inputs[1], gather));
  return std::vector{input};
}

OutputTypes infer_negative_log_likelihood_grad(const NodeContext& context) {
  const TensorType input = TRY(described_input(context));
  std::vector<TensorType> forward_inputs = {input, *context.inputs[0]};
  if (context.inputs[1]) forward_inputs.push_back(*context.inputs[1]);
  const Forward loss(context, "NegativeLogLikelihoodLoss", forward_inputs);
  TRY(check_cotangent(*context.inputs[2], loss));
  return std::vector{input};
}

OutputTypes infer_heaviside_step(const NodeContext& context) {
  TRY(expect_floating(context, 0, "the input"));
  return std::vector{*context.inputs[0]};
}

OutputTypes infer_sum_to(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  TRY(expect_floating(context, 0, "the input"));
  const Shape shape = TRY(shape_attribute(context, "shape"));
  if (!broadcasts_to(shape, input.shape)) {
    return unreadable("shape " + to_string(shape) + " does not broadcast to " +
                      to_string(input.shape));
  }
  return std::vector{TensorType{input.dtype, shape}};
}

OutputTypes infer_fill(const NodeContext& context) {
  const std::string name = attribute_or(context.node, "dtype", std::string_view("float32"));
  const std::optional<DType> dtype = dtype_from_name(name);
  if (!dtype) return unreadable("unknown dtype '" + name + "'");
  const Shape shape = TRY(shape_attribute(context, "shape"));
  return std::vector{TensorType{*dtype, shape}};
}

std::int64_t one_per_cotangent_element(const NodeContext& context, Outputs) {
  return context.inputs.back()->elements();
}

std::int64_t one_per_label(const NodeContext& context, Outputs) {
  return context.inputs.front()->elements();
}

// The attributes of an ONNX operator and one more. Asks onnx_ops() because op_table() is just being
// built.
std::vector<AttributeDef> with_attribute(std::string_view op, AttributeDef extra) {
  std::vector<AttributeDef> attributes;
  for (OpDef& row : onnx_ops()) {
    if (row.name == op) attributes = std::move(row.attributes);
  }
  if (!extra.name.empty()) attributes.push_back(extra);
  return attributes;
}

constexpr AttributeDef kInputShape{"input_shape", AttributeKind::kInts, true};

std::vector<OpDef> window_gradients() {
  return {
      {.name = "ConvGradInput",
       .min_inputs = 2,
       .max_inputs = 2,
       .attributes = with_attribute("Conv", kInputShape),
       .infer = infer_conv_grad_input,
       .flops = flops_conv_grad_input,
       .multiply_adds = true,
       .gradient = gradient_of_conv_grad_input,
       .summary = "(W, dY): gradient of Conv with respect to its input"},
      {.name = "ConvGradWeight",
       .min_inputs = 2,
       .max_inputs = 2,
       .attributes = with_attribute("Conv", {"weight_shape", AttributeKind::kInts, true}),
       .infer = infer_conv_grad_weight,
       .flops = flops_conv_grad_weight,
       .multiply_adds = true,
       .gradient = gradient_of_conv_grad_weight,
       .summary = "(X, dY): gradient of Conv with respect to its weight"},
      {.name = "MaxPoolGrad",
       .min_inputs = 2,
       .max_inputs = 2,
       .attributes = with_attribute("MaxPool", {}),
       .infer = infer_max_pool_grad,
       .flops = one_per_cotangent_element,
       .gradient = gradient_of_max_pool_grad,
       .summary = "(X, dY): dY added at the first maximum of each window"},
      {.name = "MaxPoolGather",
       .min_inputs = 2,
       .max_inputs = 2,
       .attributes = with_attribute("MaxPool", {}),
       .infer = infer_max_pool_gather,
       .gradient = gradient_of_max_pool_gather,
       .summary = "(X, G): G read at the first maximum of each window of X"},
      {.name = "AveragePoolGrad",
       .attributes = with_attribute("AveragePool", kInputShape),
       .infer = infer_average_pool_grad,
       .flops = flops_average_pool_grad,
       .gradient = gradient_of_average_pool_grad,
       .summary = "(dY): adjoint of AveragePool"},
      {.name = "ChannelWindowSum",
       .attributes = {{"size", AttributeKind::kInt, true}, {"transposed", AttributeKind::kInt}},
       .infer = infer_channel_window_sum,
       .flops = flops_channel_window_sum,
       .gradient = gradient_of_channel_window_sum,
       .summary = "(X): sum over channels c-floor((size-1)/2) to c+ceil((size-1)/2), as in LRN"},
  };
}

std::vector<OpDef> other_gradients() {
  return {
      {.name = "GatherGrad",
       .min_inputs = 2,
       .max_inputs = 2,
       .attributes = with_attribute("Gather", kInputShape),
       .infer = infer_gather_grad,
       .flops = one_per_cotangent_element,
       .gradient = gradient_of_gather_grad,
       .summary = "(indices, dY): dY added at the gathered places"},
      {.name = "NegativeLogLikelihoodGrad",
       .min_inputs = 3,
       .max_inputs = 3,
       .optional_input = 1,
       .attributes = with_attribute("NegativeLogLikelihoodLoss", kInputShape),
       .infer = infer_negative_log_likelihood_grad,
       .flops = one_per_label,
       .gradient = gradient_of_negative_log_likelihood_grad,
       .summary = "(labels, weight or none, dY): adjoint of NegativeLogLikelihoodLoss"},
      {.name = "HeavisideStep",
       .infer = infer_heaviside_step,
       .flops = one_per_input_element,
       .gradient = gradient_of_heaviside_step,
       .summary = "(X): 1 where x > 0, else 0"},
      {.name = "SumTo",
       .attributes = {{"shape", AttributeKind::kInts, true}},
       .infer = infer_sum_to,
       .flops = one_per_input_element,
       .gradient = gradient_of_sum_to,
       .summary = "(X): adjoint of broadcasting `shape` to X's shape"},
      {.name = "Fill",
       .min_inputs = 0,
       .max_inputs = 0,
       .attributes = {{"shape", AttributeKind::kInts, true},
                      {"value", AttributeKind::kFloat, true},
                      {"dtype", AttributeKind::kString, true}},
       .infer = infer_fill,
       .summary = "(): every element is `value`"},
  };
}

}  // namespace

std::vector<OpDef> gradient_ops() {
  std::vector<OpDef> rows = window_gradients();
  for (OpDef& row : other_gradients()) rows.push_back(std::move(row));
  for (OpDef& row : detection_gradient_rows()) rows.push_back(std::move(row));
  for (OpDef& row : rows) row.domain = kGradstoneDomain;
  return rows;
}

}  // namespace gradstone
