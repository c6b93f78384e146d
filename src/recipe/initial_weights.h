// SPDX-License-Identifier: Apache-2.0
// The first values of weights: a pure function of (seed, weight name, shape, initializer), the same
// for every engine.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace gradstone {

// Values are drawn in float64 and rounded to the weight's dtype. Fans of a weight of shape
// [out, in, k...] are in * prod(k) and out * prod(k); of [rows, columns] they are columns and rows.
Tensor initial_value(const Weight& weight, std::uint64_t seed);

// Dropout mask number `step` of `node`: each element 0 with probability `ratio`, else 1 / (1 -
// ratio).
void fill_dropout_mask(std::string_view node, std::uint64_t seed, std::int64_t step, double ratio,
                       TensorSink mask);

}  // namespace gradstone
