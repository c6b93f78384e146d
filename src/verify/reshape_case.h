// SPDX-License-Identifier: Apache-2.0
// The same case with smaller tensors: an axis is cut, and with it every axis that must agree. What
// must agree is found by asking check_graph, so this knows no operator.
#pragma once

#include "verify/case.h"

namespace gradstone {

struct CaseAxis {
  std::string value;  // an input or a weight
  std::size_t axis = 0;
};
// Those with more than one element.
std::vector<CaseAxis> axes_of(const Case& question);

// Keeps the first `extent` elements of the axis; integers that pointed behind them are wrapped.
// Cotangents are drawn anew. An error where no choice of other axes of the same extent makes a
// graph that check_graph accepts.
Result<Case> with_extent(const Case& question, const CaseAxis& axis, std::int64_t extent,
                         std::uint64_t seed);

}  // namespace gradstone
