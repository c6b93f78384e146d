// SPDX-License-Identifier: Apache-2.0
// Gradient cases of arithmetic, reductions, layout and matrix products.
#pragma once

#include "graph/testing/gradient_case.h"

namespace gradstone::testing {

inline std::vector<GradientCase> broadcasting_cases() {
  std::vector<GradientCase> cases;
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{3}, {2, 3}},       {{3, 1}, {1, 4}},
      {{2, 3}, {}},     {{}, {2, 2}},  {{2, 1, 3}, {4, 1}}, {{1}, {}}};
  for (const auto& [a, b] : shapes) {
    const std::string name = ": " + to_string(a) + " with " + to_string(b);
    cases.push_back({"Add" + name, "Add", {real(a), real(b)}, {}});
    cases.push_back({"Sub" + name, "Sub", {real(a), real(b)}, {}});
    cases.push_back({"Mul" + name, "Mul", {real(a), real(b)}, {}});
    cases.push_back({"Div" + name, "Div", {real(a), real(b, Values::kAwayFromZero)}, {}});
    cases.push_back({"Pow" + name, "Pow", {real(a, Values::kPositive), real(b)}, {}});
  }
  return cases;
}

inline std::vector<GradientCase> power_cases() {
  std::vector<GradientCase> cases;
  for (const double power : {-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0}) {
    cases.push_back({"Pow: constant " + std::to_string(power),
                     "Pow",
                     {real({5}, Values::kPositive), reals({}, {power})},
                     {}});
  }
  for (const double power : {0.0, 1.0, 2.0, 3.0}) {
    cases.push_back({"Pow: constant " + std::to_string(power) + " of zeros",
                     "Pow",
                     {real({4}, Values::kWithZeros), reals({}, {power})},
                     {}});
  }
  cases.push_back({"Pow: negative base",
                   "Pow",
                   {real({2, 2}, Values::kAwayFromZero), reals({2, 2}, {3, 3, 3, 3})},
                   {}});
  cases.push_back({"Pow: constant broadcasts the base",
                   "Pow",
                   {real({1, 2}, Values::kPositive), reals({3, 1}, {2, 2, 2})},
                   {}});
  cases.push_back({"Pow: several constants",
                   "Pow",
                   {real({3}, Values::kPositive), reals({3}, {-1, 2, 0.5})},
                   {}});
  cases.push_back({"Pow: several constants of zeros",
                   "Pow",
                   {real({6}, Values::kWithZeros), reals({6}, {0, 2, 1, 0, 2, 3})},
                   {}});
  cases.push_back({"Pow: of zero to what is not known",
                   "Pow",
                   {reals({2}, {0, 2}), real({2}, Values::kPositive)},
                   {}});
  cases.push_back({"Pow: constant base", "Pow", {reals({3}, {0.5, 1, 2}), real({2, 3})}, {}});
  return cases;
}

inline std::vector<GradientCase> unary_cases() {
  std::vector<GradientCase> cases;
  for (const std::string op : {"Neg", "Exp", "Tanh", "Sigmoid", "Identity"}) {
    cases.push_back({op, op, {real({2, 3})}, {}});
    cases.push_back({op + ": a scalar", op, {real({})}, {}});
  }
  for (const std::string op : {"Log", "Sqrt", "Reciprocal"}) {
    cases.push_back({op, op, {real({2, 3}, Values::kPositive)}, {}});
  }
  for (const std::string op : {"Relu", "HeavisideStep"}) {
    cases.push_back({op, op, {real({3, 4}, Values::kAwayFromZero)}, {}});
  }
  cases.push_back({"Cast: to the same type", "Cast", {real({3})}, {{"to", std::int64_t{11}}}});
  const CaseInput no = fixed(Tensor::scalar(false)), ratio = reals({}, {0.25});
  cases.push_back({"Dropout: inference", "Dropout", {real({2, 3}), ratio, no}, {}});
  cases.push_back({"Dropout: no mode", "Dropout", {real({2, 3})}, {}});
  return cases;
}

inline std::vector<GradientCase> reduction_cases() {
  std::vector<GradientCase> cases;
  const std::vector<Integers> axes_lists = {{0}, {1}, {-1}, {0, 2}, {1, -1}, {0, 1, 2}};
  for (const std::int64_t keep : {0, 1}) {
    for (const Integers& axes : axes_lists) {
      const std::string name = ": axes " + to_string(axes) + ", keepdims " + std::to_string(keep);
      cases.push_back({"ReduceSum" + name,
                       "ReduceSum",
                       {real({2, 3, 4}), integers(axes)},
                       {{"keepdims", keep}}});
      cases.push_back({"ReduceMean" + name,
                       "ReduceMean",
                       {real({2, 3, 4})},
                       {{"axes", axes}, {"keepdims", keep}}});
    }
    const std::string all = ": all axes, keepdims " + std::to_string(keep);
    cases.push_back({"ReduceSum" + all, "ReduceSum", {real({2, 3})}, {{"keepdims", keep}}});
    cases.push_back({"ReduceMean" + all, "ReduceMean", {real({2, 3})}, {{"keepdims", keep}}});
  }
  cases.push_back({"ReduceSum: no axes, no operation",
                   "ReduceSum",
                   {real({2, 3})},
                   {{"noop_with_empty_axes", std::int64_t{1}}}});
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 1}, Shape{1, 3}, Shape{4, 1, 1}}) {
    const Shape to = {4, 2, 3};
    cases.push_back({"SumTo: " + to_string(shape), "SumTo", {real(to)}, {{"shape", shape}}});
    cases.push_back({"Expand: " + to_string(shape), "Expand", {real(shape), integers(to)}, {}});
  }
  cases.push_back({"Expand: both ways", "Expand", {real({3, 1}), integers({2, 1, 4})}, {}});
  return cases;
}

inline std::vector<GradientCase> layout_cases() {
  std::vector<GradientCase> cases = {
      {"Reshape", "Reshape", {real({2, 3, 4}), integers({0, -1})}, {}},
      {"Reshape: to a scalar", "Reshape", {real({1, 1}), integers(Integers{})}, {}},
      {"Reshape: the same", "Reshape", {real({2, 3}), integers({2, 3})}, {}},
      {"Transpose: reversed", "Transpose", {real({2, 3, 4})}, {}},
      {"Transpose: a cycle", "Transpose", {real({2, 3, 4})}, {{"perm", Integers{1, 2, 0}}}},
      {"Transpose: a swap", "Transpose", {real({2, 3, 4})}, {{"perm", Integers{0, 2, 1}}}},
      {"Concat: rows", "Concat", {real({2, 3}), real({1, 3})}, {{"axis", std::int64_t{0}}}},
      {"Concat: three, the last axis",
       "Concat",
       {real({2, 1, 3}), real({2, 1, 1}), real({2, 1, 2})},
       {{"axis", std::int64_t{-1}}}},
      {"Concat: with a constant",
       "Concat",
       {real({2, 1}), reals({2, 1}, {5, 6}), real({2, 2})},
       {{"axis", std::int64_t{1}}}},
      {"Concat: of one", "Concat", {real({2, 2})}, {{"axis", std::int64_t{1}}}}};
  for (const std::int64_t axis : {0, 1, 2, 3, -1}) {
    cases.push_back(
        {"Flatten: axis " + std::to_string(axis), "Flatten", {real({2, 3, 2})}, {{"axis", axis}}});
  }
  cases.push_back({"Flatten", "Flatten", {real({2, 3, 2})}, {}});
  return cases;
}

inline std::vector<GradientCase> slicing_cases() {
  return {
      {"Slice", "Slice", {real({4, 5}), integers({1, 2}), integers({3, 5})}, {}},
      {"Slice: one axis", "Slice", {real({4, 5}), integers({1}), integers({4}), integers({1})}, {}},
      {"Slice: from the end",
       "Slice",
       {real({4, 5}), integers({-3}), integers({-1}), integers({-1})},
       {}},
      {"Slice: beyond the end",
       "Slice",
       {real({4, 5}), integers({-9, 2}), integers({99, 99}), integers({1, 0})},
       {}},
      {"Slice: whole", "Slice", {real({2, 2}), integers({0}), integers({2})}, {}},
      {"Slice: steps of 2",
       "Slice",
       {real({5, 4}), integers({0, 1}), integers({5, 4}), integers({0, 1}), integers({2, 2})},
       {}},
      {"Slice: backwards",
       "Slice",
       {real({5, 3}), integers({-1}), integers({-99}), integers({0}), integers({-2})},
       {}},
      {"Slice: steps on one axis only",
       "Slice",
       {real({4, 6}), integers({1, 1}), integers({3, 6}), integers({0, 1}), integers({1, 3})},
       {}},
      {"Pad", "Pad", {real({2, 3}), integers({1, 0, 0, 2})}, {}},
      {"Pad: with a value", "Pad", {real({2, 3}), integers({0, 1, 2, 0}), reals({}, {3.5})}, {}},
      {"Pad: nothing", "Pad", {real({2, 2}), integers({0, 0, 0, 0})}, {}},
      {"Gather: rows, one twice",
       "Gather",
       {real({3, 2}), integers({2, 2}, {0, 2, 2, 1})},
       {{"axis", std::int64_t{0}}}},
      {"Gather: the last axis, from the end",
       "Gather",
       {real({2, 3, 4}), integers({-1, 0, -4})},
       {{"axis", std::int64_t{-1}}}},
      {"Gather: a scalar index",
       "Gather",
       {real({2, 3, 2}), integers({}, {1})},
       {{"axis", std::int64_t{1}}}},
      {"GatherGrad: rows, one twice",
       "GatherGrad",
       {integers({2, 2}, {0, 2, 2, 1}), real({2, 2, 2})},
       {{"axis", std::int64_t{0}}, {"input_shape", Shape{3, 2}}}},
      {"GatherGrad: the last axis",
       "GatherGrad",
       {integers({-1, 0, -4}), real({2, 3, 3})},
       {{"axis", std::int64_t{-1}}, {"input_shape", Shape{2, 3, 4}}}},
  };
}

inline std::vector<GradientCase> matrix_cases() {
  std::vector<GradientCase> cases;
  for (const std::int64_t turn_a : {0, 1}) {
    for (const std::int64_t turn_b : {0, 1}) {
      const Shape a = turn_a == 1 ? Shape{3, 2} : Shape{2, 3};
      const Shape b = turn_b == 1 ? Shape{4, 3} : Shape{3, 4};
      const Attributes turns = {{"transA", turn_a}, {"transB", turn_b}};
      const std::string name =
          ": transposed " + std::to_string(turn_a) + " " + std::to_string(turn_b);
      cases.push_back({"Gemm" + name, "Gemm", {real(a), real(b)}, turns});
      Attributes scaled = turns;
      scaled["alpha"] = 0.5;
      scaled["beta"] = -2.0;
      for (const Shape& c : {Shape{2, 4}, Shape{4}, Shape{2, 1}, Shape{1}, Shape{}}) {
        cases.push_back({"Gemm" + name + ", scaled, C " + to_string(c),
                         "Gemm",
                         {real(a), real(b), real(c)},
                         scaled});
      }
    }
  }
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{2, 3}, {3, 4}},       {{3}, {3}},          {{3}, {3, 2}},       {{2, 3}, {3}},
      {{2, 2, 3}, {2, 3, 1}}, {{2, 2, 3}, {3, 2}}, {{2, 3}, {2, 3, 2}}, {{2, 1, 2, 3}, {3, 3, 2}},
      {{3}, {2, 3, 2}},       {{2, 2, 3}, {3}}};
  for (const auto& [a, b] : shapes) {
    cases.push_back(
        {"MatMul: " + to_string(a) + " by " + to_string(b), "MatMul", {real(a), real(b)}, {}});
  }
  return cases;
}

}  // namespace gradstone::testing
