// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/one_node.h"

namespace gradstone {
namespace {

using namespace testing;

Node node_of(std::string name, std::string op, std::vector<std::string> inputs,
             std::vector<std::string> outputs) {
  Node node;
  node.name = std::move(name);
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

// conv1 -> relu1 -> norm (training) with its running mean as a state.
Graph small_network() {
  Graph graph;
  graph.name = "lenet";
  graph.inputs = {{"image", f32({2, 1, 8, 8})}};
  graph.weights = {{"conv1.weight", f32({4, 1, 3, 3}), Initializer::he_normal(), true},
                   {"norm.scale", f32({4}), Initializer::constant(1), true},
                   {"norm.mean", f32({4}), Initializer::constant(0), false}};
  graph.nodes = {node_of("conv1", "Conv", {"image", "conv1.weight"}, {"conv1"}),
                 node_of("relu1", "Relu", {"conv1"}, {"relu1"}),
                 node_of("norm", "BatchNormalization",
                         {"relu1", "norm.scale", "norm.scale", "norm.mean", "norm.mean"},
                         {"norm", "new_mean", ""})};
  graph.nodes[2].attributes["training_mode"] = std::int64_t{1};
  graph.outputs = {"norm"};
  graph.state_updates = {{"norm.mean", "new_mean"}};
  return graph;
}

template <class Change>
std::string fault(Change change) {
  Graph graph = small_network();
  change(graph);
  const Result<ValueTypes> types = check_graph(graph);
  return types.ok() ? "accepted" : types.error().message;
}

TEST(CheckGraph, InfersEveryValue) {
  const ValueTypes types = check_graph(small_network()).value();
  EXPECT_EQ(types.size(), 8U);
  EXPECT_EQ(types.find("image")->second, f32({2, 1, 8, 8}));
  EXPECT_EQ(types.find("relu1")->second, f32({2, 4, 6, 6}));
  EXPECT_EQ(types.find("new_mean")->second, f32({4}));
}

TEST(CheckGraph, SuggestsForUnknownNames) {
  EXPECT_EQ(fault([](Graph& g) { g.nodes[0].op = "Conv3"; }),
            "workload lenet: node conv1: unknown op 'Conv3'; did you mean 'Conv'?");
  EXPECT_EQ(fault([](Graph& g) { g.nodes[0].domain = "com.example"; }),
            "workload lenet: node conv1: unknown op 'Conv' of domain 'com.example'");
  EXPECT_EQ(fault([](Graph& g) {
              g.nodes[0].attributes["stride"] = Ints{1, 1};
            }),
            "workload lenet: node conv1 (Conv): unknown attribute 'stride'; did you mean "
            "'strides'?");
  EXPECT_EQ(fault([](Graph& g) { g.nodes[1].inputs[0] = "conv2"; }),
            "workload lenet: node relu1: reads 'conv2', which nothing makes; did you mean "
            "'conv1'?");
  EXPECT_EQ(fault([](Graph& g) { g.outputs[0] = "nrom"; }),
            "workload lenet: output 'nrom', which nothing makes; did you mean 'norm'?");
}

TEST(CheckGraph, SaysWhatDoesNotFit) {
  EXPECT_EQ(fault([](Graph& g) { g.weights[0].type.shape[1] = 3; }),
            "workload lenet: node conv1 (Conv): weight has 3 input channels, the input has 1");
}

TEST(CheckGraph, NamesAreUniqueAndPrintable) {
  EXPECT_EQ(fault([](Graph& g) { g.nodes[1].name = "conv1"; }),
            "workload lenet: node conv1: another node has this name");
  EXPECT_EQ(fault([](Graph& g) { g.nodes[1].outputs[0] = "image"; }),
            "workload lenet: node relu1: the name 'image' is taken by another value");
  EXPECT_EQ(fault([](Graph& g) { g.weights[1].name = "image"; }),
            "workload lenet: weight image: the name 'image' is taken by another value");
  EXPECT_EQ(fault([](Graph& g) { g.nodes[1].name = ""; }),
            "workload lenet: a node (Relu) has no name");
  EXPECT_EQ(fault([](Graph& g) { g.inputs[0].name = ""; }),
            "workload lenet: input : a value has no name");
  EXPECT_EQ(fault([](Graph& g) { g.nodes[1].outputs[0] = "two\nlines"; }),
            "workload lenet: node relu1: the name of a value holds a control character");
}

TEST(CheckGraph, NodesStandInTopologicalOrder) {
  EXPECT_EQ(fault([](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); }),
            "workload lenet: node relu1: reads 'conv1', which node conv1 makes only later; put "
            "that node first");
  EXPECT_EQ(fault([](Graph& g) { g.nodes[1].inputs[0] = "relu1"; }),
            "workload lenet: node relu1: reads 'relu1', which node relu1 makes only later; put "
            "that node first");
}

TEST(CheckGraph, Arity) {
  EXPECT_EQ(fault([](Graph& g) { g.nodes[0].inputs.pop_back(); }),
            "workload lenet: node conv1 (Conv): has 1 inputs; expected 2 to 3");
  EXPECT_EQ(fault([](Graph& g) { g.nodes[1].outputs.push_back("more"); }),
            "workload lenet: node relu1 (Relu): has 2 outputs; expected 1");
  EXPECT_EQ(fault([](Graph& g) { g.nodes[0].inputs[1] = ""; }),
            "workload lenet: node conv1 (Conv): input 1 is required, but absent");
  EXPECT_EQ(fault([](Graph& g) { g.nodes[1].outputs[0] = ""; }),
            "workload lenet: node relu1 (Relu): output 0 is required, but has no name");
  Graph concat = one_node("Concat", {}, {{"axis", std::int64_t{0}}});
  EXPECT_EQ(outcome(concat), "has 0 inputs; expected 1 or more");
  concat = one_node("Concat", {f32({2}), {}}, {{"axis", std::int64_t{0}}});
  EXPECT_EQ(outcome(concat), "input 1 is required, but absent");
}

TEST(CheckGraph, GraphsInAttributes) {
  EXPECT_EQ(fault([](Graph& g) { g.nodes[0].attributes["strides"] = Subgraph(); }),
            "workload lenet: node conv1 (Conv): attribute 'strides' holds no graph");
  const Subgraph body = std::make_shared<const Graph>();
  EXPECT_EQ(fault([&](Graph& g) { g.nodes[0].attributes["strides"] = body; }),
            "workload lenet: node conv1 (Conv): attribute 'strides' is a graph; expected a list of "
            "integers");
  Graph with_weight = small_network();
  EXPECT_EQ(check_subgraph(with_weight).error().message,
            "a graph in an attribute has no weights; hand them in as inputs");
  Graph bad;
  bad.outputs = {"x"};
  EXPECT_EQ(check_subgraph(bad).error().message, "output 'x', which nothing makes");
}

TEST(CheckGraph, AttributeKinds) {
  EXPECT_EQ(fault([](Graph& g) { g.nodes[0].attributes["strides"] = std::int64_t{2}; }),
            "workload lenet: node conv1 (Conv): attribute 'strides' is an integer; expected a list "
            "of integers");
  EXPECT_EQ(fault([](Graph& g) { g.nodes[2].attributes["epsilon"] = "1e-5"; }),
            "workload lenet: node norm (BatchNormalization): attribute 'epsilon' is a string; "
            "expected a float");
}

TEST(CheckGraph, StateUpdates) {
  EXPECT_EQ(fault([](Graph& g) { g.state_updates[0].weight = "norm.var"; }),
            "workload lenet: state update of norm.var: there is no such weight");
  EXPECT_EQ(fault([](Graph& g) { g.weights[2].trainable = true; }),
            "workload lenet: state update of norm.mean: the weight is trainable; only a state can "
            "be updated");
  EXPECT_EQ(fault([](Graph& g) { g.state_updates[0].value = "relu1"; }),
            "workload lenet: state update of norm.mean: it is float32 [4], the value 'relu1' is "
            "float32 [2, 4, 6, 6]");
  EXPECT_EQ(fault([](Graph& g) { g.state_updates.push_back(g.state_updates[0]); }),
            "workload lenet: state update of norm.mean: it is updated twice");
  EXPECT_EQ(fault([](Graph& g) { g.state_updates[0].value = "none"; }),
            "workload lenet: state update of norm.mean: takes 'none', which nothing makes");
}

TEST(CheckGraph, ExtentsOfForeignOrigin) {
  const auto with_shape = [](Shape shape) {
    return fault([&](Graph& g) { g.inputs[0].type.shape = shape; });
  };
  EXPECT_EQ(with_shape({2, 0, 8, 8}),
            "workload lenet: input image: shape [2, 0, 8, 8] holds nothing");
  EXPECT_EQ(with_shape({2, -1, 8, 8}),
            "workload lenet: input image: shape [2, -1, 8, 8] has a negative extent");
  EXPECT_EQ(with_shape({INT64_MAX, INT64_MAX}),
            "workload lenet: input image: shape [9223372036854775807, 9223372036854775807] has "
            "more than 2^40 elements");
  // 2^21 x 2^21 elements come only out of the product.
  const std::int64_t large = std::int64_t{1} << 21;
  EXPECT_THAT(outcome("Mul", {f32({large, 1}), f32({large})}), ::testing::HasSubstr("2^40"));
  EXPECT_EQ(fault([](Graph& g) { g.weights[0].type.dtype = DType::kInt64; }),
            "workload lenet: weight conv1.weight: int64 cannot be trained");
}

TEST(CheckGraph, OnlyListsOfIntegersMayBeEmpty) {
  EXPECT_EQ(outcome("Reshape", {f32({1}), list({})}), "float32 []");
  EXPECT_EQ(outcome("Concat", {list({}), list({1})}, {{"axis", std::int64_t{0}}}),
            "the first input is empty");
  EXPECT_EQ(outcome("Relu", {Tensor(f32({0}))}),
            "workload test: constant x0: shape [0] holds nothing");
  EXPECT_EQ(outcome("Relu", {Tensor()}), "workload test: constant x0: has no value");
}

}  // namespace
}  // namespace gradstone
