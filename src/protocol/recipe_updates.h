// SPDX-License-Identifier: Apache-2.0
// From a training description to the updates of a program. Whoever trains, trains by this.
#pragma once

#include <vector>

#include "protocol/program_spec.h"
#include "recipe/recipe.h"

namespace gradstone {

struct RecipeUpdates {
  std::vector<UpdateSpec> updates;     // one for each optimizer that has weights
  std::vector<std::size_t> optimizer;  // of Recipe::optimizers, for each of `updates`
};
// `plans` is weight_plans' answer for the recipe.
RecipeUpdates recipe_updates(const Recipe& recipe, const std::vector<WeightPlan>& plans);

}  // namespace gradstone
