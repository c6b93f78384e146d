// SPDX-License-Identifier: Apache-2.0
// Gradient cases of Resize, Einsum and RoiAlign.
#pragma once

#include "graph/testing/gradient_case.h"

namespace gradstone::testing {

inline std::vector<GradientCase> resize_cases() {
  std::vector<GradientCase> cases;
  const CaseInput scales = reals({3}, {1, 1.7, 0.6});
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    for (const std::string coordinate :
         {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"}) {
      cases.push_back({"Resize: " + mode + ", " + coordinate,
                       "Resize",
                       {real({2, 3, 5}), std::nullopt, scales},
                       {{"mode", mode}, {"coordinate_transformation_mode", coordinate}}});
    }
  }
  cases.push_back({"Resize: sizes",
                   "Resize",
                   {real({2, 3}), std::nullopt, std::nullopt, integers({4, 2})},
                   {{"mode", "linear"}}});
  cases.push_back(
      {"Resize: the same size", "Resize", {real({2}), std::nullopt, reals({1}, {1})}, {}});
  return cases;
}

inline std::vector<std::pair<std::string, std::vector<Shape>>> einsum_equations() {
  return {{"ij,jk->ik", {{2, 3}, {3, 4}}},
          {"ij->ji", {{2, 3}}},
          {"ij->", {{2, 3}}},
          {"ij->j", {{2, 3}}},
          {"ii->i", {{3, 3}}},
          {"ii", {{3, 3}}},
          {"iji->ji", {{3, 2, 3}}},
          {"iii->i", {{2, 2, 2}}},
          {"i,j->ij", {{2}, {3}}},
          {"i,i", {{3}, {3}}},
          {"bij,bjk->bik", {{2, 2, 3}, {2, 3, 2}}},
          {"...ij,...jk->...ik", {{2, 1, 2, 3}, {3, 3, 2}}},
          {"...i->...", {{2, 2, 3}}},
          {"i...,i...", {{2, 3}, {2, 1}}},
          {"...i->i", {{2, 2, 3}}},
          {"...,...->", {{1, 3}, {2, 1}}},
          {"ij, jk, kl -> il", {{2, 3}, {3, 2}, {2, 4}}},
          {"ab,cb,ab->ca", {{2, 3}, {2, 3}, {2, 3}}},
          {"bhid,bhjd->bhij", {{1, 2, 2, 3}, {1, 2, 4, 3}}},
          {"ii,ij,k->kj", {{2, 2}, {2, 3}, {2}}},
          {",i->i", {{}, {3}}}};
}

inline std::vector<GradientCase> einsum_cases() {
  std::vector<GradientCase> cases;
  for (const auto& [equation, shapes] : einsum_equations()) {
    GradientCase test{"Einsum: " + equation, "Einsum", {}, {{"equation", equation}}};
    for (const Shape& shape : shapes) test.inputs.push_back(real(shape));
    cases.push_back(std::move(test));
  }
  return cases;
}

inline std::vector<GradientCase> detection_cases() {
  std::vector<GradientCase> cases;
  const std::int64_t two = 2;
  const CaseInput image = real({2, 2, 4, 5}, Values::kDistinct), pooled = real({3, 2, 2, 2});
  const CaseInput rois =
      reals({3, 4}, {0.3, 0.2, 3.1, 3.3, -1.2, 0.4, 2.2, 5.9, 1.1, 1.2, 1.4, 1.7});
  const CaseInput batch = integers({1, 0, 1});
  for (const std::string mode : {"avg", "max"}) {
    for (const std::int64_t ratio : {0, 2}) {
      const Attributes attributes = {
          {"mode", mode},
          {"output_height", two},
          {"output_width", two},
          {"sampling_ratio", ratio},
          {"spatial_scale", 0.8},
          {"coordinate_transformation_mode", ratio == 0 ? "half_pixel" : "output_half_pixel"}};
      const std::string name = ": " + mode + ", sampling ratio " + std::to_string(ratio);
      cases.push_back({"RoiAlign" + name, "RoiAlign", {image, rois, batch}, attributes});
      cases.push_back(
          {"RoiAlignGrad" + name, "RoiAlignGrad", {image, rois, batch, pooled}, attributes});
      cases.push_back({"RoiAlignGather" + name,
                       "RoiAlignGather",
                       {image, rois, batch, real({2, 2, 4, 5})},
                       attributes});
    }
  }
  return cases;
}

}  // namespace gradstone::testing
