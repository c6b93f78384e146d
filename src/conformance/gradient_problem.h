// SPDX-License-Identifier: Apache-2.0
// The gradient of one case and what it must be: that of sum over outputs y and elements i of
// c_i y_i, with fixed random cotangents c, by src/graph/differentiate.h and the reference kernels
// in float64. And whether that is true: finite differences. Runs no engine.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/prepared_case.h"

namespace gradstone {

class GradientProblem {
 public:
  // nullopt where no floating input or weight reaches a floating output, and where the graph draws
  // random numbers (its gradient follows the draw; forward_check.h looks at that). Unsupported where
  // an operator on the way has no gradient.
  static Result<std::optional<GradientProblem>> make(const PreparedCase& prepared);
  GradientProblem(GradientProblem&&) noexcept;
  ~GradientProblem();

  // The program for an engine, and its feeds: those of the case and `cotangent/VALUE`.
  const ProgramSpec& program() const;
  const std::map<std::string, Tensor>& feeds() const;

  // What is wrong with an engine's gradients, by the names of BackwardSpec::wrt; nothing where they
  // agree. The tolerance is ten times the gap between the reference's own gradients in float32 and
  // float64, with the floor of data_tolerance. An element where the function has a kink (its
  // one-sided differences disagree) may lie anywhere between its two slopes, and where it jumps
  // anywhere. `remark` says how many
  // did.
  std::optional<std::string> difference(const std::map<std::string, Tensor>& gradients,
                                        std::string& remark) const;

  // What is wrong with the reference itself: central differences in float64, of every element of
  // small tensors and of a fixed random choice of large ones.
  Result<std::optional<std::string>> finite_difference() const;

 private:
  struct State;
  explicit GradientProblem(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gradstone
