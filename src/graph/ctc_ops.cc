// SPDX-License-Identifier: Apache-2.0
#include "graph/gradients.h"
#include "graph/own_ops.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using enum AttributeKind;

enum Input : std::size_t { kLogits, kLabels, kInputLengths, kLabelLengths, kCotangent };

Status expect_shape(const TensorType& type, const Shape& shape, std::string_view what) {
  if (type.shape == shape) return {};
  return unreadable(std::string(what) + " has shape " + to_string(type.shape) + "; expected " +
                    to_string(shape));
}

// Log probabilities [T, N, C], labels [N, S], lengths [N] each. The loss is a scalar, or [N].
Result<TensorType> loss_type(const NodeContext& context) {
  const TensorType& logits = *context.inputs[kLogits];
  const TensorType& labels = *context.inputs[kLabels];
  TRY(expect_floating(context, kLogits, "the input"));
  TRY(expect_rank(logits, 3, "the input"));
  TRY(expect_rank(labels, 2, "the label input"));
  TRY(expect_index_type(labels, "the label input"));
  const Shape batch = {logits.shape[1]};
  TRY(expect_shape(labels, {logits.shape[1], labels.shape[1]}, "the label input"));
  TRY(expect_index_type(*context.inputs[kInputLengths], "input_lengths"));
  TRY(expect_shape(*context.inputs[kInputLengths], batch, "input_lengths"));
  TRY(expect_index_type(*context.inputs[kLabelLengths], "label_lengths"));
  TRY(expect_shape(*context.inputs[kLabelLengths], batch, "label_lengths"));
  const std::int64_t blank = attribute_or(context.node, "blank", std::int64_t{0});
  if (blank < 0 || blank >= logits.shape[2]) {
    return unreadable("blank " + std::to_string(blank) + " is outside 0.." +
                      std::to_string(logits.shape[2] - 1));
  }
  const std::string reduction = TRY(chosen(context.node, "reduction", {"mean", "sum", "none"}));
  return TensorType{logits.dtype, reduction == "none" ? batch : Shape{}};
}

OutputTypes infer_ctc_loss(const NodeContext& context) {
  return std::vector<TensorType>{TRY(loss_type(context))};
}

OutputTypes infer_ctc_loss_grad(const NodeContext& context) {
  const TensorType loss = TRY(loss_type(context));
  if (*context.inputs[kCotangent] != loss) {
    return unreadable("the cotangent is " + to_string(*context.inputs[kCotangent]) +
                      ", the loss is " + to_string(loss));
  }
  return std::vector<TensorType>{*context.inputs[kLogits]};
}

// Elements of alpha: steps times states, 2 S + 1 of them, for each sequence as if it were whole.
std::int64_t states(const NodeContext& context) {
  const Shape& logits = context.inputs[kLogits]->shape;
  const std::int64_t labels = context.inputs[kLabels]->shape[1];
  return saturating_product(
      {logits[0], logits[1], saturating_sum(saturating_product({2, labels}), 1)});
}

// A state adds three terms in log space (a maximum of three, three differences and exponentials,
// two sums, a logarithm, a sum) and the log probability: 13.
std::int64_t ctc_loss_flops(const NodeContext& context, std::span<const TensorType>) {
  return saturating_product({13, states(context)});
}

// Alpha and beta, then for each state their product over p, added to its label.
std::int64_t ctc_loss_grad_flops(const NodeContext& context, std::span<const TensorType>) {
  return saturating_product({2 * 13 + 5, states(context)});
}

Status gradient_of_ctc_loss(GradientBuilder& b) {
  std::vector<std::string> inputs = b.node().inputs;
  inputs.push_back(b.cotangent());
  b.give(kLogits, b.append("log_probability", "CTCLossGrad", inputs, b.node().attributes));
  return {};
}

}  // namespace

std::vector<OpDef> ctc_rows() {
  const std::vector<AttributeDef> attributes = {
      {"blank", kInt}, {"reduction", kString}, {"zero_infinity", kInt}};
  return {
      {.name = "CTCLoss",
       .domain = kGradstoneDomain,
       .min_inputs = 4,
       .max_inputs = 4,
       .attributes = attributes,
       .infer = infer_ctc_loss,
       .flops = ctc_loss_flops,
       .gradient = gradient_of_ctc_loss,
       .summary = "Connectionist temporal classification; inputs log probabilities [T, N, C], "
                  "labels [N, S], input_lengths [N], label_lengths [N]"},
      {.name = "CTCLossGrad",
       .domain = kGradstoneDomain,
       .min_inputs = 5,
       .max_inputs = 5,
       .attributes = attributes,
       .infer = infer_ctc_loss_grad,
       .flops = ctc_loss_grad_flops,
       .summary = "(log probabilities, labels, input_lengths, label_lengths, dY): gradient of "
                  "CTCLoss; has none itself"},
  };
}

}  // namespace gradstone
