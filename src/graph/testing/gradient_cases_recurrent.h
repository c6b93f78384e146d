// SPDX-License-Identifier: Apache-2.0
// Gradient cases of LSTM, GRU and RNN, which are differentiated through their expansions.
#pragma once

#include "graph/testing/gradient_case.h"

namespace gradstone::testing {

// Sizes small enough for derivatives of third order; the last sequence is shorter.
struct RecurrentSizes {
  std::int64_t steps = 2, batch = 2, inputs = 2, hidden = 2;
};

inline std::vector<std::optional<CaseInput>> recurrent_inputs(const std::string& op,
                                                              const Attributes& attributes,
                                                              bool lengths) {
  const RecurrentSizes s;
  const auto layout = attributes.find("layout"), direction = attributes.find("direction");
  const bool batch_first = layout != attributes.end();
  const std::int64_t both =
      direction != attributes.end() && std::get<std::string>(direction->second) == "bidirectional";
  const std::int64_t directions = 1 + both, gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
  const Shape state =
      batch_first ? Shape{s.batch, directions, s.hidden} : Shape{directions, s.batch, s.hidden};
  std::vector<std::optional<CaseInput>> inputs = {
      real(batch_first ? Shape{s.batch, s.steps, s.inputs} : Shape{s.steps, s.batch, s.inputs}),
      real({directions, gates * s.hidden, s.inputs}),
      real({directions, gates * s.hidden, s.hidden}),
      real({directions, 2 * gates * s.hidden}),
      std::nullopt,
      real(state)};
  if (lengths) {
    const std::vector<std::int32_t> values = {2, 1};
    inputs[4] = fixed(Tensor::of<std::int32_t>({2}, values));
  }
  if (op == "LSTM") {
    inputs.push_back(real(state));
    inputs.push_back(real({directions, 3 * s.hidden}));
  }
  return inputs;
}

inline std::vector<GradientCase> recurrent_cases() {
  std::vector<GradientCase> cases;
  const auto add = [&](const std::string& op, const std::string& name, const Attributes& attributes,
                       bool lengths) {
    GradientCase test{op + ": " + name, op, recurrent_inputs(op, attributes, lengths), attributes};
    test.outputs = op == "LSTM" ? 3 : 2;
    test.from = {0, 1};
    if (op == "LSTM") test.from.push_back(2);
    cases.push_back(test);
  };
  const std::string both = "bidirectional", back = "reverse";
  const std::int64_t yes = 1;
  add("RNN", "plain", {}, false);
  add("RNN", "two directions, lengths", {{"direction", both}}, true);
  add("GRU", "batch first", {{"layout", yes}}, false);
  add("GRU", "backwards, lengths, linear before reset",
      {{"direction", back}, {"linear_before_reset", yes}}, true);
  add("LSTM", "plain", {}, false);
  add("LSTM", "backwards, lengths, coupled", {{"direction", back}, {"input_forget", yes}}, true);
  const std::vector<std::string> smooth = {"Softplus", "Affine", "ScaledTanh"};
  add("LSTM", "other activations, clip",
      {{"activations", smooth},
       {"activation_alpha", std::vector<double>{0.5, 0.8}},
       {"activation_beta", std::vector<double>{0.1, 1.2}},
       {"clip", 0.9}},
      false);
  for (const std::string activation :
       {"Relu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Elu", "Softsign"}) {
    add("RNN", activation, {{"activations", std::vector<std::string>{activation}}}, false);
  }
  return cases;
}

}  // namespace gradstone::testing
