// SPDX-License-Identifier: Apache-2.0
// A graph computed once, for tests of graphs and gradients. Not for training: see bundle.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace gradstone {
class HostFunctions;  // graph/host_function.h
}

namespace gradstone::kernels {

// Values of graph.outputs in order. `values` holds every graph input and weight by name; one that
// is missing or has another type is an error. `host_functions` are those of Host nodes.
Result<std::vector<Tensor>> evaluate(const Graph& graph,
                                     const std::map<std::string, Tensor>& values,
                                     const HostFunctions* host_functions = nullptr);

}  // namespace gradstone::kernels
