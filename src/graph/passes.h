// SPDX-License-Identifier: Apache-2.0
// Graph to graph. Each pass returns a new graph that check_graph accepts if the old one was.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace gradstone {

// Names of all values and nodes, to find fresh ones.
std::set<std::string, std::less<>> names_in_use(const Graph& graph);

// Batch norm with running statistics, no dropout, no state updates, and only what `outputs` need.
Graph to_inference(const Graph& graph, const std::vector<std::string>& outputs);

// Drops nodes, weights, constants (and inputs that nothing reads, if `drop_inputs`) that `outputs`
// and the state updates do not need.
Graph pruned(const Graph& graph, const std::vector<std::string>& outputs, bool drop_inputs);

// A dropout mask that Gradstone draws: elements are 0 or 1 / (1 - ratio).
struct SharedMask {
  std::string input;  // name of the new graph input
  TensorType type;
  double ratio = 0.5;
};
struct SharedDropout {
  Graph graph;
  std::vector<SharedMask> masks;
};
// Replaces every training Dropout by a product with a mask fed as an input. (`--dropout shared`)
SharedDropout share_dropout(const Graph& graph);

// Every floating value in another floating type. (`--dtype`)
Graph with_dtype(const Graph& graph, DType dtype);

}  // namespace gradstone
