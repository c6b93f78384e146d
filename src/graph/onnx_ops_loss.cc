// SPDX-License-Identifier: Apache-2.0
#include "graph/gradients.h"
#include "graph/onnx_ops.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using enum AttributeKind;

// Scores [N, C, d...], labels [N, d...], optional class weights [C]. The loss is a scalar, or with
// reduction "none" as the labels.
Result<TensorType> loss_type(const NodeContext& context) {
  const TensorType& scores = *context.inputs[0];
  const TensorType& labels = *context.inputs[1];
  TRY(expect_floating(context, 0, "the input"));
  TRY(expect_index_type(labels, "the label input"));
  TRY(expect_like_first(context, 2, "the class weights"));
  if (scores.shape.size() < 2) {
    return unreadable("the input has shape " + to_string(scores.shape) +
                      "; expected [batch, classes, ...]");
  }
  Shape expected = scores.shape;
  expected.erase(expected.begin() + 1);
  if (labels.shape != expected) {
    return unreadable("the labels have shape " + to_string(labels.shape) + "; expected " +
                      to_string(expected));
  }
  const TensorType* weights = context.inputs[2];
  if (weights != nullptr && weights->shape != Shape{scores.shape[1]}) {
    return unreadable("the class weights have shape " + to_string(weights->shape) + "; expected " +
                      to_string(Shape{scores.shape[1]}));
  }
  const std::string reduction = TRY(chosen(context.node, "reduction", {"mean", "sum", "none"}));
  return TensorType{scores.dtype, reduction == "none" ? labels.shape : Shape{}};
}

OutputTypes infer_softmax_cross_entropy(const NodeContext& context) {
  return std::vector<TensorType>{TRY(loss_type(context)), *context.inputs[0]};
}

OutputTypes infer_negative_log_likelihood(const NodeContext& context) {
  return std::vector<TensorType>{TRY(loss_type(context))};
}

// One addition a label.
std::int64_t picking_flops(const NodeContext& context, std::span<const TensorType>) {
  return context.inputs[1]->elements();
}

// LogSoftmax (five an element), then one addition a label.
std::int64_t softmax_cross_entropy_flops(const NodeContext& context, std::span<const TensorType>) {
  return saturating_sum(saturating_product({5, context.inputs[0]->elements()}),
                        context.inputs[1]->elements());
}

}  // namespace

std::vector<OpDef> loss_rows() {
  return {
      {.name = "SoftmaxCrossEntropyLoss",
       .min_inputs = 2,
       .max_inputs = 3,
       .max_outputs = 2,
       .attributes = {{"ignore_index", kInt}, {"reduction", kString}},
       .infer = infer_softmax_cross_entropy,
       .flops = softmax_cross_entropy_flops,
       .gradient = gradient_of_softmax_cross_entropy_loss,
       .summary =
           "Negative logarithm of the label's Softmax; inputs scores, labels, optional class "
           "weights; outputs the loss and the log probabilities"},
      {.name = "NegativeLogLikelihoodLoss",
       .min_inputs = 2,
       .max_inputs = 3,
       .attributes = {{"ignore_index", kInt}, {"reduction", kString}},
       .infer = infer_negative_log_likelihood,
       .flops = picking_flops,
       .gradient = gradient_of_negative_log_likelihood_loss,
       .summary = "Minus the label's log probability; inputs log probabilities, labels, optional "
                  "class weights"},
  };
}

}  // namespace gradstone
