// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/differentiate.h"
#include "graph/testing/gradient_cases.h"

namespace gradstone {
namespace {

using ::testing::HasSubstr;
using testing::integers;
using testing::Integers;
using testing::real;

std::string error_of(const testing::GradientCase& test) {
  const Result<ValueTypes> types = check_graph(testing::graph_of(test));
  return types.ok() ? "no error" : types.error().message;
}

NodeCost cost_of(const Graph& graph, std::string_view node) {
  const std::vector<NodeCost> costs = node_costs(graph, check_graph(graph).value());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (graph.nodes[i].name == node) return costs[i];
  }
  ADD_FAILURE() << "no node " << node;
  return {};
}

// Both gradients of a convolution need as many multiply-adds as the convolution itself:
// images * outputs * places * (inputs / groups) * kernel.
TEST(GradientOps, ConvolutionsCostWhatTheForwardPassCosts) {
  const Graph graph = testing::graph_of(
      {"conv",
       "Conv",
       {real({5, 6, 11, 8}), real({4, 3, 3, 2}), real({4})},
       {{"group", std::int64_t{2}}, {"strides", Integers{2, 3}}, {"pads", Integers{1, 0, 1, 0}}}});
  const std::int64_t places = 6 * 3;  // (11 + 2 - 3) / 2 + 1 by (8 - 2) / 3 + 1
  const std::int64_t multiply_adds = 5 * 4 * places * 3 * 3 * 2;
  const Graph backward = differentiate(graph, {"y0"}, {"x0", "x1", "x2"}).value().graph;
  const std::int64_t x = 5 * 6 * 11 * 8, w = 4 * 3 * 3 * 2, y = 5 * 4 * places;
  for (const std::string node : {"grad/node/input", "grad/node/weight"}) {
    const NodeCost cost = cost_of(backward, node);
    EXPECT_EQ(cost.multiply_adds, multiply_adds) << node;
    EXPECT_EQ(cost.flops, 2 * multiply_adds) << node;
    EXPECT_EQ(cost.bytes, 8 * (x + w + y)) << node;
  }
  EXPECT_EQ(cost_of(backward, "grad/node/sum").flops, y);  // of the bias
  EXPECT_EQ(cost_of(backward, "grad/node/sum").multiply_adds, 0);
}

TEST(GradientOps, OthersCountOneOperationForEachElementRead) {
  const auto flops = [](const testing::GradientCase& test) {
    return cost_of(testing::graph_of(test), "node").flops;
  };
  const testing::Attributes window = {{"kernel_shape", Integers{2, 2}}};
  testing::Attributes average = window;
  average["input_shape"] = Shape{1, 1, 4, 4};
  EXPECT_EQ(flops({"", "MaxPoolGrad", {real({1, 1, 4, 4}), real({1, 1, 3, 3})}, window}), 9);
  EXPECT_EQ(flops({"", "MaxPoolGather", {real({1, 1, 4, 4}), real({1, 1, 4, 4})}, window}), 0);
  EXPECT_EQ(flops({"", "AveragePoolGrad", {real({1, 1, 3, 3})}, average}), 9 * 4);
  EXPECT_EQ(flops({"", "ChannelWindowSum", {real({2, 4, 5})}, {{"size", std::int64_t{3}}}}), 120);
  EXPECT_EQ(flops({"", "SumTo", {real({4, 5})}, {{"shape", Shape{5}}}}), 20);
  EXPECT_EQ(flops({"", "HeavisideStep", {real({4, 5})}, {}}), 20);
  EXPECT_EQ(
      flops(
          {"", "GatherGrad", {integers({1, 2, 2}), real({3, 4})}, {{"input_shape", Shape{9, 4}}}}),
      12);
  EXPECT_EQ(flops({"",
                   "NegativeLogLikelihoodGrad",
                   {integers({1, 0, 2}), std::nullopt, real({})},
                   {{"input_shape", Shape{3, 7}}}}),
            3);
}

TEST(GradientOps, CotangentsMustHaveTheForwardOutputsType) {
  EXPECT_THAT(error_of({"w",
                        "ConvGradInput",
                        {real({2, 1, 3, 3}), real({1, 2, 2, 3})},
                        {{"input_shape", Shape{1, 1, 4, 4}}}}),
              HasSubstr("workload w: node node (ConvGradInput): the cotangent is float64 "
                        "[1, 2, 2, 3], the forward output is float64 [1, 2, 2, 2]"));
  EXPECT_THAT(error_of({"w",
                        "ConvGradWeight",
                        {real({1, 3, 4, 4}), real({1, 2, 2, 2})},
                        {{"weight_shape", Shape{2, 1, 3, 3}}}}),
              HasSubstr("weight has 1 input channels, the input has 3"));
  EXPECT_THAT(
      error_of(
          {"w", "GatherGrad", {integers({0, 1}), real({3, 2})}, {{"input_shape", Shape{4, 2}}}}),
      HasSubstr("the forward output is float64 [2, 2]"));
  EXPECT_THAT(error_of({"w",
                        "MaxPoolGather",
                        {real({1, 1, 4}), real({1, 1, 3})},
                        {{"kernel_shape", Integers{2}}}}),
              HasSubstr("gathers from float64 [1, 1, 3] at maxima of float64 [1, 1, 4]"));
}

TEST(GradientOps, AttributesAreChecked) {
  const testing::Attributes empty = {{"kernel_shape", Integers{1}},
                                     {"input_shape", Shape{1, 0, 3}}};
  EXPECT_THAT(error_of({"w", "AveragePoolGrad", {real({1, 1, 3})}, empty}),
              HasSubstr("input_shape [1, 0, 3] holds nothing"));
  EXPECT_THAT(error_of({"w", "SumTo", {real({4, 5})}, {{"shape", Shape{4}}}}),
              HasSubstr("shape [4] does not broadcast to [4, 5]"));
  EXPECT_THAT(error_of({"w", "ChannelWindowSum", {real({4, 5})}, {{"size", std::int64_t{0}}}}),
              HasSubstr("size 0"));
  EXPECT_THAT(
      error_of({"w", "Fill", {}, {{"shape", Shape{2}}, {"value", 1.0}, {"dtype", "float99"}}}),
      HasSubstr("unknown dtype 'float99'"));
  EXPECT_THAT(
      error_of({"w", "Fill", {}, {{"shape", Shape{-2}}, {"value", 1.0}, {"dtype", "bool"}}}),
      HasSubstr("shape"));
}

}  // namespace
}  // namespace gradstone
