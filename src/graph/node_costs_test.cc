// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>

#include "graph/one_node.h"

namespace gradstone {
namespace {

using namespace testing;

TEST(NodeCosts, ConvCountsItsBiasApartFromMultiplyAdds) {
  // 2 images, 6 of 8 filters' worth: 4 outputs of 6x6, each 3x5 places of 2 channels a group.
  const Graph graph = one_node("Conv", {f32({2, 4, 8, 10}), f32({4, 2, 3, 5}), f32({4})},
                               {{"group", std::int64_t{2}}});
  const std::int64_t outputs = 2 * 4 * 6 * 6;
  const NodeCost got = cost(graph);
  EXPECT_EQ(got.multiply_adds, outputs * 3 * 5 * 2);
  EXPECT_EQ(got.flops, 2 * got.multiply_adds + outputs);
  EXPECT_EQ(got.bytes, 4 * (2 * 4 * 8 * 10 + 4 * 2 * 3 * 5 + 4 + outputs));
}

TEST(NodeCosts, GemmCountsWhatItScales) {
  EXPECT_EQ(cost(one_node("Gemm", {f32({5, 7}), f32({7, 3})})).flops, 2 * 5 * 7 * 3);
  const NodeCost got = cost(one_node(
      "Gemm", {f32({7, 5}), f32({3, 7}), f32({3})},
      {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}, {"alpha", 2.0}, {"beta", 0.5}}));
  EXPECT_EQ(got.multiply_adds, 5 * 7 * 3);
  EXPECT_EQ(got.flops, 2 * 5 * 7 * 3 + 5 * 3 /* alpha */ + 3 /* beta */ + 5 * 3 /* sum */);
}

TEST(NodeCosts, MatMulCountsTheBroadcastBatch) {
  const NodeCost got = cost(one_node("MatMul", {f32({4, 1, 2, 3}), f32({5, 3, 6})}));
  EXPECT_EQ(got.multiply_adds, 4 * 5 * 2 * 3 * 6);
  EXPECT_EQ(got.flops, 2 * got.multiply_adds);
}

TEST(NodeCosts, ElementwiseAndReductions) {
  EXPECT_EQ(cost(one_node("Add", {f32({4, 1}), f32({3})})).flops, 12);
  EXPECT_EQ(cost(one_node("Relu", {f32({4, 3})})).flops, 12);
  EXPECT_EQ(cost(one_node("ReduceMean", {f32({4, 3})})).flops, 12);
  EXPECT_EQ(cost(one_node("GlobalAveragePool", {f32({2, 3, 5, 5})})).flops, 2 * 3 * 25);
  EXPECT_EQ(cost(one_node("MaxPool", {f32({2, 3, 6, 6})},
                          {{"kernel_shape", Ints{2, 3}}, {"strides", Ints{2, 3}}}))
                .flops,
            2 * 3 * 3 * 2 * 6);
  EXPECT_EQ(cost(one_node("LRN", {f32({1, 8, 2, 2})}, {{"size", std::int64_t{5}}})).flops, 32 * 9);
  EXPECT_EQ(cost(one_node("SoftmaxCrossEntropyLoss", {f32({4, 10}), i64({4})})).flops, 5 * 40 + 4);
  EXPECT_EQ(cost(one_node("Add", {f32({4}), f32({4})})).multiply_adds, 0);
}

TEST(NodeCosts, MovingDataIsNoArithmetic) {
  const NodeCost got = cost(one_node("Transpose", {f32({4, 3})}));
  EXPECT_EQ(got.flops, 0);
  EXPECT_EQ(got.bytes, 2 * 4 * 12);
  EXPECT_EQ(cost(one_node("Dropout", {f32({4})})).flops, 0);
  EXPECT_EQ(cost(one_node("Dropout", {f32({4}), {}, Tensor::scalar(true)})).flops, 4);
}

TEST(NodeCosts, AValueReadTwiceMovesOnce) {
  Graph graph = one_node("Mul", {f32({8})});
  graph.nodes[0].inputs.push_back("x0");
  EXPECT_EQ(cost(graph).bytes, 2 * 4 * 8);
}

TEST(NodeCosts, StopAtTheLargestNumber) {
  const std::int64_t large = std::int64_t{1} << 20;
  const NodeCost got = cost(one_node("MatMul", {f32({large, large}), f32({large, large})}));
  EXPECT_EQ(got.multiply_adds, std::int64_t{1} << 60);
  EXPECT_EQ(got.flops, std::int64_t{1} << 61);
  EXPECT_EQ(cost(one_node("Conv", {f32({1, large, large}), f32({large, large, 1})})).flops,
            std::int64_t{1} << 61);
  EXPECT_EQ(cost(one_node("LRN", {f32({1, large})}, {{"size", INT64_MAX}})).flops, INT64_MAX);
}

// ResNet-50 v1.5 without its activations, which count no multiply-adds.
class ResNet {
 public:
  ResNet() {
    graph_.name = "resnet50";
    graph_.inputs = {{"image", f32({1, 3, 224, 224})}};
    std::string x = conv("image", 3, 64, 7, 2);
    x = add("MaxPool", {x},
            {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
    std::int64_t channels = 64;
    const std::int64_t blocks[] = {3, 4, 6, 3};
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      for (std::int64_t block = 0; block < blocks[stage]; ++block) {
        const std::int64_t width = std::int64_t{64} << stage;
        x = bottleneck(x, channels, width, stage > 0 && block == 0 ? 2 : 1);
        channels = 4 * width;
      }
    }
    x = add("Flatten", {add("GlobalAveragePool", {x})});
    graph_.weights.push_back({"w", f32({1000, 2048}), {}, true});
    graph_.weights.push_back({"b", f32({1000}), {}, true});
    graph_.outputs = {add("Gemm", {x, "w", "b"}, {{"transB", std::int64_t{1}}})};
  }
  const Graph& graph() const { return graph_; }

 private:
  std::string add(std::string op, std::vector<std::string> inputs, Attributes attributes = {}) {
    Node node;
    node.name = node.op = std::move(op);
    node.name += std::to_string(graph_.nodes.size());
    node.inputs = std::move(inputs);
    node.outputs = {node.name};
    node.attributes = std::move(attributes);
    graph_.nodes.push_back(node);
    return node.name;
  }
  std::string weight(Shape shape) {
    const std::string name = "weight" + std::to_string(graph_.weights.size());
    graph_.weights.push_back({name, f32(std::move(shape)), {}, true});
    return name;
  }
  std::string conv(const std::string& x, std::int64_t in, std::int64_t out, std::int64_t kernel,
                   std::int64_t stride) {
    const std::int64_t pad = kernel / 2;
    const std::string y = add("Conv", {x, weight({out, in, kernel, kernel})},
                              {{"strides", Ints{stride, stride}}, {"pads", Ints(4, pad)}});
    return add("Mul", {y, scale(out)});
  }
  // Stands for batch norm, of which scale and shift are parameters.
  std::string scale(std::int64_t channels) {
    weight({channels, 1, 1});
    return weight({channels, 1, 1});
  }
  std::string bottleneck(const std::string& x, std::int64_t in, std::int64_t width,
                         std::int64_t stride) {
    const std::string a = conv(x, in, width, 1, 1);
    const std::string b = conv(a, width, width, 3, stride);
    const std::string c = conv(b, width, 4 * width, 1, 1);
    const std::string shortcut = in == 4 * width ? x : conv(x, in, 4 * width, 1, stride);
    return add("Add", {c, shortcut});
  }

  Graph graph_;
};

TEST(NodeCosts, ResNet50HasItsPublishedCounts) {
  const Graph graph = ResNet().graph();
  const ValueTypes types = check_graph(graph).value();
  std::int64_t multiply_adds = 0;
  for (const NodeCost& node : node_costs(graph, types)) multiply_adds += node.multiply_adds;
  EXPECT_EQ(multiply_adds, 4089184256);
  EXPECT_EQ(parameter_count(graph), 25557032);
}

TEST(ParameterCount, LeavesStatesOut) {
  Graph graph;
  graph.weights = {{"a", f32({3, 4}), {}, true}, {"b", f32({5}), {}, false}};
  EXPECT_EQ(parameter_count(graph), 12);
}

}  // namespace
}  // namespace gradstone
