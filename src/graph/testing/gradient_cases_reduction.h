// SPDX-License-Identifier: Apache-2.0
// Gradient cases of the reductions beside ReduceSum and ReduceMean, and of CumSum.
#pragma once

#include "graph/testing/gradient_case.h"

namespace gradstone::testing {

inline std::vector<GradientCase> more_reduction_cases() {
  std::vector<GradientCase> cases;
  const std::vector<std::pair<std::string, Values>> ops = {
      {"ReduceMax", Values::kDistinct},    {"ReduceMin", Values::kDistinct},
      {"ReduceProd", Values::kAny},        {"ReduceL1", Values::kAwayFromZero},
      {"ReduceL2", Values::kAwayFromZero}, {"ReduceSumSquare", Values::kAny},
      {"ReduceLogSum", Values::kPositive}, {"ReduceLogSumExp", Values::kAny},
  };
  for (const auto& [op, values] : ops) {
    const CaseInput x = real({2, 3, 4}, values);
    const Attributes gone = {{"keepdims", std::int64_t{0}}};
    cases.push_back({op, op, {x}, {}});
    cases.push_back({op + ": all, no dimensions", op, {x}, gone});
    cases.push_back({op + ": of a scalar", op, {real({}, values)}, {}});
    for (const Integers& axes : {Integers{1}, Integers{-1, 0}, Integers{0, 1}}) {
      const std::string name = op + ": axes " + to_string(axes);
      cases.push_back({name, op, {x}, {{"axes", axes}}});
      cases.push_back(
          {name + ", no dimensions", op, {x}, {{"axes", axes}, {"keepdims", std::int64_t{0}}}});
    }
  }
  // Products whose factors are partly 0.
  cases.push_back({"ReduceProd: zeros",
                   "ReduceProd",
                   {real({2, 3}, Values::kWithZeros)},
                   {{"axes", Integers{1}}}});
  return cases;
}

inline std::vector<GradientCase> cumulative_cases() {
  std::vector<GradientCase> cases;
  for (const std::int64_t exclusive : {0, 1}) {
    for (const std::int64_t reverse : {0, 1}) {
      cases.push_back({"CumSum: exclusive " + std::to_string(exclusive) + ", reverse " +
                           std::to_string(reverse),
                       "CumSum",
                       {real({2, 3, 2}), fixed(Tensor::scalar(std::int64_t{1}))},
                       {{"exclusive", exclusive}, {"reverse", reverse}}});
    }
  }
  cases.push_back({"CumSum: from the end", "CumSum", {real({3, 2}), integers({-2})}, {}});
  return cases;
}

}  // namespace gradstone::testing
