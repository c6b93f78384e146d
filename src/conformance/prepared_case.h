// SPDX-License-Identifier: Apache-2.0
// One data set made ready to be run: the model as a graph of ours, the tensors to feed and those to
// expect. Runs nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conformance/data_sets.h"
#include "graph/graph.h"
#include "protocol/program_spec.h"

namespace gradstone {

struct PreparedCase {
  std::string name;
  Graph graph;
  std::map<std::string, Tensor> weights, feeds;  // one for each of graph.weights and graph.inputs
  std::vector<Tensor> expected;                  // one for each of graph.outputs
};

// Inputs are fed. Where the graph can only be built if some are constants (axes, shapes, ratios),
// those are bound: as few as will do, and integers before floating numbers, so that the engine has
// as much to compute as can be. What then depends on constants alone is computed by the import.
// Unsupported, with the reason, for what a graph of ours cannot hold.
Result<PreparedCase> prepare_case(const DataSetFiles& files);

// The subsets of inputs to bind, in the order in which they are tried, as lists of input numbers.
// `floating[i]` says whether input i holds floating numbers. At most 256.
std::vector<std::vector<std::size_t>> binding_order(const std::vector<bool>& floating);

// The forward program of a case, and the same with every value that training alone has.
ProgramSpec forward_program(const PreparedCase& prepared);

}  // namespace gradstone
