// SPDX-License-Identifier: Apache-2.0
// The formulas of recipe/optimizer.h written once more, for one number and in double, and cases that
// make every rule and every field matter. For conformance; engines update tensors in their own way.
#pragma once

#include <string>
#include <vector>

#include "protocol/program_spec.h"

namespace gradstone {

struct UpdateCase {
  std::string name;                                  // "adam_epsilon_inside_root"
  UpdateSpec spec;                                   // without weights
  double rate_multiplier = 1, decay_multiplier = 1;  // of weight `a`; those of `b` are 1
};

// Every rule, every field, and what surrounds a rule: decay, clips, average, multipliers.
std::vector<UpdateCase> update_cases();

// One element of one weight and its state. Names follow recipe/optimizer.h.
struct UpdatedNumber {
  double w = 0;
  double v = 0, m = 0, u = 0, x = 0;  // squares or velocity, mean, RMSProp's velocity, AdaDelta's x
  double average = 0;
};
UpdatedNumber number_at_start(const Optimizer& optimizer, double weight);

// Step 1 for one element. `norm` is that of all gradients of the update.
double clipped_gradient(const GradientClip& clip, double g, double norm);
// Steps 2 to 6 for one element, from its clipped gradient.
void update_number(const UpdateSpec& spec, UpdatedNumber& number, double g,
                   const WeightUpdate& weight, const UpdateArguments& arguments);

}  // namespace gradstone
