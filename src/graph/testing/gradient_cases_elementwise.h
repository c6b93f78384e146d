// SPDX-License-Identifier: Apache-2.0
// Gradient cases of activations, functions of numbers, Where, and operators of many operands.
#pragma once

#include "graph/testing/gradient_case.h"

namespace gradstone::testing {

inline std::vector<GradientCase> activation_cases() {
  std::vector<GradientCase> cases;
  const CaseInput x = real({3, 4}, Values::kAwayFromZero);
  for (const std::string op : {"Elu", "Selu", "LeakyRelu", "Softplus", "HardSigmoid", "Gelu",
                               "Celu", "HardSwish", "Mish", "Softsign", "ThresholdedRelu"}) {
    cases.push_back({op, op, {x}, {}});
  }
  for (const std::string op : {"Elu", "LeakyRelu", "Celu", "ThresholdedRelu"}) {
    cases.push_back({op + ": alpha", op, {x}, {{"alpha", 0.25}}});
  }
  cases.push_back({"Selu: alpha, gamma", "Selu", {x}, {{"alpha", 0.5}, {"gamma", 2.0}}});
  cases.push_back(
      {"HardSigmoid: alpha, beta", "HardSigmoid", {x}, {{"alpha", 0.75}, {"beta", 0.25}}});
  cases.push_back({"Gelu: tanh", "Gelu", {x}, {{"approximate", "tanh"}}});
  for (const Shape& slope : {Shape{3, 4}, Shape{4}, Shape{3, 1}, Shape{}}) {
    cases.push_back({"PRelu: " + to_string(slope), "PRelu", {x, real(slope)}, {}});
  }
  return cases;
}

inline std::vector<GradientCase> clip_cases() {
  const CaseInput x = real({3, 4}, Values::kDistinct);  // 0.15, -0.25, 0.35 ... 1.25
  const CaseInput low = reals({}, {-0.5}), high = reals({}, {0.6});
  return {
      {"Clip: both", "Clip", {x, low, high}, {}},
      {"Clip: low", "Clip", {x, low}, {}},
      {"Clip: high", "Clip", {x, std::nullopt, high}, {}},
      {"Clip: none", "Clip", {x}, {}},
      {"Clip: crossed", "Clip", {x, high, low}, {}},
      {"Clip: of the bounds", "Clip", {x, real({}), real({}, Values::kPositive)}, {}},
      {"Clip: of crossed bounds", "Clip", {x, real({}, Values::kPositive), real({})}, {}},
      {"Clip: of one bound", "Clip", {x, real({1}, Values::kPositive)}, {}},
      {"Clip: of the other bound", "Clip", {x, std::nullopt, real({1}, Values::kPositive)}, {}},
  };
}

inline std::vector<GradientCase> function_cases() {
  std::vector<GradientCase> cases;
  for (const std::string op : {"Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh", "Erf"}) {
    cases.push_back({op, op, {real({2, 3})}, {}});
  }
  for (const std::string op : {"Abs", "Sign", "Ceil", "Floor", "Round"}) {
    cases.push_back({op, op, {real({2, 3}, Values::kDistinct)}, {}});
  }
  // These have poles at -1 and 1.
  for (const std::string op : {"Asin", "Acos", "Atanh"}) {
    cases.push_back({op, op, {real({2}, Values::kDistinct)}, {}});
  }
  cases.push_back({"Acosh", "Acosh", {real({1}, Values::kBeyondOne)}, {}});
  cases.push_back(
      {"Mod", "Mod", {real({2, 3}), reals({3}, {0.3, -0.4, 0.7})}, {{"fmod", std::int64_t{1}}}});
  cases.push_back({"Mod: of the divisor",
                   "Mod",
                   {real({4}), real({4}, Values::kAwayFromZero)},
                   {{"fmod", std::int64_t{1}}}});
  return cases;
}

inline std::vector<GradientCase> variadic_cases() {
  std::vector<GradientCase> cases;
  for (const std::string op : {"Max", "Min", "Sum", "Mean"}) {
    cases.push_back({op + ": one", op, {real({3})}, {}});
    cases.push_back({op + ": two", op, {real({2, 3}), real({2, 3})}, {}});
    cases.push_back({op + ": three, broadcast", op, {real({3}), real({2, 1}), real({})}, {}});
    cases.push_back({op + ": with a constant", op, {real({3}), reals({3}, {0.2, 0, -0.2})}, {}});
  }
  return cases;
}

inline std::vector<GradientCase> where_cases() {
  const std::vector<bool> pattern = {true, false, false, true};
  Tensor condition({DType::kBool, {4}});
  for (std::size_t i = 0; i < 4; ++i) condition.as<bool>()[i] = pattern[i];
  const CaseInput four = fixed(condition), one = fixed(Tensor::scalar(true));
  return {
      {"Where", "Where", {four, real({4}), real({4})}, {}},
      {"Where: broadcast", "Where", {four, real({3, 1}), real({})}, {}},
      {"Where: one condition", "Where", {one, real({2}), real({3, 1})}, {}},
      {"Where: a constant", "Where", {four, reals({}, {2}), real({4})}, {}},
  };
}

}  // namespace gradstone::testing
