// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "graph/one_node.h"

namespace gradstone {
namespace {

using namespace testing;
using Strings = std::vector<std::string>;

// 5 steps of 3 sequences with 4 inputs, 2 hidden units.
const TestInput kX = f32({5, 3, 4});
const std::int64_t kYes = 1;

TensorType i32(Shape shape) { return {DType::kInt32, std::move(shape)}; }

std::vector<TestInput> lstm_inputs(std::int64_t directions) {
  return {kX, f32({directions, 8, 4}), f32({directions, 8, 2})};
}

TEST(RecurrentShapes, OfEveryLayoutAndDirection) {
  EXPECT_EQ(outcome("LSTM", lstm_inputs(1), {{"hidden_size", std::int64_t{2}}}, 3),
            "float32 [5, 1, 3, 2], float32 [1, 3, 2], float32 [1, 3, 2]");
  EXPECT_EQ(outcome("LSTM", lstm_inputs(2), {{"direction", "bidirectional"}}, 3),
            "float32 [5, 2, 3, 2], float32 [2, 3, 2], float32 [2, 3, 2]");
  EXPECT_EQ(outcome("GRU", {kX, f32({2, 6, 4}), f32({2, 6, 2})},
                    {{"direction", "bidirectional"}, {"layout", kYes}}, 2),
            "float32 [5, 3, 2, 2], float32 [5, 2, 2]");
  EXPECT_EQ(outcome("RNN", {kX, f32({1, 2, 4}), f32({1, 2, 2}), f32({1, 4}), i32({3})},
                    {{"direction", "reverse"}}, 2),
            "float32 [5, 1, 3, 2], float32 [1, 3, 2]");
}

TEST(RecurrentShapes, SayWhatDoesNotFit) {
  EXPECT_EQ(outcome("LSTM", lstm_inputs(1), {{"hidden_size", std::int64_t{3}}}),
            "W has shape [1, 8, 4]; expected [1, 12, 4]");
  EXPECT_EQ(outcome("LSTM", lstm_inputs(1), {{"direction", "bidirectional"}}),
            "W has shape [1, 8, 4]; expected [2, 8, 4]");
  EXPECT_EQ(outcome("LSTM", lstm_inputs(1), {{"direction", "forwards"}}),
            "attribute 'direction' has no choice 'forwards'; did you mean 'forward'?");
  EXPECT_EQ(outcome("LSTM", lstm_inputs(1), {{"activations", Strings{"Tanh"}}}),
            "has 1 activations; expected 3");
  EXPECT_EQ(outcome("LSTM", lstm_inputs(1), {{"activations", Strings{"Tanh", "Tahn", "Tanh"}}}),
            "unknown activation 'Tahn'; did you mean 'Tanh'?");
  EXPECT_EQ(outcome("LSTM", lstm_inputs(1), {{"layout", std::int64_t{2}}}),
            "attribute 'layout' is 2; expected 0 or 1");
  EXPECT_EQ(outcome("LSTM", lstm_inputs(1), {{"clip", 0.0}}), "clip must be above 0");
  std::vector<TestInput> inputs = lstm_inputs(1);
  inputs.insert(inputs.end(), {std::monostate{}, i64({3})});
  EXPECT_EQ(outcome("LSTM", inputs), "sequence_lens is int64; expected int32");
  inputs[4] = i32({3});
  inputs.push_back(f32({3, 1, 2}));
  EXPECT_EQ(outcome("LSTM", inputs), "initial_h has shape [3, 1, 2]; expected [1, 3, 2]");
  EXPECT_EQ(outcome("LSTM", inputs, {{"layout", kYes}}),
            "sequence_lens has shape [3]; expected [5]");
}

// 2 * gates * (4 + 2) for each of 5 * 3 * 2 units, and what stands beside the products.
TEST(RecurrentCosts, CountProductsAndTheRest) {
  NodeCost got = cost(one_node("LSTM", lstm_inputs(1)));
  EXPECT_EQ(got.multiply_adds, 30 * 4 * 6);
  EXPECT_EQ(got.flops, 2 * 30 * 4 * 6 + 30 * 13);
  std::vector<TestInput> inputs = lstm_inputs(2);
  inputs.insert(inputs.end(), {f32({2, 16}), {}, {}, {}, f32({2, 6})});
  got = cost(one_node("LSTM", inputs, {{"direction", "bidirectional"}, {"clip", 1.0}}));
  EXPECT_EQ(got.multiply_adds, 60 * 4 * 6);
  EXPECT_EQ(got.flops, 2 * 60 * 4 * 6 + 60 * (13 + 4 + 6 + 5));
  const std::vector<TestInput> gru = {kX, f32({1, 6, 4}), f32({1, 6, 2}), f32({1, 12})};
  EXPECT_EQ(cost(one_node("GRU", gru)).flops, 2 * 30 * 3 * 6 + 30 * (11 + 3));
  EXPECT_EQ(cost(one_node("GRU", gru, {{"linear_before_reset", kYes}})).flops,
            2 * 30 * 3 * 6 + 30 * (11 + 4));
  const std::vector<TestInput> rnn = {kX, f32({1, 2, 4}), f32({1, 2, 2})};
  EXPECT_EQ(cost(one_node("RNN", rnn)).flops, 2 * 30 * 6 + 30 * 2);
}

}  // namespace
}  // namespace gradstone
