// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/gradient_nodes.h"
#include "graph/one_node.h"
#include "graph/passes.h"

namespace gradstone {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

Graph training_node(std::string op, const std::vector<TestInput>& inputs, Attributes attributes,
                    std::size_t outputs = 1) {
  Graph graph = one_node(std::move(op), inputs, std::move(attributes), outputs);
  graph.nodes[0].domain = kTrainingDomain;
  return graph;
}

const Attributes kMomentum = {{"alpha", 0.9}, {"beta", 1.0}, {"mode", "standard"}};

TEST(OptimizerOperators, TypesAreThoseOfTheirTensors) {
  EXPECT_EQ(
      outcome(training_node("Adam",
                            {f32({}), i64({}), f32({2, 3}), f32({4}), f32({2, 3}), f32({4}),
                             f32({2, 3}), f32({4}), f32({2, 3}), f32({4})},
                            {}, 6)),
      "float32 [2, 3], float32 [4], float32 [2, 3], float32 [4], float32 [2, 3], float32 [4]");
  EXPECT_EQ(outcome(training_node("Momentum", {f32({}), i64({}), f32({2}), f32({2}), f32({2})},
                                  kMomentum, 2)),
            "float32 [2], float32 [2]");
}

TEST(OptimizerOperators, SayWhatDoesNotFit) {
  EXPECT_EQ(outcome(training_node("Adagrad", {f32({}), i64({}), f32({2}), f32({2})}, {})),
            "has 4 inputs; expected 2 and 3 for each tensor");
  EXPECT_EQ(outcome(training_node("Adagrad", {f32({}), i64({}), f32({2}), f32({3}), f32({2})}, {})),
            "input 3 is float32 [3], the tensor it belongs to float32 [2]");
  EXPECT_EQ(
      outcome(training_node("Adagrad", {f32({2}), i64({}), f32({2}), f32({2}), f32({2})}, {})),
      "R and T must be one number each");
  Attributes attributes = kMomentum;
  attributes["mode"] = "nestrov";
  EXPECT_EQ(outcome(training_node("Momentum", {f32({}), i64({}), f32({2}), f32({2}), f32({2})},
                                  attributes)),
            "attribute 'mode' has no choice 'nestrov'; did you mean 'nesterov'?");
}

TEST(OptimizerOperators, Costs) {
  const std::vector<TestInput> three = {f32({}), i64({}), f32({7}), f32({7}), f32({7})};
  EXPECT_EQ(cost(training_node("Adagrad", three, {})).flops, 7 * 7);
  EXPECT_EQ(
      cost(training_node("Adagrad", three, {{"norm_coefficient", 0.1}, {"epsilon", 0.1}})).flops,
      7 * 9);
  EXPECT_EQ(cost(training_node("Momentum", three, kMomentum)).flops, 7 * 5);
  std::vector<TestInput> four = three;
  four.push_back(f32({7}));
  EXPECT_EQ(cost(training_node("Adam", four, {})).flops, 7 * 12);
}

// y = x w, dw = Gradient(xs = [w], zs = [x], y)
Graph gradient_graph(const Strings& xs = {"w"}, const Strings& zs = {"x"},
                     const std::string& y = "y") {
  Graph graph;
  graph.name = "g";
  graph.inputs = {{"x", f32({2, 3})}};
  graph.weights = {{"w", f32({3, 4}), {}, true}};
  graph.nodes = {{"product", "MatMul", "", {"x", "w"}, {"y"}, {}},
                 {"gradient",
                  "Gradient",
                  std::string(kTrainingDomain),
                  {},
                  {"dw"},
                  {{"xs", xs}, {"zs", zs}, {"y", y}}}};
  graph.nodes[1].inputs = xs;
  graph.nodes[1].inputs.insert(graph.nodes[1].inputs.end(), zs.begin(), zs.end());
  graph.outputs = {"dw"};
  return graph;
}

TEST(GradientNodes, AreReplacedByOrdinaryOnes) {
  const Graph graph = gradient_graph();
  ASSERT_TRUE(check_graph(graph).ok()) << check_graph(graph).error().message;
  const Expanded result = expand_gradients(graph).value();
  const Result<ValueTypes> types = check_graph(result.graph);
  ASSERT_TRUE(types.ok()) << types.error().message;
  EXPECT_EQ(types->find("dw")->second, f32({3, 4}));
  ASSERT_EQ(result.origin.size(), result.graph.nodes.size());
  EXPECT_EQ(result.origin.front(), 0U);
  EXPECT_EQ(result.origin.back(), 1U);
  for (const Node& node : result.graph.nodes) EXPECT_NE(node.op, "Gradient");
  EXPECT_EQ(result.graph.inputs.size(), 1U);
}

TEST(GradientNodes, NameTheirFaults) {
  const auto fault = [](const Graph& graph) {
    const Result<Expanded> result = expand_gradients(graph);
    return result.ok() ? std::string("accepted") : result.error().message;
  };
  EXPECT_EQ(fault(gradient_graph({"w"}, {"x"}, "v")),
            "workload g: node gradient (Gradient): names 'v', which is no value made before it");
  Graph other = gradient_graph();
  other.nodes[1].inputs[0] = "x";
  EXPECT_EQ(fault(other),
            "workload g: node gradient (Gradient): input 0 is float32 [2, 3], 'w' in its place is "
            "float32 [3, 4]");
  Graph no_gradient = gradient_graph();
  no_gradient.nodes[1].inputs.pop_back();
  EXPECT_EQ(check_graph(no_gradient).error().message,
            "workload g: node gradient (Gradient): has 1 inputs; xs and zs name 2");
}

// Nothing but the attribute says that y is needed.
TEST(GradientNodes, KeepWhatTheyNameFromPruning) {
  const Graph kept = pruned(gradient_graph(), {"dw"}, true);
  EXPECT_EQ(kept.nodes.size(), 2U);
  EXPECT_TRUE(expand_gradients(kept).ok());
  EXPECT_EQ(to_inference(gradient_graph(), {"dw"}).nodes.size(), 2U);
}

}  // namespace
}  // namespace gradstone
