// SPDX-License-Identifier: Apache-2.0
// A workload small enough for tests of everything around training: one layer on 1x4x4 images.
#pragma once

#include "recipe/workload.h"

namespace gradstone {

inline Graph tiny_graph(std::int64_t batch) {
  Graph graph;
  graph.name = "tiny";
  graph.inputs = {{std::string(kImageInput), {DType::kFloat32, {batch, 1, 4, 4}}},
                  {std::string(kLabelInput), {DType::kInt64, {batch}}}};
  graph.weights = {{"weight", {DType::kFloat32, {3, 16}}, Initializer::xavier_uniform()},
                   {"bias", {DType::kFloat32, {3}}, Initializer::constant(0.5)}};
  graph.nodes = {Node{.name = "flatten", .op = "Flatten", .inputs = {"image"}, .outputs = {"flat"}},
                 Node{.name = "layer",
                      .op = "Gemm",
                      .inputs = {"flat", "weight", "bias"},
                      .outputs = {"logits"},
                      .attributes = {{"transB", std::int64_t{1}}}},
                 Node{.name = "loss",
                      .op = "SoftmaxCrossEntropyLoss",
                      .inputs = {"logits", "label"},
                      .outputs = {"loss"}}};
  graph.outputs = {std::string(kLossValue), std::string(kLogitsValue)};
  return graph;
}

inline Workload tiny_workload() {
  WorkloadSize size;
  size.name = "small";
  size.input = {{1, 4, 4}, 3};
  size.recipe.batch = 4;
  size.recipe.evaluation_batch = 5;
  size.default_data = "synthetic:train=32,test=10";
  size.build = [](std::int64_t batch) -> Result<Graph> {
    Graph graph = tiny_graph(batch);
    TRY(check_graph(graph));
    return graph;
  };
  WorkloadSize large = size;
  large.name = "paper";
  large.recipe.batch = 8;
  return {"tiny", "one layer", "none", {size, large}};
}

}  // namespace gradstone
