// SPDX-License-Identifier: Apache-2.0
// Gradient cases of operators that change axes, pad, gather and scatter.
#pragma once

#include "graph/testing/gradient_case.h"

namespace gradstone::testing {

inline std::vector<GradientCase> axes_cases() {
  const std::int64_t one = 1, two = 2, last = -1, lower = 0;
  const CaseInput no_k = integers({}, {0});
  return {
      {"Squeeze", "Squeeze", {real({1, 2, 1, 3})}, {}},
      {"Squeeze: one axis", "Squeeze", {real({1, 2, 1}), integers({-1})}, {}},
      {"Unsqueeze", "Unsqueeze", {real({2, 3}), integers({0, -1})}, {}},
      {"Tile", "Tile", {real({2, 1, 3}), integers({2, 3, 1})}, {}},
      {"Tile: once", "Tile", {real({2}), integers({1})}, {}},
      {"Split: equal", "Split", {real({4, 2})}, {}, {0, 1}, 2},
      {"Split: one part used", "Split", {real({2, 6})}, {{"axis", last}}, {1}, 3},
      {"Split: extents", "Split", {real({2, 5, 2}), integers({1, 4})}, {{"axis", one}}, {0, 1}, 2},
      {"DepthToSpace: DCR", "DepthToSpace", {real({1, 8, 2, 1})}, {{"blocksize", two}}},
      {"DepthToSpace: CRD",
       "DepthToSpace",
       {real({1, 8, 1, 2})},
       {{"blocksize", two}, {"mode", "CRD"}}},
      {"SpaceToDepth", "SpaceToDepth", {real({1, 2, 2, 4})}, {{"blocksize", two}}},
      {"Trilu: upper", "Trilu", {real({2, 3, 4})}, {}},
      {"Trilu: lower, k", "Trilu", {real({3, 3}), integers({}, {-1})}, {{"upper", lower}}},
      {"Trilu: k 0", "Trilu", {real({3, 2}), no_k}, {}},
  };
}

inline std::vector<GradientCase> padding_cases() {
  std::vector<GradientCase> cases = {
      {"Pad: takes away", "Pad", {real({4, 3}), integers({-1, 0, 0, -1})}, {}},
      {"Pad: takes away and adds", "Pad", {real({4, 3}), integers({-2, 1, 3, -1})}, {}}};
  for (const std::string mode : {"reflect", "edge"}) {
    for (const Integers& pads : {Integers{1, 0, 2, 0}, Integers{1, 2, 1, 1}, Integers{2, -1, -1, 3},
                                 Integers{5, 0, 7, 0}}) {
      cases.push_back({"Pad: " + mode + " " + to_string(pads),
                       "Pad",
                       {real({3, 4}), integers(pads)},
                       {{"mode", mode}}});
    }
  }
  return cases;
}

inline std::vector<GradientCase> gather_cases() {
  const std::int64_t one = 1, last = -1;
  return {
      {"GatherND: elements", "GatherND", {real({2, 3}), integers({3, 2}, {0, 1, 1, -1, 0, 1})}, {}},
      {"GatherND: rows", "GatherND", {real({3, 2, 2}), integers({2, 1, 1}, {2, 0})}, {}},
      {"GatherND: in batches",
       "GatherND",
       {real({2, 3, 2}), integers({2, 2, 1}, {0, 2, 1, 1})},
       {{"batch_dims", one}}},
      {"GatherND: in two batches",
       "GatherND",
       {real({2, 2, 3}), integers({2, 2, 1}, {0, 2, 1, 1})},
       {{"batch_dims", std::int64_t{2}}}},
      {"GatherElements", "GatherElements", {real({3, 2}), integers({2, 2}, {0, 2, 0, -1})}, {}},
      {"GatherElements: the last axis",
       "GatherElements",
       {real({2, 3}), integers({2, 4}, {0, 2, 2, 1, -3, 0, 1, 1})},
       {{"axis", last}}},
      {"OneHot: values",
       "OneHot",
       {integers({2, 2}, {0, 2, -1, 7}), integers({}, {3}), real({2})},
       {{"axis", one}}},
  };
}

inline std::vector<GradientCase> scatter_cases() {
  std::vector<GradientCase> cases;
  for (const std::string reduction : {"none", "add", "mul"}) {
    const Attributes attributes = {{"reduction", reduction}};
    const Values kind = reduction == "mul" ? Values::kPositive : Values::kAny;
    // Without a reduction no place may be named twice.
    const Integers rows = reduction == "none" ? Integers{2, 0} : Integers{2, 2};
    cases.push_back({"ScatterND: rows, " + reduction,
                     "ScatterND",
                     {real({3, 2}, kind), integers({2, 1}, rows), real({2, 2}, kind)},
                     attributes});
    cases.push_back({"ScatterND: elements, " + reduction,
                     "ScatterND",
                     {real({2, 3}, kind), integers({2, 2}, {0, 1, 1, -1}), real({2}, kind)},
                     attributes});
    Attributes along = attributes;
    along["axis"] = std::int64_t{1};
    const Integers places = reduction == "none" ? Integers{0, 2, -1, 1} : Integers{0, 0, 2, -1};
    cases.push_back({"ScatterElements: " + reduction,
                     "ScatterElements",
                     {real({2, 3}, kind), integers({2, 2}, places), real({2, 2}, kind)},
                     along});
  }
  return cases;
}

inline std::vector<GradientCase> indexing_cases() {
  std::vector<GradientCase> cases = gather_cases();
  for (GradientCase& test : scatter_cases()) cases.push_back(std::move(test));
  const std::int64_t zero = 0;
  const CaseInput distinct = real({3, 4}, Values::kDistinct);
  cases.push_back({"TopK", "TopK", {distinct, integers({2})}, {}, {0}, 2});
  cases.push_back({"TopK: the least of columns",
                   "TopK",
                   {distinct, integers({3})},
                   {{"axis", zero}, {"largest", zero}},
                   {0},
                   1});
  return cases;
}

}  // namespace gradstone::testing
