// SPDX-License-Identifier: Apache-2.0
#include "kernels/program.h"

#include <gtest/gtest.h>

#include "kernels/evaluate.h"
#include "kernels/kernel.h"

namespace gradstone::kernels {
namespace {

Node unary(const std::string& name, const std::string& op, const std::string& input) {
  return {name, op, "", {input}, {name}, {}};
}

TEST(KernelTest, EveryOperatorHasAKernelOrAnExpansion) {
  for (const OpDef& op : op_table()) {
    if (op.name == "Gradient") continue;  // expand_gradients replaces it
    EXPECT_TRUE(find_kernel(op.domain, op.name) || op.expand) << op.domain << " " << op.name;
  }
}

TEST(EvaluateTest, NamesAMissingValueAndAWrongType) {
  Graph graph;
  graph.inputs = {{"x", {DType::kFloat32, {2}}}};
  graph.nodes = {unary("y", "Relu", "x")};
  graph.outputs = {"y"};
  const auto missing = evaluate(graph, {});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("'x'"), std::string::npos);
  const auto wrong = evaluate(graph, {{"x", Tensor::scalar(1.0)}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("'x'"), std::string::npos);
}

TEST(EvaluateTest, WrapsIntegersAndRefusesDivisionByZero) {
  Graph graph;
  graph.inputs = {{"a", {DType::kInt32, {2}}}, {"b", {DType::kInt32, {2}}}};
  graph.nodes = {{"sum", "Add", "", {"a", "b"}, {"sum"}, {}},
                 {"quotient", "Div", "", {"a", "b"}, {"quotient"}, {}}};
  graph.outputs = {"sum", "quotient"};
  const std::int32_t least = std::numeric_limits<std::int32_t>::min();
  const std::vector<std::int32_t> a = {least, -7}, b = {-1, 2}, zeros = {0, 0};
  const auto values = evaluate(
      graph, {{"a", Tensor::of<std::int32_t>({2}, a)}, {"b", Tensor::of<std::int32_t>({2}, b)}});
  ASSERT_TRUE(values.ok()) << values.error().message;
  EXPECT_EQ((*values)[0].as<std::int32_t>()[0], std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ((*values)[1].as<std::int32_t>()[0], least);
  EXPECT_EQ((*values)[1].as<std::int32_t>()[1], -3);
  const auto refused = evaluate(graph, {{"a", Tensor::of<std::int32_t>({2}, a)},
                                        {"b", Tensor::of<std::int32_t>({2}, zeros)}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("quotient"), std::string::npos);
}

// A chain of ten nodes needs two buffers at a time; values that are kept need their own.
TEST(ProgramTest, FreesBuffersAtTheirLastUse) {
  Graph graph;
  graph.inputs = {{"x", {DType::kFloat32, {256}}}};
  std::string last = "x";
  for (int i = 0; i < 10; ++i) {
    graph.nodes.push_back(unary("y" + std::to_string(i), "Neg", last));
    last = graph.nodes.back().name;
  }
  const auto buffers = [&](const std::vector<std::string>& kept) {
    const auto pool = std::make_shared<BufferPool>();
    EXPECT_TRUE(Program::make(graph, kept, pool).ok());
    EXPECT_EQ(pool->total_bytes(), pool->count() * 1024);
    return pool->count();
  };
  EXPECT_EQ(buffers({"y9"}), 2u);
  EXPECT_EQ(buffers({"y1", "y5", "y9"}), 4u);
}

TEST(ProgramTest, KeepsWhatIsAskedFor) {
  Graph graph;
  graph.inputs = {{"x", {DType::kFloat64, {}}}};
  std::string last = "x";
  for (int i = 0; i < 6; ++i) {
    graph.nodes.push_back(
        {"y" + std::to_string(i), "Add", "", {last, "x"}, {"y" + std::to_string(i)}, {}});
    last = graph.nodes.back().name;
  }
  graph.outputs = {"y0", "y3", "x", "y5"};
  const auto values = evaluate(graph, {{"x", Tensor::scalar(1.0)}});
  ASSERT_TRUE(values.ok()) << values.error().message;
  const double expected[] = {2, 5, 1, 7};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ((*values)[i].as<double>()[0], expected[i]);
}

// Channels c - floor((size-1)/2) to c + ceil((size-1)/2), and the adjoint: <A x, y> = <x, A' y>.
TEST(KernelTest, ChannelWindowSumHasItsAdjoint) {
  const auto apply = [](std::vector<double> x, std::int64_t size, std::int64_t transposed) {
    Graph graph;
    graph.inputs = {{"x", {DType::kFloat64, {1, 5}}}};
    graph.nodes = {{"y",
                    "ChannelWindowSum",
                    std::string(kGradstoneDomain),
                    {"x"},
                    {"y"},
                    {{"size", size}, {"transposed", transposed}}}};
    graph.outputs = {"y"};
    const auto values = evaluate(graph, {{"x", Tensor::of<double>({1, 5}, x)}});
    EXPECT_TRUE(values.ok());
    const auto span = (*values)[0].as<double>();
    return std::vector<double>(span.begin(), span.end());
  };
  EXPECT_EQ(apply({1, 2, 4, 8, 16}, 2, 0), (std::vector<double>{3, 6, 12, 24, 16}));
  EXPECT_EQ(apply({1, 2, 4, 8, 16}, 2, 1), (std::vector<double>{1, 3, 6, 12, 24}));
  EXPECT_EQ(apply({1, 2, 4, 8, 16}, 3, 1), (std::vector<double>{3, 7, 14, 28, 24}));
}

}  // namespace
}  // namespace gradstone::kernels
