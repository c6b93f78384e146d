// SPDX-License-Identifier: Apache-2.0
// Gradient cases of ConvTranspose and of pooling beyond gradient_cases_layers.h.
#pragma once

#include "graph/testing/gradient_case.h"

namespace gradstone::testing {

inline std::vector<GradientCase> transposed_cases() {
  std::vector<GradientCase> cases;
  const auto add = [&](const std::string& name, const std::pair<Shape, Shape>& shapes,
                       const Attributes& attributes) {
    cases.push_back({"ConvTranspose: " + name,
                     "ConvTranspose",
                     {real(shapes.first), real(shapes.second)},
                     attributes});
  };
  const std::pair<Shape, Shape> image = {{1, 2, 3, 2}, {2, 2, 2, 3}};
  add("plain", image, {});
  add("strides and pads", image, {{"strides", Integers{2, 3}}, {"pads", Integers{1, 0, 0, 1}}});
  add("dilations", image, {{"dilations", Integers{2, 1}}});
  add("output padding", image, {{"strides", Integers{3, 2}}, {"output_padding", Integers{2, 1}}});
  add("output padding beyond the stride", image,
      {{"dilations", Integers{3, 3}}, {"output_padding", Integers{2, 1}}});
  add("output shape", image, {{"strides", Integers{2, 2}}, {"output_shape", Integers{9, 4}}});
  add("one axis, groups", {{2, 4, 3}, {4, 1, 2}}, {{"group", std::int64_t{2}}});
  cases.push_back({"ConvTranspose: bias",
                   "ConvTranspose",
                   {real({2, 1, 2, 2}), real({1, 3, 2, 2}), real({3})},
                   {{"auto_pad", "SAME_UPPER"}, {"strides", Integers{2, 2}}}});
  cases.push_back({"GlobalMaxPool", "GlobalMaxPool", {real({2, 2, 3, 2}, Values::kDistinct)}, {}});
  cases.push_back({"MaxPool: with indices",
                   "MaxPool",
                   {real({1, 2, 4, 3}, Values::kDistinct)},
                   {{"kernel_shape", Integers{2, 2}}},
                   {0},
                   2});
  return cases;
}

}  // namespace gradstone::testing
