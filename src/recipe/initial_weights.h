// SPDX-License-Identifier: Apache-2.0
// The first values of weights: a pure function of (seed, weight name, shape, initializer), the same
// for every engine.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/graph.h"

namespace gradstone {

// Values are drawn in float64 and rounded to the weight's dtype. Fans of a weight of shape
// [out, in, k...] are in * prod(k) and out * prod(k); of [rows, columns] they are columns and rows;
// of [n] both are n. Element i (row-major) uses number i of the stream "weights/NAME"; draw k of a
// truncated normal, which is repeated until inside two deviations, number i of that stream + k.
Tensor initial_value(const Weight& weight, std::uint64_t seed);

// Dropout mask number `step` of `node`: each element 0 with probability `ratio`, else 1 / (1 -
// ratio). `node` must be unique in the graph; elements are numbered on from mask to mask.
void fill_dropout_mask(std::string_view node, std::uint64_t seed, std::int64_t step, double ratio,
                       TensorSink mask);

}  // namespace gradstone
