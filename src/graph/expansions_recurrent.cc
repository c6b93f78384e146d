// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN unrolled over time, by the formulas of kernels_recurrent.cc. The products of W
// with all inputs are taken at once, those of R step by step. A sequence that has ended (or, read
// backwards, not begun) is masked: its state stays and its output is 0.
#include <array>
#include <functional>

#include "graph/expansion.h"
#include "graph/recurrent.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using recurrent::Input;
using Builder = ExpansionBuilder;

// Element `index` of the first axis, without that axis.
std::string item(Builder& b, const std::string& value, std::int64_t index) {
  const Shape& shape = b.shape_of(value);
  const Shape rest(shape.begin() + 1, shape.end());
  return b.reshape(shape[0] == 1 ? value : b.slice(value, {index}, {index + 1}), rest);
}

// Block `first` to `last` (in blocks of `size`) of the last axis.
std::string blocks(Builder& b, const std::string& value, std::array<std::int64_t, 2> range,
                   std::int64_t size) {
  Shape begin(b.shape_of(value).size(), 0), end = b.shape_of(value);
  begin.back() = range[0] * size;
  end.back() = range[1] * size;
  return b.slice(value, begin, end);
}

std::string joined(Builder& b, const std::vector<std::string>& values, std::int64_t axis) {
  if (values.size() == 1) return values[0];
  return b.append("concat", "Concat", values, {{"axis", axis}});
}

std::string transposed(Builder& b, const std::string& value,
                       const std::vector<std::int64_t>& permutation) {
  return b.append("transpose", "Transpose", {value}, {{"perm", permutation}});
}

std::string relu(Builder& b, const std::string& x) { return b.append("relu", "Relu", {x}); }
// 1 where x > 0, else 0
std::string step(Builder& b, const std::string& x) {
  return b.append("step", "HeavisideStep", {x});
}
std::string one_minus(Builder& b, const std::string& x) {
  return b.sub(b.scalar(1, b.type_of(x).dtype), x);
}
std::string magnitude(Builder& b, const std::string& x) {
  return b.add(relu(b, x), relu(b, b.neg(x)));
}

// x inside [-limit, limit], else the nearer end; exact there, which sums of Relu would not be.
std::string clipped(Builder& b, const std::string& x, double limit) {
  const std::string above = step(b, b.offset(x, -limit));
  const std::string below = step(b, b.offset(b.neg(x), -limit));
  const std::string inside = one_minus(b, b.add(above, below));
  return b.add(b.mul(x, inside), b.scale(b.sub(above, below), limit));
}

std::string apply(Builder& b, const Activation& f, const std::string& x) {
  if (f.name == "Relu" || f.name == "Tanh" || f.name == "Sigmoid") {
    return b.append("activation", f.name, {x});
  }
  if (f.name == "Affine") return b.offset(b.scale(x, f.alpha), f.beta);
  if (f.name == "LeakyRelu") return b.sub(relu(b, x), b.scale(relu(b, b.neg(x)), f.alpha));
  if (f.name == "ThresholdedRelu") {
    return b.mul(x, one_minus(b, step(b, b.offset(b.neg(x), f.alpha))));
  }
  if (f.name == "ScaledTanh") {
    return b.scale(b.append("activation", "Tanh", {b.scale(x, f.beta)}), f.alpha);
  }
  if (f.name == "HardSigmoid") {
    const std::string line = b.offset(b.scale(x, f.alpha), f.beta);
    return b.sub(relu(b, line), relu(b, b.offset(line, -1)));
  }
  if (f.name == "Elu") {
    const std::string power = b.append("exp", "Exp", {b.neg(relu(b, b.neg(x)))});
    return b.add(relu(b, x), b.scale(b.offset(power, -1), f.alpha));
  }
  if (f.name == "Softsign") return b.div(x, b.offset(magnitude(b, x), 1));
  CHECK(f.name == "Softplus", "an activation without an expansion");
  const std::string power = b.append("exp", "Exp", {b.neg(magnitude(b, x))});
  return b.add(relu(b, x), b.append("log", "Log", {b.offset(power, 1)}));
}

// One direction of the layer.
struct Direction {
  Builder& b;
  const Recurrence& r;
  std::int64_t index = 0;
  std::string projected;  // [steps, batch, gates * hidden]: X W^T and the biases
  std::string weight;     // R^T, [hidden, gates * hidden]

  std::string f(std::size_t which, std::string x) const {
    if (r.clip) x = clipped(b, x, *r.clip);
    return apply(b, r.activation(index, which), x);
  }
  // Gates [first, last) of the last axis.
  std::string gates(const std::string& value, std::int64_t first, std::int64_t last) const {
    return last - first == r.gates ? value : blocks(b, value, {first, last}, r.hidden);
  }
  // Part `part` of `parts` of input B or P of this direction; "" without that input.
  std::string of_input(std::size_t input, std::int64_t part, std::int64_t parts) const {
    if (b.input(input).empty()) return "";
    const std::string own = item(b, b.input(input), index);
    return blocks(b, own, {part, part + 1}, b.shape_of(own)[0] / parts);
  }
};

struct State {
  std::string h, c;  // c of LSTM only
};
// The state after one step whose projected input is given.
using Cell = std::function<State(const std::string& projected, const State& before)>;
// Makes the cell of a direction, whose projected input still lacks the biases.
using MakeCell = std::function<Cell(Direction&)>;

void add_both_biases(Direction& d) {
  if (d.b.input(Input::kB).empty()) return;
  const std::string of_w = d.of_input(Input::kB, 0, 2), of_r = d.of_input(Input::kB, 1, 2);
  d.projected = d.b.add(d.projected, d.b.add(of_w, of_r));
}

Cell rnn_cell(Direction& d) {
  add_both_biases(d);
  return [&d](const std::string& projected, const State& before) {
    return State{d.f(0, d.b.add(projected, d.b.matmul(before.h, d.weight))), ""};
  };
}

Cell lstm_cell(Direction& d) {
  add_both_biases(d);
  const std::array<std::string, 3> peepholes = {
      d.of_input(Input::kP, 0, 3), d.of_input(Input::kP, 1, 3), d.of_input(Input::kP, 2, 3)};
  const bool coupled = attribute_or(d.b.node(), "input_forget", std::int64_t{0}) != 0;
  return [&d, peepholes, coupled](const std::string& projected, const State& before) {
    Builder& b = d.b;
    const std::string sums = b.add(projected, b.matmul(before.h, d.weight));
    const auto peeped = [&](std::int64_t gate, std::size_t peephole, const std::string& cell) {
      const std::string sum = d.gates(sums, gate, gate + 1);
      return peepholes[peephole].empty() ? sum : b.add(sum, b.mul(peepholes[peephole], cell));
    };
    const std::string i = d.f(0, peeped(0, 0, before.c));
    const std::string forget = coupled ? one_minus(b, i) : d.f(0, peeped(2, 2, before.c));
    const std::string candidate = d.f(1, d.gates(sums, 3, 4));
    const std::string c = b.add(b.mul(forget, before.c), b.mul(i, candidate));
    const std::string o = d.f(0, peeped(1, 1, c));
    return State{b.mul(o, d.f(2, c)), c};
  };
}

Cell gru_cell(Direction& d) {
  const bool linear_first = attribute_or(d.b.node(), "linear_before_reset", std::int64_t{0}) != 0;
  std::string bias_of_r;  // of gate h, where it stands inside the reset
  if (linear_first && !d.b.input(Input::kB).empty()) {
    const std::string of_w = d.of_input(Input::kB, 0, 2), of_r = d.of_input(Input::kB, 1, 2);
    const std::string both = d.gates(d.b.add(of_w, of_r), 0, 2);
    d.projected = d.b.add(d.projected, joined(d.b, {both, d.gates(of_w, 2, 3)}, 0));
    bias_of_r = d.gates(of_r, 2, 3);
  } else {
    add_both_biases(d);
  }
  const std::string weight_zr = d.gates(d.weight, 0, 2), weight_h = d.gates(d.weight, 2, 3);
  return [=, &d](const std::string& projected, const State& before) {
    Builder& b = d.b;
    const std::string sums = b.add(d.gates(projected, 0, 2), b.matmul(before.h, weight_zr));
    const std::string z = d.f(0, d.gates(sums, 0, 1)), reset = d.f(0, d.gates(sums, 1, 2));
    std::string recurrent_part;
    if (linear_first) {
      const std::string product = b.matmul(before.h, weight_h);
      recurrent_part = b.mul(reset, bias_of_r.empty() ? product : b.add(product, bias_of_r));
    } else {
      recurrent_part = b.matmul(b.mul(reset, before.h), weight_h);
    }
    const std::string h = d.f(1, b.add(d.gates(projected, 2, 3), recurrent_part));
    return State{b.add(b.mul(one_minus(b, z), h), b.mul(z, before.h)), ""};
  };
}

// 1 where a sequence has the step, else 0, of shape [batch, 1]; "" if all have it.
class Masks {
 public:
  Masks(Builder& b, DType dtype) : b_(b), dtype_(dtype) {
    if (b.input(Input::kLengths).empty()) return;
    constant_ = b.constant(Input::kLengths);
    if (constant_ != nullptr) return;
    const std::string lengths = b.cast(b.input(Input::kLengths), dtype);
    lengths_ = b.reshape(lengths, {b.shape_of(lengths)[0], 1});
  }
  std::string at(std::int64_t time) {
    if (constant_ == nullptr && lengths_.empty()) return "";
    if (constant_ == nullptr) return step(b_, b_.offset(lengths_, -static_cast<double>(time)));
    Tensor mask({DType::kFloat64, {constant_->shape()[0], 1}});
    bool all = true;
    for (std::int64_t i = 0; i < mask.type().elements(); ++i) {
      const bool on = element_as_double(constant_->ref(), i) > static_cast<double>(time);
      mask.as<double>()[static_cast<std::size_t>(i)] = on ? 1 : 0;
      all = all && on;
    }
    return all ? std::string() : b_.constant_value(converted(mask.ref(), dtype_));
  }

 private:
  Builder& b_;
  DType dtype_;
  const Tensor* constant_ = nullptr;
  std::string lengths_;
};

// The state that a direction begins with, [batch, hidden].
std::string initial_state(const Direction& d, std::size_t input) {
  Builder& b = d.b;
  if (!b.input(input).empty()) {
    const std::string given = b.input(input);
    return item(b, d.r.batch_first ? transposed(b, given, {1, 0, 2}) : given, d.index);
  }
  const std::string dtype(name_of(b.type_of(b.input(Input::kX)).dtype));
  return b.append("zeros", "Fill", {},
                  {{"shape", Shape{d.r.batch, d.r.hidden}}, {"value", 0.0}, {"dtype", dtype}});
}

// Outputs of one direction: [steps, batch, hidden] where it is wanted, and the last states.
struct Unrolled {
  std::string y;
  State last;
};

Unrolled unroll(Direction& d, const Cell& cell, Masks& masks) {
  Builder& b = d.b;
  const bool wants_y = b.wants(recurrent::kY);
  State state{initial_state(d, Input::kInitialH), ""};
  if (b.node().op == "LSTM") state.c = initial_state(d, Input::kInitialC);
  std::vector<std::string> outputs(static_cast<std::size_t>(d.r.steps));
  for (std::int64_t i = 0; i < d.r.steps; ++i) {
    const std::int64_t time = d.r.is_reverse(d.index) ? d.r.steps - 1 - i : i;
    State next = cell(item(b, d.projected, time), state);
    std::string y = next.h;
    if (const std::string on = masks.at(time); !on.empty()) {
      const std::string off = one_minus(b, on);
      y = b.mul(on, next.h);
      if (!next.c.empty()) next.c = b.add(b.mul(on, next.c), b.mul(off, state.c));
      next.h = b.add(y, b.mul(off, state.h));
    }
    if (wants_y) {
      outputs[static_cast<std::size_t>(time)] = b.reshape(y, {1, d.r.batch, d.r.hidden});
    }
    state = next;
  }
  return {wants_y ? joined(b, outputs, 0) : std::string(), state};
}

Direction direction_of(Builder& b, const Recurrence& r, std::int64_t index,
                       const std::string& inputs) {
  Direction d{b, r, index, "", ""};
  const std::string w = b.swap_last_axes(item(b, b.input(Input::kW), index));
  d.projected = b.matmul(inputs, w);
  d.weight = b.swap_last_axes(item(b, b.input(Input::kR), index));
  return d;
}

void set_state(Builder& b, const Recurrence& r, std::size_t output,
               const std::vector<std::string>& of_directions) {
  if (!b.wants(output)) return;
  std::vector<std::string> parts;
  for (const std::string& part : of_directions) {
    parts.push_back(b.reshape(part, {1, r.batch, r.hidden}));
  }
  const std::string all = joined(b, parts, 0);
  b.set_output(output, r.batch_first ? transposed(b, all, {1, 0, 2}) : all);
}

Status expand_recurrent(Builder& b, const MakeCell& make_cell) {
  const Recurrence r = TRY(recurrence_of(b.node_inputs().context()));
  TRY(check_unrolled(saturating_product({r.steps, r.directions})));
  const std::string x = b.input(Input::kX);
  const std::string inputs = r.batch_first ? transposed(b, x, {1, 0, 2}) : x;
  Masks masks(b, b.type_of(x).dtype);
  std::vector<std::string> y, h, c;
  for (std::int64_t index = 0; index < r.directions; ++index) {
    Direction direction = direction_of(b, r, index, inputs);
    const Unrolled result = unroll(direction, make_cell(direction), masks);
    if (b.wants(recurrent::kY)) {
      y.push_back(b.reshape(result.y, {r.steps, 1, r.batch, r.hidden}));
    }
    h.push_back(result.last.h);
    c.push_back(result.last.c);
  }
  if (b.wants(recurrent::kY)) {
    const std::string all = joined(b, y, 1);
    b.set_output(recurrent::kY, r.batch_first ? transposed(b, all, {2, 0, 1, 3}) : all);
  }
  set_state(b, r, recurrent::kLastH, h);
  if (b.node().op == "LSTM") set_state(b, r, recurrent::kLastC, c);
  return {};
}

}  // namespace

Status expand_lstm(Builder& builder) { return expand_recurrent(builder, lstm_cell); }
Status expand_gru(Builder& builder) { return expand_recurrent(builder, gru_cell); }
Status expand_rnn(Builder& builder) { return expand_recurrent(builder, rnn_cell); }

}  // namespace gradstone
