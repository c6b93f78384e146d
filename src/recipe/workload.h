// SPDX-License-Identifier: Apache-2.0
// A workload: what is trained. One folder under workloads/ makes one of these; CMake lists the
// folders.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "recipe/recipe.h"

namespace gradstone {

// Facts that must come out of the graph; a test computes them and compares. Zero: not stated.
struct ExpectedCounts {
  std::int64_t parameters = 0;
  std::int64_t forward_multiply_adds = 0;  // of Conv and Gemm for one sample
};

// The network needs inputs of this shape and labels below `classes`.
struct WorkloadInput {
  Shape sample_shape;  // of one sample, without the batch axis: {1, 28, 28}
  std::int64_t classes = 10;
};

struct WorkloadSize {
  std::string name;  // "tiny", "small", "paper"
  std::string summary;
  WorkloadInput input;
  ExpectedCounts expected;
  Recipe recipe;
  std::string default_data;  // a data reference, see data/data_set.h
  // The training graph for a batch. It has inputs `image` and `label` and values `loss` (scalar)
  // and `logits`. An error is the builder's: a batch for which the network cannot be made.
  std::function<Result<Graph>(std::int64_t batch)> build;
  // Tensor file with the first values of all weights; "": they are drawn by their initializers.
  std::string initial_weights;
};

struct Workload {
  std::string name;
  std::string summary;
  std::string source;               // paper or code that defines it
  std::vector<WorkloadSize> sizes;  // small first: the default
};

// The sizes that a plan over many workloads may ask of all.
inline constexpr std::array<std::string_view, 3> kUsualSizes = {"tiny", "small", "paper"};

// A workload of one size answers to every usual name with it. nullptr where there is no such size.
const WorkloadSize* find_size(const Workload& workload, std::string_view name);

inline constexpr std::string_view kImageInput = "image";
inline constexpr std::string_view kLabelInput = "label";
inline constexpr std::string_view kLossValue = "loss";
inline constexpr std::string_view kLogitsValue = "logits";

}  // namespace gradstone
