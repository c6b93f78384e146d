// SPDX-License-Identifier: Apache-2.0
// How far a right answer may be from the float64 reference. Pure arithmetic.
//
// The tolerance of a tensor is the larger of
//   10 times the gap between the reference in the engine's type and in float64, and
//   a floor: 4 sqrt(n) (e max|x| + d), with e the spacing of the type at 1, n the longest reduction
//   on the way to an element and d by how much the reference answer moves when every number fed is
//   moved by e of itself, at random. The gap alone would be too strict, for the reference takes its
//   sums in double; d covers sums that cancel.
#pragma once

#include <map>
#include <string>

#include "graph/graph.h"

namespace gradstone {

struct Tolerance {
  double allowed = 0;    // largest |difference| of an element
  double own_gap = 0;    // of the reference between its two types; 0 in float64
  double reduction = 1;  // n
  double magnitude = 0;  // max|x| of the reference
  double moved = 0;      // d
};

// 2^-23 or 2^-52; 0 for types that are compared exactly.
double spacing_at_one(DType dtype);

// `allowed` from the other members.
void complete(Tolerance& tolerance, DType dtype);

// n for every value of a graph: the operations behind one element of the costliest node on the way
// to it, and for operators that gather statistics the elements gathered.
std::map<std::string, double> reduction_lengths(const Graph& graph, const ValueTypes& types);

}  // namespace gradstone
