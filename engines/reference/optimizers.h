// SPDX-License-Identifier: Apache-2.0
// Updates of weights, by the formulas of recipe/optimizer.h. Numbers of a weight are computed in
// its own element type, coefficients and the global norm in double.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/tensor.h"
#include "recipe/optimizer.h"

namespace gradstone::reference {

// What one update of one weight reads and changes.
struct WeightStep {
  Tensor* weight = nullptr;
  TensorRef gradient;          // as the backward pass left it
  std::vector<Tensor*> slots;  // in the order of slots_of
  Tensor* average = nullptr;   // nullptr: no moving average
  double learning_rate = 0;    // times the weight's multiplier
  double weight_decay = 0;     // times the weight's multiplier
};

struct UpdateRule {
  Optimizer optimizer;
  GradientClip gradient_clip;
  double weight_clip = 0;
  double weight_average = 0;
  std::int64_t count = 1;      // t of the formulas
  double gradient_factor = 1;  // by the global norm; see gradient_factor()
};

// limit / max(norm, limit), with the norm over all these gradients; 1 for other kinds of clipping.
double gradient_factor(const GradientClip& clip, const std::vector<TensorRef>& gradients);

// Steps 1 to 6 of recipe/optimizer.h for one weight.
void update_weight(const UpdateRule& rule, const WeightStep& step);

}  // namespace gradstone::reference
