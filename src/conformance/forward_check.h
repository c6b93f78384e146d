// SPDX-License-Identifier: Apache-2.0
// Whether outputs are those of a data set, where "those" has a meaning of its own: random numbers
// are judged by their properties, and NonMaxSuppression has as many rows as it can have.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "conformance/prepared_case.h"

namespace gradstone {

// A Dropout that drops.
bool draws_random_numbers(const Graph& graph);

// What is wrong with `values` (by name of output); nothing where they are as they should be.
//   Exactly or within data_tolerance: everything but
//   Dropout in training  each element is 0 or x / (1 - ratio), the mask says which, and as many are
//                        kept as six standard deviations allow; what is computed from it has the
//                        right type
//   NonMaxSuppression    the expected rows, then rows of -1
std::optional<std::string> wrong_outputs(const PreparedCase& prepared,
                                         const std::map<std::string, Tensor>& values);

}  // namespace gradstone
