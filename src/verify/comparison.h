// SPDX-License-Identifier: Apache-2.0
// An engine's answers against what they should be. Pure; what is done about it stands in verify.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "verify/oracle.h"

namespace gradstone {

// At most this share of a tensor's elements may depart because they lie at kinks or ties.
inline constexpr double kMostNonsmooth = 0.001;

// A tensor that is not what it should be.
struct Departure {
  std::string value;         // as Expectation::value
  std::string node, op;      // of the graph
  std::size_t position = 0;  // of that node
  bool backward = false;
  double gap = 0;           // largest |difference| to the reference; infinite for a wrong NaN
  std::size_t element = 0;  // where, row-major
  double expected = 0, actual = 0;
  std::int64_t departing = 0, elements = 0;  // how many, of how many
  Tolerance tolerance;
};

// "node conv2 (Conv), backward: gradient/conv2.weight is off by 0.12 (allowed 3e-06) in 40 of 80
// elements, worst at [1, 2]: 0.5, expected 0.38". `shape` may be empty.
std::string to_string(const Departure& departure);

struct Comparison {
  std::int64_t tensors = 0;  // compared
  std::int64_t elements = 0;
  std::int64_t nonsmooth = 0;  // elements that departed and were excused
  double worst = 0;            // largest gap as a share of what is allowed, departures apart
  std::string worst_value;     // where that was
  Tolerance worst_tolerance;
  std::vector<Departure> departures;  // in the order of expectations

  void add(const Comparison& other);
};

// An answer that is missing or of another type departs in every element.
Comparison compare(const Graph& graph, const std::vector<Expectation>& expected,
                   const TensorMap& answers);

// The first in topological order: of one node, forward before backward.
const Departure* first_departure(const Comparison& comparison);

}  // namespace gradstone
