// SPDX-License-Identifier: Apache-2.0
// Where operators have no derivative: kinks (Relu at 0, the bounds of Clip) and ties (the maximum of
// a window that two elements share). There frameworks may choose, and rounding may choose for them.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace gradstone {

// The operator has such places at all.
bool has_kinks(const Node& node);

// Moving an input by a small part of itself can move it over one: not so where zero is the only kink.
bool moves_over_kinks(const Node& node);

// Elements of input `input` within `tolerance` of one; empty where there is none. `inputs` are the
// node's, converted to float64 where floating; nullptr: absent.
std::vector<bool> nonsmooth_elements(const Node& node, const std::vector<const Tensor*>& inputs,
                                     std::size_t input, double tolerance);

}  // namespace gradstone
