// SPDX-License-Identifier: Apache-2.0
// What differentiated graphs look like. That their values are right is shown by finite differences
// in src/kernels.
#include "graph/differentiate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "graph/op_table.h"
#include "graph/testing/gradient_cases.h"

namespace gradstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TensorType float32(Shape shape) { return {DType::kFloat32, std::move(shape)}; }

Node node(std::string name, std::string op, std::vector<std::string> inputs,
          testing::Attributes attributes = {}) {
  return {name, std::move(op), "", std::move(inputs), {name}, std::move(attributes)};
}

// A graph whose inputs a, b and c have shape [2, 3] and whose nodes are those given.
Graph small_graph(std::vector<Node> nodes) {
  Graph graph;
  graph.name = "small";
  for (const char* name : {"a", "b", "c"}) graph.inputs.push_back({name, float32({2, 3})});
  graph.nodes = std::move(nodes);
  return graph;
}

std::vector<std::string> backward_ops(const Differentiated& result) {
  std::vector<std::string> ops;
  for (std::size_t i = result.forward_nodes; i < result.graph.nodes.size(); ++i) {
    ops.push_back(result.graph.nodes[i].op);
  }
  return ops;
}

const Node* find_node(const Graph& graph, std::string_view name) {
  for (const Node& node : graph.nodes) {
    if (node.name == name) return &node;
  }
  return nullptr;
}

void expect_well_formed(const Differentiated& result, const std::vector<std::string>& wrt) {
  const Result<ValueTypes> types = check_graph(result.graph);
  ASSERT_TRUE(types.ok()) << types.error().message;
  ASSERT_EQ(result.gradients.size(), wrt.size());
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    EXPECT_EQ(types->at(result.gradients[i]), types->at(wrt[i])) << wrt[i];
  }
  ASSERT_EQ(result.origin.size(), result.graph.nodes.size());
  for (std::size_t i = result.forward_nodes; i < result.origin.size(); ++i) {
    const std::string& origin = result.origin[i];
    const std::string prefix = origin.empty() ? "grad/" : "grad/" + origin;
    EXPECT_THAT(result.graph.nodes[i].name, StartsWith(prefix));
  }
}

TEST(Differentiate, EveryRuleGivesCheckedGraphsUpToThirdOrder) {
  for (const testing::GradientCase& test : testing::gradient_cases()) {
    SCOPED_TRACE(test.name);
    Graph graph = testing::graph_of(test);
    std::vector<std::string> from = testing::from_of(test);
    for (int order = 1; order <= 3; ++order) {
      const std::vector<std::string> wrt = testing::wrt_of(graph);
      const Result<Differentiated> result = differentiate(graph, from, wrt);
      ASSERT_TRUE(result.ok()) << result.error().message;
      expect_well_formed(*result, wrt);
      graph = result->graph;
      from = result->gradients;
    }
  }
}

TEST(Differentiate, EveryRuleHasACase) {
  std::set<std::string_view> tested = {"Dropout"};  // its training form stands below
  const std::vector<testing::GradientCase> cases = testing::gradient_cases();
  for (const testing::GradientCase& test : cases) tested.insert(test.op);
  for (const OpDef& op : op_table()) {
    if (op.expand != nullptr && op.gradient == nullptr) continue;  // differentiable or not
    EXPECT_EQ(op.gradient != nullptr, tested.count(op.name) > 0) << op.name;
  }
}

TEST(Differentiate, OutputsAreThoseOfTheGraphThenTheGradients) {
  Graph graph = small_graph({node("y", "Mul", {"a", "b"})});
  graph.outputs = {"y", "a"};
  const Differentiated result = differentiate(graph, {"y"}, {"b", "a"}).value();
  EXPECT_EQ(result.forward_nodes, 1u);
  EXPECT_THAT(result.graph.outputs,
              ElementsAre("y", "a", result.gradients[0], result.gradients[1]));
  EXPECT_THAT(result.cotangent_inputs, ElementsAre("cotangent/y"));
  EXPECT_EQ(result.graph.find_input("cotangent/y")->type, float32({2, 3}));
  EXPECT_THAT(find_node(result.graph, result.gradients[0])->inputs,
              ElementsAre("cotangent/y", "a"));
}

TEST(Differentiate, OnlyNodesOnAPathGetBackwardNodes) {
  const Graph graph = small_graph({node("left", "Exp", {"b"}), node("unused", "Tanh", {"a"}),
                                   node("right", "Neg", {"a"}), node("y", "Mul", {"left", "right"}),
                                   node("after", "Exp", {"y"})});
  const Differentiated result = differentiate(graph, {"y"}, {"a"}).value();
  EXPECT_THAT(backward_ops(result), ElementsAre("Mul", "Neg"));
  EXPECT_THAT(result.origin, ElementsAre("left", "unused", "right", "y", "after", "y", "right"));
}

TEST(Differentiate, WhatNoGradientNeedsIsDropped) {
  const testing::CaseInput image = testing::real({2, 3, 4, 4}), channel = testing::real({3});
  const Graph graph = testing::graph_of({"batch norm",
                                         "BatchNormalization",
                                         {image, channel, channel, channel, channel},
                                         {{"training_mode", std::int64_t{1}}}});
  const Differentiated result = differentiate(graph, {"y0"}, {"x2"}).value();
  EXPECT_THAT(backward_ops(result), ElementsAre("ReduceSum"));
  EXPECT_EQ(result.graph.constants.size(), 1u);  // the axes
}

TEST(Differentiate, IndependentValuesGetZeros) {
  const Graph graph = small_graph({node("y", "Exp", {"a"})});
  const Differentiated result = differentiate(graph, {"y"}, {"b", "a"}).value();
  expect_well_formed(result, {"b", "a"});
  const Node& zeros = *find_node(result.graph, result.gradients[0]);
  EXPECT_EQ(zeros.op, "Fill");
  EXPECT_EQ(attribute_or(zeros, "value", 1.0), 0.0);
}

TEST(Differentiate, IntegersPassNoGradient) {
  const Graph graph = small_graph({node("whole", "Cast", {"a"}, {{"to", std::int64_t{7}}}),
                                   node("back", "Cast", {"whole"}, {{"to", std::int64_t{1}}}),
                                   node("y", "Mul", {"back", "b"})});
  const Differentiated result = differentiate(graph, {"y"}, {"a", "b"}).value();
  EXPECT_EQ(find_node(result.graph, result.gradients[0])->op, "Fill");
  EXPECT_EQ(find_node(result.graph, result.gradients[1])->op, "Mul");
  EXPECT_THAT(differentiate(graph, {"whole"}, {"a"}).error().message,
              HasSubstr("'whole': int64 [2, 3] is no floating-point value"));
}

TEST(Differentiate, FloatingTypesAreCastBack) {
  const Graph graph = small_graph({node("y", "Cast", {"a"}, {{"to", std::int64_t{11}}})});
  const Differentiated result = differentiate(graph, {"y"}, {"a"}).value();
  expect_well_formed(result, {"a"});
  EXPECT_EQ(result.graph.find_input("cotangent/y")->type.dtype, DType::kFloat64);
}

TEST(Differentiate, GradientsOfAValueReadTwiceAddUp) {
  const Graph graph = small_graph(
      {node("p", "Exp", {"a"}), node("q", "Tanh", {"a"}), node("y", "Mul", {"p", "q"})});
  const Differentiated result = differentiate(graph, {"y"}, {"a"}).value();
  EXPECT_EQ(find_node(result.graph, result.gradients[0])->name, "grad/p/accumulate");
  const Graph square = small_graph({node("y", "Mul", {"a", "a"})});
  EXPECT_THAT(backward_ops(differentiate(square, {"y"}, {"a"}).value()),
              ElementsAre("Mul", "Mul", "Add"));
}

TEST(Differentiate, SeveralCotangentsOfOneValueAddUp) {
  const Graph graph = small_graph({node("y", "Neg", {"a"})});
  const Differentiated result = differentiate(graph, {"y", "y", "a"}, {"a"}).value();
  expect_well_formed(result, {"a"});
  EXPECT_THAT(result.cotangent_inputs, ElementsAre("cotangent/y", "cotangent/y_2", "cotangent/a"));
  EXPECT_THAT(backward_ops(result), ElementsAre("Add", "Neg", "Add"));
}

// An engine can fetch each gradient without knowing that several are the same.
TEST(Differentiate, GradientsAreValuesOfTheirOwn) {
  const Graph graph = small_graph({node("y", "Add", {"a", "b"})});
  const Differentiated result = differentiate(graph, {"y"}, {"a", "b", "a"}).value();
  EXPECT_THAT(backward_ops(result), ElementsAre("Identity", "Identity", "Identity"));
  EXPECT_EQ(std::set(result.gradients.begin(), result.gradients.end()).size(), 3u);
}

TEST(Differentiate, NamesTellTheForwardNodeAlsoInHigherOrders) {
  Graph graph;
  graph.inputs = {{"x", float32({1, 1, 4, 4})}};
  graph.weights = {{"w", float32({2, 1, 3, 3}), {}, true}, {"b", float32({2}), {}, true}};
  graph.nodes = {node("conv1", "Conv", {"x", "w", "b"})};
  const std::vector<std::string> wrt = {"x", "w", "b"};
  const Differentiated once = differentiate(graph, {"conv1"}, wrt).value();
  EXPECT_THAT(once.gradients,
              ElementsAre("grad/conv1/input", "grad/conv1/weight", "grad/conv1/sum"));
  const Differentiated twice = differentiate(once.graph, {"grad/conv1/weight"}, wrt).value();
  expect_well_formed(twice, wrt);
  EXPECT_EQ(twice.gradients[0], "grad/grad/conv1/weight/input");
  const Differentiated again = differentiate(once.graph, {"conv1"}, {"w"}).value();
  EXPECT_EQ(again.gradients[0], "grad/conv1/weight_2");
}

TEST(Differentiate, TrainingDropoutReusesTheMask) {
  Graph graph = small_graph({node("drop", "Dropout", {"a", "ratio", "training"})});
  graph.constants = {{"ratio", Tensor::scalar(0.75f)}, {"training", Tensor::scalar(true)}};
  const Differentiated result = differentiate(graph, {"drop"}, {"a"}).value();
  expect_well_formed(result, {"a"});
  ASSERT_EQ(result.graph.nodes[0].outputs.size(), 2u);
  const Node& cast = *find_node(result.graph, "grad/drop/cast");
  EXPECT_EQ(cast.inputs[0], result.graph.nodes[0].outputs[1]);
  const Node& scaled = *find_node(result.graph, "grad/drop/mul");
  EXPECT_EQ(element_as_double(result.graph.find_constant(scaled.inputs[1])->value.ref(), 0), 4.0);
  graph.nodes[0].outputs.push_back("kept");
  const Differentiated named = differentiate(graph, {"drop"}, {"a"}).value();
  EXPECT_THAT(named.graph.nodes[0].outputs, ElementsAre("drop", "kept"));
}

TEST(Differentiate, RunningStatisticsPassNoGradient) {
  const testing::CaseInput image = testing::real({2, 3, 4}), channel = testing::real({3});
  const Graph graph = testing::graph_of({"batch norm",
                                         "BatchNormalization",
                                         {image, channel, channel, channel, channel},
                                         {{"training_mode", std::int64_t{1}}},
                                         {0},
                                         3});
  const Differentiated result = differentiate(graph, {"y1", "y2"}, {"x0", "x3"}).value();
  EXPECT_THAT(backward_ops(result), ElementsAre("Fill", "Fill"));
}

TEST(Differentiate, WhatHasNoGradientIsNamed) {
  const testing::CaseInput labels = testing::integers({4}, {0, 1, 2, 0});
  for (const std::string op : {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}) {
    const Graph graph =
        testing::graph_of({op, op, {testing::real({4, 3}), labels, testing::real({3})}, {}});
    EXPECT_TRUE(differentiate(graph, {"y0"}, {"x0"}).ok());
    const Error error = differentiate(graph, {"y0"}, {"x2"}).error();
    EXPECT_EQ(error.kind, ErrorKind::kUnsupported);
    EXPECT_THAT(error.message, StartsWith("node node (" + op + "): no gradient with respect to"));
  }
}

TEST(Differentiate, UnknownNamesAreRefused) {
  const Graph graph = small_graph({node("y", "Exp", {"a"})});
  EXPECT_THAT(differentiate(graph, {"z"}, {"a"}).error().message, HasSubstr("'z': no such value"));
  EXPECT_THAT(differentiate(graph, {"y"}, {"y"}).error().message,
              HasSubstr("'y': no such weight or input"));
  Graph broken = graph;
  broken.nodes[0].op = "Expp";
  EXPECT_THAT(differentiate(broken, {"y"}, {"a"}).error().message, HasSubstr("Expp"));
}

}  // namespace
}  // namespace gradstone
