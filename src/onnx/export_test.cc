// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "base/files.h"
#include "graph/builder.h"
#include "kernels/evaluate.h"
#include "onnx/onnx.h"

namespace gradstone {
namespace {

using testing::HasSubstr;

// Written and read again.
ImportedModel through_a_file(const Graph& graph, const std::map<std::string, Tensor>& weights) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  const std::string path = folder.file("net.onnx");
  export_onnx(graph, weights, path).value();
  return import_onnx(path, {}).value();
}

Graph batch_norm_graph(const std::string& variance, double epsilon) {
  GraphBuilder b("net");
  const Value x = b.input("x", DType::kFloat32, {4, 2});
  BatchNormOptions options;
  options.running_variance = variance;
  options.epsilon = epsilon;
  return b.finish({b.batch_norm("bn", x, options)}).value();
}

std::map<std::string, Tensor> zeros(const Graph& graph) {
  std::map<std::string, Tensor> weights;
  for (const Weight& weight : graph.weights) weights.emplace(weight.name, Tensor(weight.type));
  return weights;
}

TEST(Export, KeepsWhatOnnxHasNoPlaceFor) {
  constexpr double kOdd = 1.0 / 3;  // no float32
  const Graph graph = batch_norm_graph("sample", kOdd);
  const ImportedModel back = through_a_file(graph, zeros(graph));
  const Node& node = back.graph.nodes.at(0);
  EXPECT_EQ(attribute_or(node, "running_variance", ""), "sample");
  EXPECT_EQ(attribute_or(node, "epsilon", 0.0), kOdd);
  EXPECT_EQ(back.graph.state_updates.size(), 2u);
  EXPECT_FALSE(back.graph.find_weight("bn.running_mean")->trainable);
  EXPECT_EQ(back.producer, "gradstone");
}

TEST(Export, OperatorsOfLaterOpsetsAndOfOursHaveOurDomain) {
  GraphBuilder b("net");
  const Value x = b.input("x", DType::kFloat32, {4, 2});
  Node step;
  step.name = "step";
  step.op = "HeavisideStep";
  step.domain = kGradstoneDomain;
  step.inputs = {"x"};
  step.outputs = {"step"};
  b.append(step);
  const Graph graph = b.finish({b.node("gelu", "Gelu", {x}), Value{"step"}}).value();
  const ImportedModel back = through_a_file(graph, {});
  ASSERT_EQ(back.graph.nodes.size(), 2u);
  EXPECT_EQ(back.graph.nodes[0].domain, kGradstoneDomain);
  EXPECT_EQ(back.graph.nodes[1].op, "Gelu");
  EXPECT_EQ(back.graph.nodes[1].domain, "");
}

TEST(Export, FloatingConstantsStayConstants) {
  GraphBuilder b("net");
  const Value x = b.input("x", DType::kFloat32, {2});
  const Value c = b.constant("c", Tensor::of<float>({2}, std::vector<float>{1, 2}));
  const ImportedModel back = through_a_file(b.finish({b.add("sum", x, c)}).value(), {});
  EXPECT_TRUE(back.graph.weights.empty());
  EXPECT_EQ(back.graph.constants.size(), 1u);
}

TEST(Export, WeightsWithoutValues) {
  const Graph graph = batch_norm_graph("population", 1e-5);
  EXPECT_THAT(export_onnx(graph, {}, "/nowhere/x.onnx").error().message, HasSubstr("has no value"));
  EXPECT_THAT(export_onnx(graph, zeros(graph), "/nowhere/x.onnx").error().message,
              HasSubstr("/nowhere/x.onnx"));
}

}  // namespace
}  // namespace gradstone
