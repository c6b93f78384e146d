// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN, one sequence of one direction after the other, in double. The formulas are
// those of ONNX's operator documentation (opset 14); in them x is the input of a step, H and C are
// the state before it, . is the elementwise product, and Wb, Rb are the two halves of B.
#include <algorithm>
#include <cmath>

#include "graph/recurrent.h"
#include "kernels/kernel.h"

namespace gradstone::kernels {
namespace {

using Row = std::vector<double>;

double activation_value(const Activation& f, double x) {
  if (f.name == "Relu") return std::max(x, 0.0);
  if (f.name == "Tanh") return std::tanh(x);
  if (f.name == "Sigmoid") {
    const double e = std::exp(-std::abs(x));
    return (x >= 0 ? 1 : e) / (1 + e);
  }
  if (f.name == "Affine") return f.alpha * x + f.beta;
  if (f.name == "LeakyRelu") return x >= 0 ? x : f.alpha * x;
  if (f.name == "ThresholdedRelu") return x >= f.alpha ? x : 0;
  if (f.name == "ScaledTanh") return f.alpha * std::tanh(f.beta * x);
  if (f.name == "HardSigmoid") return std::min(std::max(f.alpha * x + f.beta, 0.0), 1.0);
  if (f.name == "Elu") return x >= 0 ? x : f.alpha * std::expm1(x);
  if (f.name == "Softsign") return x / (1 + std::abs(x));
  CHECK(f.name == "Softplus", "recurrence_of lets no other activation pass");
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

// One direction of a layer: views of its weights, and what the node says.
template <class T>
struct Direction {
  const Recurrence& r;
  std::int64_t index = 0;
  const T* w = nullptr;  // [gates * hidden, inputs]
  const T* weights_r = nullptr;
  const T* wb = nullptr;  // [gates * hidden] or absent, as rb
  const T* rb = nullptr;
  const T* peepholes = nullptr;  // [3 * hidden] of i, o, f, or absent
  bool input_forget = false;
  bool linear_before_reset = false;

  double f(std::size_t which, double x) const {
    if (r.clip) x = std::clamp(x, -*r.clip, *r.clip);
    return activation_value(r.activation(index, which), x);
  }
  // x W^T + Wb of one unit of a gate.
  double of_input(const T* x, std::int64_t gate, std::int64_t unit) const {
    const std::int64_t row = gate * r.hidden + unit;
    double sum = wb != nullptr ? static_cast<double>(wb[row]) : 0;
    for (std::int64_t k = 0; k < r.inputs; ++k) {
      sum += static_cast<double>(w[row * r.inputs + k]) * static_cast<double>(x[k]);
    }
    return sum;
  }
  // H R^T + Rb of one unit of a gate.
  double of_state(const Row& h, std::int64_t gate, std::int64_t unit) const {
    const std::int64_t row = gate * r.hidden + unit;
    double sum = rb != nullptr ? static_cast<double>(rb[row]) : 0;
    for (std::int64_t k = 0; k < r.hidden; ++k) {
      sum += static_cast<double>(weights_r[row * r.hidden + k]) * h[static_cast<std::size_t>(k)];
    }
    return sum;
  }
  double gate_sum(const T* x, const Row& h, std::int64_t gate, std::int64_t unit) const {
    return of_input(x, gate, unit) + of_state(h, gate, unit);
  }
  double peephole(std::int64_t which, std::int64_t unit, double cell) const {
    if (peepholes == nullptr) return 0;
    return static_cast<double>(peepholes[which * r.hidden + unit]) * cell;
  }
};

struct State {
  Row h, c;
};

// H' = f(x W^T + H R^T + Wb + Rb)
template <class T>
void rnn_step(const Direction<T>& d, const T* x, State& state) {
  const Row before = state.h;
  for (std::int64_t j = 0; j < d.r.hidden; ++j) {
    state.h[static_cast<std::size_t>(j)] = d.f(0, d.gate_sum(x, before, 0, j));
  }
}

// i = f(x Wi^T + H Ri^T + Pi . C + Wbi + Rbi)     (Hochreiter and Schmidhuber 1997; peepholes: Gers
// f = f(x Wf^T + H Rf^T + Pf . C + Wbf + Rbf)      and Schmidhuber 2000)
// c = g(x Wc^T + H Rc^T + Wbc + Rbc)
// C' = f . C + i . c
// o = f(x Wo^T + H Ro^T + Po . C' + Wbo + Rbo)
// H' = o . h(C')
// With input_forget f is 1 - i. Gates stand in the order i, o, f, c.
template <class T>
void lstm_step(const Direction<T>& d, const T* x, State& state) {
  const Row before = state.h;
  for (std::int64_t j = 0; j < d.r.hidden; ++j) {
    double& cell = state.c[static_cast<std::size_t>(j)];
    const double i = d.f(0, d.gate_sum(x, before, 0, j) + d.peephole(0, j, cell));
    const double forget =
        d.input_forget ? 1 - i : d.f(0, d.gate_sum(x, before, 2, j) + d.peephole(2, j, cell));
    const double candidate = d.f(1, d.gate_sum(x, before, 3, j));
    cell = forget * cell + i * candidate;
    const double o = d.f(0, d.gate_sum(x, before, 1, j) + d.peephole(1, j, cell));
    state.h[static_cast<std::size_t>(j)] = o * d.f(2, cell);
  }
}

// z = f(x Wz^T + H Rz^T + Wbz + Rbz)              (Cho et al. 2014)
// r = f(x Wr^T + H Rr^T + Wbr + Rbr)
// h = g(x Wh^T + (r . H) Rh^T + Rbh + Wbh), or with linear_before_reset
// h = g(x Wh^T + r . (H Rh^T + Rbh) + Wbh)
// H' = (1 - z) . h + z . H
template <class T>
void gru_step(const Direction<T>& d, const T* x, State& state) {
  const Row before = state.h;
  Row reset(before.size()), reset_state(before.size());
  for (std::size_t j = 0; j < before.size(); ++j) {
    reset[j] = d.f(0, d.gate_sum(x, before, 1, static_cast<std::int64_t>(j)));
    reset_state[j] = reset[j] * before[j];
  }
  for (std::size_t j = 0; j < before.size(); ++j) {
    const auto unit = static_cast<std::int64_t>(j);
    const double z = d.f(0, d.gate_sum(x, before, 0, unit));
    const double recurrent_part = d.linear_before_reset ? reset[j] * d.of_state(before, 2, unit)
                                                        : d.of_state(reset_state, 2, unit);
    const double h = d.f(1, d.of_input(x, 2, unit) + recurrent_part);
    state.h[j] = (1 - z) * h + z * before[j];
  }
}

// Where things lie in X, Y and the states, whose first two axes `layout` swaps.
struct Places {
  const Recurrence& r;
  std::int64_t x(std::int64_t time, std::int64_t sequence) const {
    return (r.batch_first ? sequence * r.steps + time : time * r.batch + sequence) * r.inputs;
  }
  std::int64_t y(std::int64_t time, std::int64_t direction, std::int64_t sequence) const {
    return (r.batch_first ? (sequence * r.steps + time) * r.directions + direction
                          : (time * r.directions + direction) * r.batch + sequence) *
           r.hidden;
  }
  std::int64_t state(std::int64_t direction, std::int64_t sequence) const {
    return (r.batch_first ? sequence * r.directions + direction : direction * r.batch + sequence) *
           r.hidden;
  }
};

// Steps of each sequence.
Result<std::vector<std::int64_t>> lengths_of(const KernelCall& call, const Recurrence& r) {
  if (!call.has_input(recurrent::kLengths)) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(r.batch), r.steps);
  }
  std::vector<std::int64_t> lengths;
  for (const std::int32_t length : call.input<std::int32_t>(recurrent::kLengths)) {
    if (length < 0 || length > r.steps) {
      return failed("sequence " + std::to_string(lengths.size()) + " has length " +
                    std::to_string(length) + ", outside 0.." + std::to_string(r.steps));
    }
    lengths.push_back(length);
  }
  return lengths;
}

template <class T>
const T* part_of(const KernelCall& call, std::size_t input, std::int64_t offset) {
  return call.has_input(input) ? call.input<T>(input).data() + offset : nullptr;
}

template <class T>
Direction<T> direction_of(const KernelCall& call, const Recurrence& r, std::int64_t index) {
  using namespace recurrent;
  const std::int64_t rows = r.gates * r.hidden;
  Direction<T> d{r, index};
  d.w = part_of<T>(call, kW, index * rows * r.inputs);
  d.weights_r = part_of<T>(call, kR, index * rows * r.hidden);
  d.wb = part_of<T>(call, kB, index * 2 * rows);
  d.rb = part_of<T>(call, kB, (index * 2 + 1) * rows);
  d.peepholes = part_of<T>(call, kP, index * 3 * r.hidden);
  d.input_forget = attribute_or(call.node, "input_forget", std::int64_t{0}) != 0;
  d.linear_before_reset = attribute_or(call.node, "linear_before_reset", std::int64_t{0}) != 0;
  return d;
}

template <class T>
Row initial_row(const KernelCall& call, std::size_t input, std::int64_t offset, std::int64_t size) {
  const T* given = part_of<T>(call, input, offset);
  return given == nullptr ? Row(static_cast<std::size_t>(size), 0.0) : Row(given, given + size);
}

template <class T>
void store(const KernelCall& call, std::size_t output, std::int64_t offset, const Row& row) {
  if (!call.wants_output(output)) return;
  T* target = call.output<T>(output).data() + offset;
  for (std::size_t j = 0; j < row.size(); ++j) target[j] = static_cast<T>(row[j]);
}

// A reversed direction begins at the last step that the sequence has. Outputs of steps that it
// lacks are 0, and the last states are those after its own last step.
template <class T>
Status run_layer(const KernelCall& call, void (*step)(const Direction<T>&, const T*, State&)) {
  const Recurrence r = TRY(recurrence_of(call.context));
  const std::vector<std::int64_t> lengths = TRY(lengths_of(call, r));
  const Places places{r};
  if (call.wants_output(recurrent::kY)) {
    const std::span<T> y = call.output<T>(recurrent::kY);
    std::fill(y.begin(), y.end(), T(0));
  }
  for (std::int64_t index = 0; index < r.directions; ++index) {
    const Direction<T> direction = direction_of<T>(call, r, index);
    for (std::int64_t sequence = 0; sequence < r.batch; ++sequence) {
      const std::int64_t length = lengths[static_cast<std::size_t>(sequence)];
      const std::int64_t place = places.state(index, sequence);
      State state{initial_row<T>(call, recurrent::kInitialH, place, r.hidden),
                  initial_row<T>(call, recurrent::kInitialC, place, r.hidden)};
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t time = r.is_reverse(index) ? length - 1 - i : i;
        const T* x = call.input<T>(recurrent::kX).data() + places.x(time, sequence);
        step(direction, x, state);
        store<T>(call, recurrent::kY, places.y(time, index, sequence), state.h);
      }
      store<T>(call, recurrent::kLastH, place, state.h);
      store<T>(call, recurrent::kLastC, place, state.c);
    }
  }
  return {};
}

template <class T>
Status lstm(const KernelCall& call) {
  return run_layer<T>(call, lstm_step<T>);
}
template <class T>
Status gru(const KernelCall& call) {
  return run_layer<T>(call, gru_step<T>);
}
template <class T>
Status rnn(const KernelCall& call) {
  return run_layer<T>(call, rnn_step<T>);
}

}  // namespace

std::vector<KernelRow> recurrent_kernels() {
  return {{"", "LSTM", lstm<float>, lstm<double>},
          {"", "GRU", gru<float>, gru<double>},
          {"", "RNN", rnn<float>, rnn<double>}};
}

}  // namespace gradstone::kernels
