// SPDX-License-Identifier: Apache-2.0
// Every workload written as ONNX and read again: the same graph, the same numbers.
#include <gtest/gtest.h>

#include <cstring>

#include "base/files.h"
#include "kernels/evaluate.h"
#include "onnx/onnx.h"
#include "recipe/initial_weights.h"
#include "workloads/registry.h"

namespace gradstone {
namespace {

// Interpreted by plain loops, so only what takes a second or so.
constexpr std::int64_t kMostFlops = 3'000'000'000;

std::vector<WorkloadSize> quick_sizes(const Workload& workload) {
  std::vector<WorkloadSize> sizes;
  for (const WorkloadSize& size : workload.sizes) {
    if (2 * 2 * size.expected.forward_multiply_adds < kMostFlops) sizes.push_back(size);
  }
  return sizes;
}

std::map<std::string, Tensor> initial_weights(const Graph& graph) {
  std::map<std::string, Tensor> weights;
  for (const Weight& weight : graph.weights) weights[weight.name] = initial_value(weight, 1);
  return weights;
}

// Something for every input: numbers that change sign, labels that every network has.
Tensor feed(const TensorType& type) {
  Tensor value(type);
  for (std::int64_t i = 0; i < type.elements(); ++i) {
    if (type.dtype == DType::kFloat32) {
      value.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i % 17 - 8) / 8;
    } else if (type.dtype == DType::kInt64) {
      value.as<std::int64_t>()[static_cast<std::size_t>(i)] = i % 2;
    }
  }
  return value;
}

std::vector<Tensor> run(const Graph& graph, std::map<std::string, Tensor> values) {
  for (const GraphInput& input : graph.inputs) values[input.name] = feed(input.type);
  return kernels::evaluate(graph, values).value();
}

class RoundTrip : public testing::TestWithParam<bool> {};

TEST_P(RoundTrip, OfEveryWorkload) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  const std::string path = folder.file("model.onnx");
  for (const Workload& workload : all_workloads()) {
    for (const WorkloadSize& size : quick_sizes(workload)) {
      SCOPED_TRACE(workload.name + " " + size.name);
      Graph graph = size.build(2).value();
      for (const StateUpdate& update : graph.state_updates) graph.outputs.push_back(update.value);
      const std::map<std::string, Tensor> weights = initial_weights(graph);
      ExportOptions options;
      options.external_weights = GetParam();
      const Status written = export_onnx(graph, weights, path, options);
      ASSERT_TRUE(written.ok()) << written.error().message;
      EXPECT_EQ(path_exists(path + ".data"), GetParam());
      const Result<ImportedModel> read = import_onnx(path, {});
      ASSERT_TRUE(read.ok()) << read.error().message;

      EXPECT_EQ(read->graph.outputs, graph.outputs);
      EXPECT_EQ(read->graph.nodes.size(), graph.nodes.size());
      EXPECT_EQ(parameter_count(read->graph), parameter_count(graph));
      EXPECT_EQ(read->graph.state_updates.size(), graph.state_updates.size());
      const std::vector<Tensor> before = run(graph, weights);
      const std::vector<Tensor> after = run(read->graph, read->weights);
      for (std::size_t i = 0; i < before.size(); ++i) {
        ASSERT_EQ(after[i].type(), before[i].type()) << graph.outputs[i];
        EXPECT_EQ(std::memcmp(after[i].data(), before[i].data(), before[i].type().bytes()), 0)
            << graph.outputs[i];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, RoundTrip, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& info) {
                           return info.param ? "Outside" : "Inside";
                         });

}  // namespace
}  // namespace gradstone
