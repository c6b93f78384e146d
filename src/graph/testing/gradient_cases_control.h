// SPDX-License-Identifier: Apache-2.0
// Gradient cases of Scan, which is differentiated unrolled.
#pragma once

#include "graph/testing/gradient_case.h"

namespace gradstone::testing {

// One step of a small recurrent network: state' = tanh(state A + input), what is collected is
// state' * input. A [2, 2] is the same in every step.
inline Subgraph scan_body() {
  Graph body;
  body.name = "body";
  body.inputs = {{"state", {DType::kFloat64, {2, 2}}},
                 {"input", {DType::kFloat64, {2, 2}}},
                 {"A", {DType::kFloat64, {2, 2}}}};
  body.nodes = {{"product", "MatMul", "", {"state", "A"}, {"product"}, {}},
                {"sum", "Add", "", {"product", "input"}, {"sum"}, {}},
                {"next", "Tanh", "", {"sum"}, {"next"}, {}},
                {"made", "Mul", "", {"next", "input"}, {"made"}, {}}};
  body.outputs = {"next", "made"};
  return std::make_shared<const Graph>(std::move(body));
}

inline std::vector<GradientCase> scan_cases() {
  const std::int64_t one = 1;
  Attributes plain = {{"body", scan_body()}, {"num_scan_inputs", one}, {"captured_inputs", one}};
  Attributes turned = plain;
  turned["scan_input_axes"] = Integers{1};
  turned["scan_input_directions"] = Integers{1};
  turned["scan_output_axes"] = Integers{-1};
  turned["scan_output_directions"] = Integers{1};
  const CaseInput state = real({2, 2}), matrix = real({2, 2});
  return {
      {"Scan: plain", "Scan", {state, real({3, 2, 2}), matrix}, plain, {0, 1}, 2},
      {"Scan: other axes, backwards", "Scan", {state, real({2, 3, 2}), matrix}, turned, {0, 1}, 2}};
}

}  // namespace gradstone::testing
