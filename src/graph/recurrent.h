// SPDX-License-Identifier: Apache-2.0
// What the attributes and shapes of an LSTM, GRU or RNN node say, resolved by ONNX's rules. Shared by
// shape rules, expansions, kernels and engines; the formulas stand in kernels_recurrent.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/op_table.h"

namespace gradstone {

class ExpansionBuilder;

// An activation function with the parameters that it has (others are 0). By name:
//   Relu max(x, 0) | Tanh | Sigmoid | Affine alpha x + beta | LeakyRelu x >= 0 ? x : alpha x
//   ThresholdedRelu x >= alpha ? x : 0 | ScaledTanh alpha tanh(beta x)
//   HardSigmoid min(max(alpha x + beta, 0), 1) | Elu x >= 0 ? x : alpha (exp(x) - 1)
//   Softsign x / (1 + |x|) | Softplus log(1 + exp(x))
struct Activation {
  std::string name;
  double alpha = 0;
  double beta = 0;
};

struct Recurrence {
  std::int64_t steps = 0;  // extent of the time axis
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t hidden = 0;
  std::int64_t directions = 1;
  std::int64_t gates = 1;      // 4 of LSTM (i, o, f, c), 3 of GRU (z, r, h), 1 of RNN
  bool starts_last = false;    // direction "reverse"
  bool batch_first = false;    // layout 1: the batch is the first axis of X, Y and the states
  std::optional<double> clip;  // of what goes into every activation
  std::vector<Activation> activations;  // f, g, h of direction 0, then of direction 1

  bool is_reverse(std::int64_t direction) const { return starts_last || direction == 1; }
  // f, g, h of one direction.
  const Activation& activation(std::int64_t direction, std::size_t index) const {
    const std::size_t each = activations.size() / static_cast<std::size_t>(directions);
    return activations[static_cast<std::size_t>(direction) * each + index];
  }
};
// Errors: shapes, dtypes or lists that do not fit, an unknown activation.
Result<Recurrence> recurrence_of(const NodeContext& context);

// Inputs of the three operators; initial_c and P are LSTM's alone.
namespace recurrent {
enum Input : std::size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kP };
enum Output : std::size_t { kY, kLastH, kLastC };
}  // namespace recurrent

// Unrolled over time, in matrix products and elementwise operators.
Status expand_lstm(ExpansionBuilder& builder);
Status expand_gru(ExpansionBuilder& builder);
Status expand_rnn(ExpansionBuilder& builder);

}  // namespace gradstone
