// SPDX-License-Identifier: Apache-2.0
// Nodes on which gradient rules are tested: their shapes in src/graph, their values by finite
// differences in src/kernels. At least one for every rule.
#pragma once

#include "graph/testing/gradient_cases_basic.h"
#include "graph/testing/gradient_cases_control.h"
#include "graph/testing/gradient_cases_elementwise.h"
#include "graph/testing/gradient_cases_indexing.h"
#include "graph/testing/gradient_cases_layers.h"
#include "graph/testing/gradient_cases_recurrent.h"

namespace gradstone::testing {

inline std::vector<GradientCase> gradient_cases() {
  std::vector<GradientCase> all;
  for (const auto& family :
       {broadcasting_cases, power_cases,      unary_cases,   reduction_cases, layout_cases,
        slicing_cases,      matrix_cases,     conv_cases,    pooling_cases,   normalization_cases,
        loss_cases,         activation_cases, clip_cases,    function_cases,  variadic_cases,
        where_cases,        axes_cases,       padding_cases, indexing_cases,  recurrent_cases,
        scan_cases}) {
    for (GradientCase& test : family()) all.push_back(std::move(test));
  }
  return all;
}

}  // namespace gradstone::testing
