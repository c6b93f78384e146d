// SPDX-License-Identifier: Apache-2.0
#include "graph/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/one_node.h"
#include "graph/onnx_dtype.h"

namespace gradstone {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// image -> norm -> drop -> logits -> loss with label, and `spare`, which nothing reads.
Graph training_graph() {
  Graph graph;
  graph.name = "net";
  graph.inputs = {{"image", f32({4, 3})}, {"label", i64({4})}};
  for (const char* name : {"scale", "bias", "w"}) {
    graph.weights.push_back({name, f32({3}), Initializer::constant(1), true});
  }
  for (const char* name : {"mean", "var"}) {
    graph.weights.push_back({name, f32({3}), Initializer::constant(1), false});
  }
  graph.constants = {{"ratio", Tensor::scalar(0.25F)}, {"training", Tensor::scalar(true)}};
  graph.nodes = {{"norm",
                  "BatchNormalization",
                  "",
                  {"image", "scale", "bias", "mean", "var"},
                  {"norm", "new_mean", "new_var"},
                  {{"training_mode", std::int64_t{1}}, {"epsilon", 1e-3}}},
                 {"drop", "Dropout", "", {"norm", "ratio", "training"}, {"drop", "kept"}, {}},
                 {"fc", "Mul", "", {"drop", "w"}, {"logits"}, {}},
                 {"loss", "SoftmaxCrossEntropyLoss", "", {"logits", "label"}, {"loss"}, {}},
                 {"spare", "Neg", "", {"logits"}, {"spare"}, {}}};
  graph.outputs = {"loss"};
  graph.state_updates = {{"mean", "new_mean"}, {"var", "new_var"}};
  return graph;
}

template <class T>
std::vector<std::string> names_of(const std::vector<T>& items) {
  std::vector<std::string> names;
  for (const T& item : items) names.push_back(item.name);
  return names;
}

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes) ops.push_back(node.op);
  return ops;
}

// A Scan over x [5, 2] with a Dropout in its body.
Graph scan_graph() {
  Graph body;
  body.inputs = {{"x", f32({2})}};
  body.constants = {{"one", Tensor::of<float>({1}, std::vector<float>{1})}};
  body.nodes = {{"y", "Mul", "", {"x", "one"}, {"y"}, {}},
                {"drop", "Dropout", "", {"y"}, {"z"}, {}}};
  body.outputs = {"z"};
  return one_node(
      "Scan", {f32({5, 2})},
      {{"num_scan_inputs", std::int64_t{1}}, {"body", std::make_shared<const Graph>(body)}});
}

TEST(Passes, ReachIntoGraphsInAttributes) {
  ASSERT_TRUE(check_graph(scan_graph()).ok()) << check_graph(scan_graph()).error().message;
  const Graph still = to_inference(scan_graph(), {"y0"});
  ASSERT_TRUE(check_graph(still).ok()) << check_graph(still).error().message;
  EXPECT_THAT(ops_of(*subgraph_of(still.nodes[0], "body")), ElementsAre("Mul", "Identity"));
  const Graph twice = with_dtype(scan_graph(), DType::kFloat64);
  const Result<ValueTypes> types = check_graph(twice);
  ASSERT_TRUE(types.ok()) << types.error().message;
  EXPECT_EQ(types->find("y0")->second, (TensorType{DType::kFloat64, {5, 2}}));
}

TEST(Passes, InferenceUsesRunningStatisticsAndDropsNothing) {
  const Graph graph = to_inference(training_graph(), {"logits"});
  ASSERT_TRUE(check_graph(graph).ok()) << check_graph(graph).error().message;
  EXPECT_THAT(ops_of(graph), ElementsAre("BatchNormalization", "Identity", "Mul"));
  EXPECT_EQ(graph.nodes[0].attributes.count("training_mode"), 0U);
  EXPECT_EQ(attribute_or(graph.nodes[0], "epsilon", 0.0), 1e-3);
  EXPECT_THAT(graph.nodes[0].outputs, ElementsAre("norm"));
  EXPECT_THAT(names_of(graph.inputs), ElementsAre("image"));
  EXPECT_THAT(names_of(graph.weights), ElementsAre("scale", "bias", "w", "mean", "var"));
  EXPECT_THAT(graph.constants, IsEmpty());
  EXPECT_THAT(graph.state_updates, IsEmpty());
  EXPECT_THAT(graph.outputs, ElementsAre("logits"));
}

TEST(Passes, InferenceKeepsStatisticsAndMasksThatAreRead) {
  Graph graph = training_graph();
  graph.nodes.push_back({"use", "Add", "", {"norm", "new_var"}, {"used"}, {}});
  graph = to_inference(graph, {"used", "kept"});
  ASSERT_TRUE(check_graph(graph).ok()) << check_graph(graph).error().message;
  EXPECT_THAT(ops_of(graph), ElementsAre("BatchNormalization", "Identity", "Dropout", "Add"));
  EXPECT_THAT(graph.nodes[1].inputs, ElementsAre("var"));
  EXPECT_THAT(graph.nodes[1].outputs, ElementsAre("new_var"));
  EXPECT_THAT(graph.nodes[2].inputs, ElementsAre("norm"));
}

TEST(Passes, PrunedKeepsWhatOutputsAndStatesNeed) {
  const Graph graph = pruned(training_graph(), {"drop"}, /*drop_inputs=*/false);
  ASSERT_TRUE(check_graph(graph).ok());
  EXPECT_THAT(names_of(graph.nodes), ElementsAre("norm", "drop"));
  EXPECT_THAT(names_of(graph.weights), ElementsAre("scale", "bias", "mean", "var"));
  EXPECT_THAT(names_of(graph.inputs), ElementsAre("image", "label"));
  EXPECT_EQ(graph.state_updates.size(), 2U);
  EXPECT_THAT(names_of(pruned(training_graph(), {"drop"}, true).inputs), ElementsAre("image"));
  EXPECT_THAT(names_of(pruned(training_graph(), {"image"}, true).nodes), ElementsAre("norm"));
}

TEST(Passes, SharedDropoutIsAProductWithAMask) {
  const SharedDropout shared = share_dropout(training_graph());
  const Graph& graph = shared.graph;
  ASSERT_TRUE(check_graph(graph).ok()) << check_graph(graph).error().message;
  ASSERT_EQ(shared.masks.size(), 1U);
  EXPECT_EQ(shared.masks[0].input, "drop.mask");
  EXPECT_EQ(shared.masks[0].type, f32({4, 3}));
  EXPECT_EQ(shared.masks[0].ratio, 0.25);
  EXPECT_THAT(names_of(graph.inputs), ElementsAre("image", "label", "drop.mask"));
  EXPECT_THAT(ops_of(graph), ElementsAre("BatchNormalization", "Mul", "Cast", "Mul",
                                         "SoftmaxCrossEntropyLoss", "Neg"));
  EXPECT_THAT(graph.nodes[1].inputs, ElementsAre("norm", "drop.mask"));
  EXPECT_THAT(graph.nodes[1].outputs, ElementsAre("drop"));
  EXPECT_EQ(check_graph(graph).value().find("kept")->second.dtype, DType::kBool);
  EXPECT_THAT(graph.constants, IsEmpty());
}

TEST(Passes, SharedDropoutLeavesInferenceAloneAndFindsAFreeName) {
  Graph graph = training_graph();
  graph.nodes[1].inputs.pop_back();  // no training_mode: inference
  EXPECT_THAT(share_dropout(graph).masks, IsEmpty());
  EXPECT_EQ(share_dropout(graph).graph.nodes[1].op, "Dropout");
  graph = training_graph();
  graph.nodes[4].outputs = {"drop.mask"};
  graph.nodes[1].inputs[1] = "";  // the ratio's default is 0.5
  const SharedDropout shared = share_dropout(graph);
  EXPECT_EQ(shared.masks.at(0).input, "drop.mask.2");
  EXPECT_EQ(shared.masks.at(0).ratio, 0.5);
  EXPECT_TRUE(check_graph(shared.graph).ok());
}

TEST(Passes, WithDtypeChangesEveryFloatingValue) {
  Graph graph = training_graph();
  graph.nodes.push_back(
      {"cast", "Cast", "", {"label"}, {"as_float"}, {{"to", onnx_code(DType::kFloat32)}}});
  graph.nodes.push_back(
      {"keep", "Cast", "", {"image"}, {"as_int"}, {{"to", onnx_code(DType::kInt32)}}});
  const Graph doubled = with_dtype(graph, DType::kFloat64);
  const Result<ValueTypes> types = check_graph(doubled);
  ASSERT_TRUE(types.ok()) << types.error().message;
  for (const auto& [name, type] : *types) EXPECT_NE(type.dtype, DType::kFloat32) << name;
  EXPECT_EQ(types->find("label")->second.dtype, DType::kInt64);
  EXPECT_EQ(types->find("as_int")->second.dtype, DType::kInt32);
  EXPECT_EQ(doubled.find_constant("ratio")->value.as<double>()[0], 0.25);
  EXPECT_TRUE(doubled.find_constant("training")->value.as<bool>()[0]);
}

}  // namespace
}  // namespace gradstone
