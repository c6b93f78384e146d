// SPDX-License-Identifier: Apache-2.0
#include "protocol/recipe_updates.h"

namespace gradstone {

RecipeUpdates recipe_updates(const Recipe& recipe, const std::vector<WeightPlan>& plans) {
  RecipeUpdates result;
  for (std::size_t i = 0; i < recipe.optimizers.size(); ++i) {
    const OptimizerChoice& choice = recipe.optimizers[i];
    UpdateSpec update{
        choice.optimizer, choice.gradient_clip, choice.weight_clip, recipe.weight_average, {}};
    for (const WeightPlan& plan : plans) {
      if (plan.optimizer != i) continue;
      update.weights.push_back({plan.weight, plan.rate_multiplier, plan.decay_multiplier});
    }
    if (update.weights.empty()) continue;
    result.updates.push_back(std::move(update));
    result.optimizer.push_back(i);
  }
  return result;
}

}  // namespace gradstone
