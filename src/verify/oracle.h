// SPDX-License-Identifier: Apache-2.0
// What an engine's answers to a case should be: the kernels in float64, and how far from them a
// right answer may lie.
//
// Every node is computed from the engine's own values of what it reads, and the backward pass at
// the engine's own forward values. So one departure does not make every later value depart, a kink
// or tie is decided as the engine decided it, and right nodes in the right order make a right
// network.
#pragma once

#include <string>
#include <vector>

#include "verify/case.h"
#include "verify/tolerance.h"

namespace gradstone {

// One tensor that the engine computed.
struct Expectation {
  std::string value;     // a computed value, or "gradient/VALUE"
  std::size_t node = 0;  // of Case::graph: that computes it; of a gradient, the first that reads it
  bool backward = false;
  Tensor exact;   // float64 where floating
  Tensor single;  // the reference in the case's own type
  Tolerance tolerance;
  // Elements at kinks and ties, where the gradient is a matter of choice; empty: none.
  std::vector<bool> nonsmooth;
};

// In the order of computed_values, then the gradients in the order of Case::wrt. `answers` holds
// the engine's values under the names of Expectation::value; gradients need not be there. Errors
// are the kernels': an index out of range, an operator without gradient.
Result<std::vector<Expectation>> expectations(const Case& question, const TensorMap& answers);

// Every value of the graph, computed in float64 and rounded to its own type; inputs and weights
// are among them.
Result<TensorMap> reference_values(const Graph& graph, const TensorMap& given);

}  // namespace gradstone
