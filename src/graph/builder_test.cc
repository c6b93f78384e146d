// SPDX-License-Identifier: Apache-2.0
#include "graph/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradstone {
namespace {

using testing::ElementsAre;

std::vector<std::string> weight_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Weight& weight : graph.weights) names.push_back(weight.name);
  return names;
}

const Node& node_named(const Graph& graph, std::string_view name) {
  for (const Node& node : graph.nodes) {
    if (node.name == name) return node;
  }
  CHECK(false, "no such node");
}

TEST(GraphBuilder, LayersInferTheirInputs) {
  GraphBuilder b("net");
  Value x = b.input("image", DType::kFloat32, {2, 6, 9, 8});
  x = b.conv("conv1", x, {.filters = 4, .kernel = {3, 2}, .stride = {2, 1}, .pad = 1, .groups = 2});
  EXPECT_EQ(b.shape(x), (Shape{2, 4, 5, 9}));
  x = b.max_pool("pool1", x, {.kernel = 2});
  EXPECT_EQ(b.shape(x), (Shape{2, 4, 2, 4}));
  EXPECT_EQ(b.extent(x, 3), 4);
  x = b.dense("fc1", x, {.units = 3});
  const Graph graph = b.finish({x}).value();
  EXPECT_THAT(weight_names(graph),
              ElementsAre("conv1.weight", "conv1.bias", "fc1.weight", "fc1.bias"));
  EXPECT_EQ(graph.weights[0].type.shape, (Shape{4, 3, 3, 2}));
  EXPECT_EQ(graph.weights[2].type.shape, (Shape{3, 32}));
  EXPECT_THAT(graph.outputs, ElementsAre("fc1"));
  EXPECT_THAT(node_named(graph, "fc1").inputs,
              ElementsAre("fc1.flatten", "fc1.weight", "fc1.bias"));
}

TEST(GraphBuilder, WindowsOfEveryKind) {
  GraphBuilder b("net");
  const Value x = b.input("image", DType::kFloat32, {1, 3, 8, 8});
  EXPECT_EQ(b.shape(b.conv("same", x,
                           {.filters = 2, .kernel = 3, .stride = 2, .auto_pad = "SAME_UPPER"})),
            (Shape{1, 2, 4, 4}));
  EXPECT_EQ(b.shape(b.conv("dilated", x, {.filters = 2, .kernel = 3, .dilation = 3})),
            (Shape{1, 2, 2, 2}));
  EXPECT_EQ(b.shape(b.average_pool("floor", x, {.kernel = 3, .stride = 2})), (Shape{1, 3, 3, 3}));
  EXPECT_EQ(
      b.shape(b.average_pool(
          "ceil", x, {.kernel = 3, .stride = 2, .ceil_mode = true, .count_include_pad = true})),
      (Shape{1, 3, 4, 4}));
  EXPECT_EQ(b.shape(b.global_average_pool("global", x)), (Shape{1, 3, 1, 1}));
  EXPECT_EQ(b.shape(b.lrn("lrn", x, {.size = 3})), (Shape{1, 3, 8, 8}));
  EXPECT_TRUE(b.finish({}).ok());
}

TEST(GraphBuilder, BatchNormCarriesItsStateBack) {
  GraphBuilder b("net");
  const Value x = b.input("image", DType::kFloat32, {4, 3, 5, 5});
  const Value y = b.batch_norm("bn1", x, {.momentum = 0.5, .running_variance = "sample"});
  const Graph graph = b.finish({y}).value();
  ASSERT_EQ(graph.state_updates.size(), 2u);
  EXPECT_EQ(graph.state_updates[0].weight, "bn1.running_mean");
  EXPECT_EQ(graph.state_updates[0].value, graph.nodes[0].outputs[1]);
  EXPECT_EQ(graph.state_updates[1].weight, "bn1.running_var");
  EXPECT_EQ(graph.state_updates[1].value, graph.nodes[0].outputs[2]);
  EXPECT_THAT(graph.nodes[0].inputs, ElementsAre("image", "bn1.weight", "bn1.bias",
                                                 "bn1.running_mean", "bn1.running_var"));
  EXPECT_FALSE(graph.find_weight("bn1.running_mean")->trainable);
  EXPECT_EQ(graph.find_weight("bn1.running_var")->initializer, Initializer::constant(1));
  EXPECT_EQ(graph.find_weight("bn1.weight")->initializer, Initializer::constant(1));
  EXPECT_EQ(attribute_or(graph.nodes[0], "momentum", 0.9), 0.5);
  EXPECT_EQ(attribute_or(graph.nodes[0], "training_mode", std::int64_t{0}), 1);
  EXPECT_EQ(parameter_count(graph), 6);
}

TEST(GraphBuilder, DropoutInputsAreConstants) {
  GraphBuilder b("net");
  const Value y = b.dropout("drop", b.input("x", DType::kFloat32, {2, 3}), 0.25);
  const Graph graph = b.finish({y}).value();
  EXPECT_EQ(element_as_double(graph.find_constant("drop.ratio")->value.ref(), 0), 0.25);
  EXPECT_EQ(graph.find_constant("drop.training_mode")->value.as<bool>()[0], true);
  EXPECT_THAT(graph.nodes[0].inputs, ElementsAre("x", "drop.ratio", "drop.training_mode"));
}

TEST(GraphBuilder, LayoutAndArithmetic) {
  GraphBuilder b("net");
  const Value x = b.input("x", DType::kFloat32, {2, 3, 4});
  const Value ids = b.input("ids", DType::kInt64, {5});
  EXPECT_EQ(b.shape(b.reshape("reshape", x, {0, -1})), (Shape{2, 12}));
  EXPECT_EQ(b.shape(b.transpose("transpose", x, {2, 0, 1})), (Shape{4, 2, 3}));
  EXPECT_EQ(b.shape(b.concat("concat", {x, x}, 1)), (Shape{2, 6, 4}));
  EXPECT_EQ(b.shape(b.gather("gather", x, ids, 1)), (Shape{2, 5, 4}));
  EXPECT_EQ(b.shape(b.reduce_mean("mean", x, {1})), (Shape{2, 4}));
  EXPECT_EQ(b.shape(b.reduce_mean("kept", x, {1}, true)), (Shape{2, 1, 4}));
  EXPECT_EQ(b.shape(b.add("add", x, x)), (Shape{2, 3, 4}));
  const Value w = b.weight("w", {4, 6}, Initializer::xavier_uniform());
  EXPECT_EQ(b.shape(b.matmul("matmul", x, w)), (Shape{2, 3, 6}));
  EXPECT_EQ(b.shape(b.softmax("softmax", b.sigmoid("sigmoid", x))), (Shape{2, 3, 4}));
  EXPECT_EQ(b.shape(b.node("pow", "Mul", {x, x})), (Shape{2, 3, 4}));
  EXPECT_TRUE(b.finish({}).ok());
}

TEST(GraphBuilder, RenamingFollowsTheValue) {
  GraphBuilder b("net");
  const Value labels = b.input("label", DType::kInt64, {2});
  const Value fc = b.dense("fc", b.input("x", DType::kFloat32, {2, 3}), {.units = 4});
  const Value relu = b.relu("relu", fc);
  const Value logits = b.rename(fc, "logits");
  const Value loss = b.softmax_cross_entropy("loss", relu, labels);
  EXPECT_EQ(b.shape(loss), Shape{});
  const Graph graph = b.finish({loss, logits}).value();
  EXPECT_THAT(node_named(graph, "fc").outputs, ElementsAre("logits"));
  EXPECT_THAT(node_named(graph, "relu").inputs, ElementsAre("logits"));
  EXPECT_THAT(graph.outputs, ElementsAre("loss", "logits"));
}

TEST(GraphBuilder, TheFirstErrorComesOutOfFinish) {
  GraphBuilder b("net");
  Value x = b.input("image", DType::kFloat32, {1, 3, 4, 4});
  x = b.conv("conv1", x, {.filters = 2, .kernel = 7});
  x = b.dense("fc", b.max_pool("pool", x, {}), {.units = 2});  // does nothing
  EXPECT_EQ(b.extent(x, 0), 0);
  const Result<Graph> graph = b.finish({x});
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.error().message, testing::StartsWith("workload net: node conv1 (Conv): "));
}

TEST(GraphBuilder, ErrorsNameTheNode) {
  const auto message = [](void (*build)(GraphBuilder&, const Value&)) {
    GraphBuilder b("net");
    build(b, b.input("image", DType::kFloat32, {1, 3, 4, 4}));
    const Result<Graph> graph = b.finish({});
    return graph.ok() ? std::string("ok") : graph.error().message;
  };
  EXPECT_EQ(message([](GraphBuilder& b, const Value& x) { b.node("c", "Conv3", {x}); }),
            "workload net: node c: unknown op 'Conv3'; did you mean 'Conv'?");
  EXPECT_EQ(
      message([](GraphBuilder& b, const Value& x) { b.conv("c", x, {.filters = 4, .groups = 2}); }),
      "workload net: node c: 3 input channels do not divide into 2 groups");
  EXPECT_EQ(message([](GraphBuilder& b, const Value& x) {
              b.conv("c", b.flatten("f", x), {.filters = 4});
            }),
            "workload net: node c: the input must have 4 axes, it is [1, 48]");
  EXPECT_EQ(message([](GraphBuilder& b, const Value&) { b.relu("r", {"imagee"}); }),
            "workload net: node r: reads 'imagee', which is not there yet");
  EXPECT_EQ(message([](GraphBuilder& b, const Value& x) {
              b.relu("r", x);
              b.tanh("r", x);
            }),
            "workload net: node r: another value has this name");
  EXPECT_EQ(message([](GraphBuilder& b, const Value& x) { b.rename(x, "picture"); }),
            "workload net: node image: is no node; only a node's value can be renamed");
}

}  // namespace
}  // namespace gradstone
