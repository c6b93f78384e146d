// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_ops.h"
#include "graph/recurrent.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using enum AttributeKind;

// Y, the last hidden state and, of LSTM, the last cell state.
OutputTypes infer_recurrent(const NodeContext& context) {
  const Recurrence r = TRY(recurrence_of(context));
  const DType dtype = context.inputs[0]->dtype;
  const TensorType state = {dtype, r.batch_first ? Shape{r.batch, r.directions, r.hidden}
                                                 : Shape{r.directions, r.batch, r.hidden}};
  const TensorType all = {dtype, r.batch_first ? Shape{r.batch, r.steps, r.directions, r.hidden}
                                               : Shape{r.steps, r.directions, r.batch, r.hidden}};
  std::vector<TensorType> outputs = {all, state};
  if (context.node.op == "LSTM") outputs.push_back(state);
  return outputs;
}

// Hidden units computed, over all steps of all sequences. Sequences count whole, whatever
// sequence_lens says: it is data.
std::int64_t units(const Recurrence& r) {
  return saturating_product({r.directions, r.steps, r.batch, r.hidden});
}

// Every gate of every unit: a row of W times the input, a row of R times the state.
std::int64_t recurrent_flops(const NodeContext& context, std::span<const TensorType>) {
  const Recurrence r = recurrence_of(context).value();
  return saturating_product({2, r.gates, units(r), saturating_sum(r.inputs, r.hidden)});
}

bool has(const NodeContext& context, std::size_t input) {
  return input < context.inputs.size() && context.inputs[input] != nullptr;
}

// A unit adds the two products of each gate and the two biases (added up beforehand), applies its
// activations, and combines: C = f C + i c, H = o h(C). A peephole is a product and a sum, a clip
// one operation an activation.
std::int64_t lstm_other_flops(const NodeContext& context, std::span<const TensorType>) {
  const Recurrence r = recurrence_of(context).value();
  std::int64_t each = 4 + 5 + 4;
  if (has(context, recurrent::kB)) each += 4;
  if (has(context, recurrent::kP)) each += 6;
  if (r.clip) each += 5;
  return saturating_product({each, units(r)});
}

// H = (1 - z) h + z H, and the reset; linear_before_reset keeps the second bias of h apart.
std::int64_t gru_other_flops(const NodeContext& context, std::span<const TensorType>) {
  const Recurrence r = recurrence_of(context).value();
  std::int64_t each = 3 + 3 + 1 + 4;
  if (has(context, recurrent::kB)) {
    each += attribute_or(context.node, "linear_before_reset", std::int64_t{0}) != 0 ? 4 : 3;
  }
  if (r.clip) each += 3;
  return saturating_product({each, units(r)});
}

std::int64_t rnn_other_flops(const NodeContext& context, std::span<const TensorType>) {
  const Recurrence r = recurrence_of(context).value();
  const std::int64_t each = 2 + (has(context, recurrent::kB) ? 1 : 0) + (r.clip ? 1 : 0);
  return saturating_product({each, units(r)});
}

OpDef recurrent_row(std::string_view name, int max_inputs, int max_outputs) {
  return {.name = name,
          .min_inputs = 3,
          .max_inputs = max_inputs,
          .min_outputs = 0,
          .max_outputs = max_outputs,
          .attributes = {{"activation_alpha", kFloats},
                         {"activation_beta", kFloats},
                         {"activations", kStrings},
                         {"clip", kFloat},
                         {"direction", kString},
                         {"hidden_size", kInt},
                         {"layout", kInt}},
          .infer = infer_recurrent,
          .flops = recurrent_flops,
          .multiply_adds = true};
}

}  // namespace

std::vector<OpDef> recurrent_rows() {
  OpDef lstm = recurrent_row("LSTM", 8, 3);
  lstm.attributes.push_back({"input_forget", kInt});
  lstm.other_flops = lstm_other_flops;
  lstm.expand = expand_lstm;
  lstm.summary =
      "Long short-term memory; gates in the order i, o, f, c; inputs X, W, R and optional B, "
      "sequence_lens, initial_h, initial_c, peepholes P; outputs Y, Y_h, Y_c";
  OpDef gru = recurrent_row("GRU", 6, 2);
  gru.attributes.push_back({"linear_before_reset", kInt});
  gru.other_flops = gru_other_flops;
  gru.expand = expand_gru;
  gru.summary =
      "Gated recurrent units; gates in the order z, r, h; inputs X, W, R and optional B, "
      "sequence_lens, initial_h; outputs Y, Y_h";
  OpDef rnn = recurrent_row("RNN", 6, 2);
  rnn.other_flops = rnn_other_flops;
  rnn.expand = expand_rnn;
  rnn.summary =
      "Simple recurrent layer; inputs X, W, R and optional B, sequence_lens, initial_h; outputs Y, "
      "Y_h";
  return {lstm, gru, rnn};
}

}  // namespace gradstone
