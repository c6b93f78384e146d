// SPDX-License-Identifier: Apache-2.0
// For tests of the worker: a linear network on synthetic images, as a job.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "graph/passes.h"
#include "protocol/messages.h"
#include "protocol/tensor_file.h"

namespace gradstone::testing {

inline constexpr std::int64_t kTestClasses = 3, kTestPixels = 16;

// image [batch, 1, 4, 4] -> Flatten -> (Dropout) -> Gemm -> logits -> loss
inline Graph linear_graph(std::int64_t batch, bool dropout) {
  Graph graph;
  graph.name = "linear";
  graph.inputs = {{"image", {DType::kFloat32, {batch, 1, 4, 4}}},
                  {"label", {DType::kInt64, {batch}}}};
  graph.weights = {
      {"weight", {DType::kFloat32, {kTestClasses, kTestPixels}}, Initializer::normal(0, 1)},
      {"bias", {DType::kFloat32, {kTestClasses}}, Initializer::constant(0)}};
  graph.nodes.push_back({"flatten", "Flatten", "", {"image"}, {"flat"}, {}});
  std::string features = "flat";
  if (dropout) {
    const bool training = true;
    graph.constants.push_back({"ratio", Tensor::scalar<float>(0.25f)});
    graph.constants.push_back({"training", Tensor::scalar<bool>(training)});
    graph.nodes.push_back({"drop", "Dropout", "", {"flat", "ratio", "training"}, {"kept"}, {}});
    features = "kept";
  }
  graph.nodes.push_back({"gemm",
                         "Gemm",
                         "",
                         {features, "weight", "bias"},
                         {"logits"},
                         {{"transB", Attribute(std::int64_t{1})}}});
  graph.nodes.push_back(
      {"cross_entropy", "SoftmaxCrossEntropyLoss", "", {"logits", "label"}, {"loss"}, {}});
  graph.outputs = {"loss", "logits"};
  return graph;
}

// 20 training samples in batches of 4, 7 test samples in batches of 4. The weight file lies in
// `folder`; bias is {1, 2, 3}.
inline TrainJob linear_job(const TemporaryFolder& folder, bool dropout = false) {
  TrainJob job;
  job.workload = "linear";
  job.graph = linear_graph(4, dropout);
  job.evaluation_graph = to_inference(job.graph, {"logits"});
  job.recipe.batch = 4;
  job.recipe.evaluation_batch = 4;
  job.data = parse_data_reference("synthetic:train=20,test=7").value();
  job.data_need = {{1, 4, 4}, kTestClasses};
  job.seed = 11;
  job.weights_in = folder.file("in.safetensors");
  job.weights_out = folder.file("out.safetensors");
  const Tensor weight({DType::kFloat32, {kTestClasses, kTestPixels}});
  const std::vector<float> values = {1, 2, 3};
  const Tensor bias = Tensor::of<float>({kTestClasses}, values);
  CHECK(write_tensor_file(job.weights_in, {{"weight", weight.ref()}, {"bias", bias.ref()}}).ok(),
        "a test's file cannot be written");
  return job;
}

}  // namespace gradstone::testing
