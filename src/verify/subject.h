// SPDX-License-Identifier: Apache-2.0
// What is verified: a network with its weights, its batches and how it is trained. The same for
// every engine. From a workload, from a model file, or from the folder of an earlier finding.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol/program_spec.h"
#include "recipe/workload.h"
#include "verify/case.h"

namespace gradstone {

struct Subject {
  std::string name;
  Graph graph;  // training form in the type asked for; dropout is a product with a mask input
  std::string
      loss;  // the scalar that is trained on; "": none, gradients of cotangents that are drawn
  Recipe recipe;
  std::vector<UpdateSpec> updates;  // empty without a loss
  std::vector<std::size_t> optimizer_of_update;
  std::vector<std::string> trained;  // weights that are updated
  TensorMap weights;                 // first values of all, states too
  std::vector<TensorMap> batches;    // inputs, one map a step; at least one
};

struct SubjectChoice {
  std::string data;        // reference; "" is the workload's. Of workloads only
  std::int64_t batch = 0;  // 0: kVerifyBatch. Of workloads only
  std::int64_t steps = 3;
  std::uint64_t seed = 1;
  DType dtype = DType::kFloat32;
};
// Few samples, for every value travels; more than one, for a batch to differ from a sample.
inline constexpr std::int64_t kVerifyBatch = 4;

Result<Subject> subject_of(const Workload& workload, const WorkloadSize& size,
                           const SubjectChoice& choice);

// An ONNX model, or a graph as JSON (docs/graph-json.md) whose weights are drawn from its
// initializers. Inputs are standard normal numbers, integers 0 or 1. A scalar output named `loss`,
// or the only output if it is a scalar, is trained on by SGD with momentum.
Result<Subject> subject_of(const std::string& model, const SubjectChoice& choice);

// Batch `step` as a case: the whole network with these weights.
Case case_of(const Subject& subject, std::size_t step, const TensorMap& weights);

}  // namespace gradstone
