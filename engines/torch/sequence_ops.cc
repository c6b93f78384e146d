// SPDX-License-Identifier: Apache-2.0
// Operators on sequences: LSTM, GRU and RNN by ATen's fused layers, where those compute the same, and
// CTC loss.
#include <algorithm>
#include <numeric>

#include "engines/torch/lowering_forms.h"
#include "engines/torch/support.h"
#include "graph/recurrent.h"

namespace gradstone::torch_engine {
namespace {

using namespace recurrent;

// ATen's layers know neither clipping, peepholes, coupled gates nor other activations.
Status check_plain(const LoweringContext& context, const Recurrence& r,
                   const std::vector<std::string>& activations) {
  if (r.clip) return unsupported("clip");
  if (context.input(kP) != kAbsent) return unsupported("peepholes");
  if (has_flag(context.node(), "input_forget")) return unsupported("input_forget");
  for (std::size_t i = 0; i < r.activations.size(); ++i) {
    const Activation& activation = r.activations[i];
    if (activation.name != activations[i % activations.size()]) {
      return unsupported("activation " + activation.name);
    }
  }
  return {};
}

// ATen takes lengths of descending order only. Constant ones that name all steps change nothing.
Status check_lengths(const LoweringContext& context, const Recurrence& r) {
  if (context.input(kLengths) == kAbsent) return {};
  const Tensor* lengths = context.rules.constants[kLengths];
  if (lengths == nullptr) return unsupported("sequence_lens that is no constant");
  for (std::int64_t i = 0; i < lengths->type().elements(); ++i) {
    if (element_as_double(lengths->ref(), i) != static_cast<double>(r.steps)) {
      return unsupported("sequence_lens that differ");
    }
  }
  return {};
}

// A layer of the three kinds around the call of ATen, which computes
// (x [steps, batch, inputs], state, weights) -> all outputs [steps, batch, directions * hidden],
// last state. ATen's directions are one forward, or both: "reverse" reads a reversed sequence.
struct Layer {
  Recurrence shape;
  std::vector<std::int64_t> gate_order;  // of ATen, in numbers of ONNX's
  std::vector<Slot> inputs, outputs;

  Slot input(std::size_t i) const { return i < inputs.size() ? inputs[i] : kAbsent; }
  Slot output(std::size_t i) const { return i < outputs.size() ? outputs[i] : kAbsent; }

  at::Tensor x(at::Tensor* v) const {
    const at::Tensor in = shape.batch_first ? v[inputs[kX]].transpose(0, 1) : v[inputs[kX]];
    return shape.starts_last ? in.flip(0) : in;
  }

  // [directions, batch, hidden]
  at::Tensor state(at::Tensor* v, std::size_t which) const {
    if (input(which) == kAbsent) {
      return at::zeros({shape.directions, shape.batch, shape.hidden}, v[inputs[kX]].options());
    }
    return shape.batch_first ? v[input(which)].transpose(0, 1).contiguous() : v[input(which)];
  }

  // For each direction W, R and, if there are biases, theirs, with the gates in ATen's order.
  std::vector<at::Tensor> weights(at::Tensor* v) const {
    std::vector<at::Tensor> all;
    for (std::int64_t direction = 0; direction < shape.directions; ++direction) {
      all.push_back(reordered(v[inputs[kW]].select(0, direction)));
      all.push_back(reordered(v[inputs[kR]].select(0, direction)));
      if (input(kB) == kAbsent) continue;
      for (const at::Tensor& bias : v[inputs[kB]].select(0, direction).chunk(2)) {
        all.push_back(reordered(bias));
      }
    }
    return all;
  }

  void give(at::Tensor* v, const at::Tensor& all, const at::Tensor& last) const {
    if (output(kY) != kAbsent) {
      const at::Tensor in_order = shape.starts_last ? all.flip(0) : all;
      const at::Tensor apart =
          in_order.reshape({shape.steps, shape.batch, shape.directions, shape.hidden});
      v[output(kY)] = shape.batch_first ? apart.transpose(0, 1) : apart.transpose(1, 2);
    }
    give_state(v, kLastH, last);
  }
  void give_state(at::Tensor* v, std::size_t which, const at::Tensor& last) const {
    if (output(which) != kAbsent) {
      v[output(which)] = shape.batch_first ? last.transpose(0, 1) : last;
    }
  }

 private:
  at::Tensor reordered(const at::Tensor& gates) const {
    if (gate_order.size() == 1) return gates;
    const std::vector<at::Tensor> parts = gates.chunk(static_cast<std::int64_t>(gate_order.size()));
    std::vector<at::Tensor> in_order;
    for (const std::int64_t gate : gate_order) {
      in_order.push_back(parts[static_cast<std::size_t>(gate)]);
    }
    return at::cat(in_order);
  }
};

Result<Layer> layer_of(const LoweringContext& context, const std::vector<std::string>& activations,
                       std::vector<std::int64_t> gate_order) {
  Layer layer{TRY(recurrence_of(context.rules)), std::move(gate_order), context.inputs,
              context.outputs};
  TRY(check_plain(context, layer.shape, activations));
  TRY(check_lengths(context, layer.shape));
  return layer;
}

// ONNX's gates are i, o, f, c; ATen's i, f, c, o.
Result<Step> lower_lstm(const LoweringContext& context) {
  const Layer layer = TRY(layer_of(context, {"Sigmoid", "Tanh", "Tanh"}, {0, 2, 3, 1}));
  return Step([=](at::Tensor* v) {
    const std::vector<at::Tensor> states = {layer.state(v, kInitialH), layer.state(v, kInitialC)};
    const auto [all, h, c] =
        at::lstm(layer.x(v), states, layer.weights(v), layer.input(kB) != kAbsent, 1, 0.0, false,
                 layer.shape.directions == 2, false);
    layer.give(v, all, h);
    layer.give_state(v, kLastC, c);
  });
}

// ONNX's gates are z, r, h; ATen's r, z, h. ATen resets what comes after the product with R.
Result<Step> lower_gru(const LoweringContext& context) {
  if (!has_flag(context.node(), "linear_before_reset"))
    return unsupported("linear_before_reset = 0");
  const Layer layer = TRY(layer_of(context, {"Sigmoid", "Tanh"}, {1, 0, 2}));
  return Step([=](at::Tensor* v) {
    const auto [all, h] =
        at::gru(layer.x(v), layer.state(v, kInitialH), layer.weights(v), layer.input(kB) != kAbsent,
                1, 0.0, false, layer.shape.directions == 2, false);
    layer.give(v, all, h);
  });
}

using Rnn = std::tuple<at::Tensor, at::Tensor> (*)(const at::Tensor&, const at::Tensor&,
                                                   at::TensorList, bool, std::int64_t, double, bool,
                                                   bool, bool);
Result<Step> lower_rnn(const LoweringContext& context) {
  const Recurrence recurrence = TRY(recurrence_of(context.rules));
  const bool relu = recurrence.activations[0].name == "Relu";
  const Layer layer = TRY(layer_of(context, {relu ? "Relu" : "Tanh"}, {0}));
  return Step([=](at::Tensor* v) {
    const auto run = [&](auto function) {
      return function(layer.x(v), layer.state(v, kInitialH), layer.weights(v),
                      layer.input(kB) != kAbsent, 1, 0.0, false, layer.shape.directions == 2,
                      false);
    };
    const auto [all, h] = relu ? run(Rnn{at::rnn_relu}) : run(Rnn{at::rnn_tanh});
    layer.give(v, all, h);
  });
}

// --- CTC loss

// The gradient that ATen has for its log probabilities p is softmax(p) minus the posterior: right for
// what stands before a LogSoftmax only. So p is normalized here, which that gradient passes
// unchanged, and the logarithms of the sums are taken off again; the softmax then cancels.
struct CtcLoss {
  Slot scores, labels, steps, label_lengths;
  std::int64_t blank = 0;
  bool zero_infinity = false;
  std::string reduction;

  // Of one run. Undefined gradients pass.
  struct Run {
    at::Tensor counted;     // [steps, batch], whether a step belongs to its sequence
    at::Tensor log_sums;    // [steps, batch]
    at::Tensor normalized;  // scores
    at::Tensor labels, label_lengths;
    Shape steps_of, labels_of;
    at::Tensor loss, log_alpha;  // of the normalized scores, for each sequence
  };

  Run run(at::Tensor* v) const {
    Run r;
    r.labels = v[labels].to(at::kLong);
    r.label_lengths = v[label_lengths].to(at::kLong);
    const at::Tensor lengths = v[steps].to(at::kLong);
    r.steps_of = list_of(lengths);
    r.labels_of = list_of(r.label_lengths);
    const at::Tensor numbers = at::arange(v[scores].size(0), at::kLong).unsqueeze(1);
    r.counted = numbers.lt(lengths.unsqueeze(0));
    r.log_sums = at::logsumexp(v[scores], 2);
    r.normalized = v[scores] - r.log_sums.unsqueeze(2);
    std::tie(r.loss, r.log_alpha) =
        at::_ctc_loss(r.normalized, r.labels, r.steps_of, r.labels_of, blank, zero_infinity);
    return r;
  }

  at::Tensor value(const Run& r) const {
    at::Tensor loss = r.loss - at::where(r.counted, r.log_sums, zero(r)).sum(0);
    if (zero_infinity) loss = at::where(r.loss.isinf(), zero(r), loss);
    if (reduction == "none") return loss;
    return reduction == "sum" ? loss.sum() : (loss * share(r)).sum();
  }

  // Of the scores, for a cotangent of the loss.
  at::Tensor gradient(const Run& r, const at::Tensor& cotangent) const {
    at::Tensor each = reduction == "mean" ? cotangent * share(r) : cotangent;
    each = each.expand(r.loss.sizes()).contiguous();
    const at::Tensor of_normalized =
        at::_ctc_loss_backward(each, r.normalized, r.labels, r.steps_of, r.labels_of, r.loss,
                               r.log_alpha, blank, zero_infinity);
    at::Tensor softmax = each.reshape({1, -1, 1}) * r.normalized.exp();
    if (zero_infinity) softmax = at::where(r.loss.isinf().reshape({1, -1, 1}), zero(r), softmax);
    return at::where(r.counted.unsqueeze(2), of_normalized - softmax, zero(r));
  }

 private:
  static at::Tensor zero(const Run& r) { return at::zeros({}, r.normalized.options()); }
  // Of each loss in the mean.
  static at::Tensor share(const Run& r) {
    const at::Tensor labels = r.label_lengths.clamp_min(1).to(r.normalized.scalar_type());
    return labels.mul(r.loss.size(0)).reciprocal();
  }
  static Shape list_of(const at::Tensor& lengths) {
    const at::Tensor dense = lengths.contiguous();
    const auto* first = dense.data_ptr<std::int64_t>();
    return {first, first + dense.numel()};
  }
};

CtcLoss ctc_loss(const LoweringContext& context) {
  const Node& node = context.node();
  return {context.input(0),
          context.input(1),
          context.input(2),
          context.input(3),
          attribute_or(node, "blank", std::int64_t{0}),
          has_flag(node, "zero_infinity"),
          attribute_or(node, "reduction", "mean")};
}

Result<Step> lower_ctc_loss(const LoweringContext& context) {
  const CtcLoss loss = ctc_loss(context);
  const Slot y = context.output(0);
  return Step([=](at::Tensor* v) { v[y] = loss.value(loss.run(v)); });
}

Result<Step> lower_ctc_loss_grad(const LoweringContext& context) {
  const CtcLoss loss = ctc_loss(context);
  const Slot cotangent = context.input(4), y = context.output(0);
  return Step([=](at::Tensor* v) {
    const at::NoGradGuard no_grad;
    v[y] = loss.gradient(loss.run(v), v[cotangent]);
  });
}

}  // namespace

const std::vector<Lowering>& sequence_lowerings() {
  static const std::vector<Lowering> rows = {
      {"LSTM", lower_lstm},
      {"GRU", lower_gru},
      {"RNN", lower_rnn},
  };
  return rows;
}

const std::vector<Lowering>& own_sequence_lowerings() {
  static const std::vector<Lowering> rows = {
      {"CTCLoss", lower_ctc_loss},
      {"CTCLossGrad", lower_ctc_loss_grad},
  };
  return rows;
}

}  // namespace gradstone::torch_engine
