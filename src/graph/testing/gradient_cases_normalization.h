// SPDX-License-Identifier: Apache-2.0
// Gradient cases of the normalizations of each sample, and of losses by their class weights.
#pragma once

#include "graph/testing/gradient_cases_layers.h"

namespace gradstone::testing {

inline std::vector<GradientCase> sample_normalization_cases() {
  const std::string layer = "LayerNormalization", instance = "InstanceNormalization",
                    mvn = "MeanVarianceNormalization";
  const CaseInput cube = real({2, 3, 4}), image = real({2, 2, 2, 3});
  const std::vector<std::optional<CaseInput>> of_channels = {image, real({2}), real({2})};
  std::vector<GradientCase> cases = {
      {layer, layer, {cube, real({4}), real({4})}, {}},
      {layer + ": no bias, epsilon", layer, {cube, real({4})}, {{"epsilon", 0.1}}},
      {layer + ": scale and bias broadcast",
       layer,
       {cube, real({4}), real({3, 1})},
       {{"axis", std::int64_t{1}}}},
      {instance, instance, of_channels, {}},
      {instance + ": epsilon", instance, {cube, real({3}), real({3})}, {{"epsilon", 0.1}}},
      {mvn, mvn, {image}, {}},
      {mvn + ": axes", mvn, {cube}, {{"axes", Integers{1, -1}}}},
  };
  for (const std::int64_t axis : {0, 1, 2, -2}) {
    const auto first = static_cast<std::ptrdiff_t>(axis < 0 ? axis + 3 : axis);
    const Shape& shape = cube.type.shape;
    const Shape inner(shape.begin() + first, shape.end());
    cases.push_back({layer + ": statistics, axis " + std::to_string(axis),
                     layer,
                     {cube, real(inner), real(inner)},
                     {{"axis", axis}},
                     {0, 1, 2},
                     3});
  }
  return cases;
}

inline std::vector<GradientCase> class_weight_cases() {
  std::vector<GradientCase> cases;
  const CaseInput weights = real({3}, Values::kPositive);
  for (const Shape& shape : {Shape{4, 3}, Shape{2, 3, 2}}) {
    for (const std::string reduction : {"mean", "sum", "none"}) {
      const std::string name = "of the weights, " + reduction + " " + to_string(shape);
      add_loss_cases(cases, name, {shape, weights}, {{"reduction", reduction}});
      add_loss_cases(cases, name + ", one ignored", {shape, weights},
                     {{"reduction", reduction}, {"ignore_index", std::int64_t{1}}});
    }
  }
  const CaseInput labels = integers({0, -1, 2, -1});
  cases.push_back({"SoftmaxCrossEntropyLoss: of the weights, ignored labels are no classes",
                   "SoftmaxCrossEntropyLoss",
                   {real({4, 3}), labels, weights},
                   {{"ignore_index", std::int64_t{-1}}}});
  return cases;
}

}  // namespace gradstone::testing
