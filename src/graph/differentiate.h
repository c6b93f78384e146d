// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation from graph to graph: the backward pass is itself a graph of
// operators, shape-checked, costed and differentiable again. Used by the reference engine; other
// engines use their own autodiff.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace gradstone {

struct Differentiated {
  Graph graph;  // the forward nodes, then the backward ones; outputs are those of the forward
                // graph, then `gradients`
  std::vector<std::string>
      gradients;  // value name of the gradient for each of `wrt`; zeros where independent
  std::vector<std::string> cotangent_inputs;  // new graph inputs, one for each of `from`
  std::size_t forward_nodes = 0;              // graph.nodes[0, forward_nodes) are the forward pass
  // For each node the name of the node of the given graph that it belongs to; "" for the few
  // backward ones that belong to none (zeros of an independent gradient). Nodes whose operator has
  // no gradient rule but an expansion (OpDef::expand) are expanded. Backward nodes are named
  // `grad/<forward node>/...`.
  std::vector<std::string> origin;
};
// Gradient of sum over i of <cotangent_i, from_i> with respect to each of `wrt` (weights or
// inputs), all of floating type. Only nodes on a path from `wrt` to `from` get backward nodes. A
// Dropout in training may get its mask as a further output. Unsupported where an operator on the
// way has no gradient (integers and comparisons pass none).
Result<Differentiated> differentiate(const Graph& graph, const std::vector<std::string>& from,
                                     const std::vector<std::string>& wrt);

}  // namespace gradstone
