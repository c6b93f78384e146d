// SPDX-License-Identifier: Apache-2.0
// What a training job asks an engine to load: the programs over one variable store.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/passes.h"
#include "protocol/messages.h"
#include "worker/engine.h"

namespace gradstone {

struct TrainingPrograms {
  BundleSpec bundle;                      // program 0 is the training step
  std::optional<std::size_t> smaller;     // the step of the smaller last batch
  std::optional<std::size_t> evaluation;  // output: logits
  // Masks that the feed draws, by program; empty where dropout is the framework's own.
  std::vector<std::vector<SharedMask>> masks;
  // Recipe::optimizers of each ProgramSpec::updates; the same in both training programs.
  std::vector<std::size_t> optimizer_of_update;
  std::vector<std::string> trained_weights;
  std::vector<Weight> variables;  // every weight of every program, once
  TensorType loss_type;           // one element
  TensorType logits_type;         // [evaluation batch, classes]
  std::string_view dropout;       // what is done: "shared", "native" or, without dropout, "none"
};

// Dropout is shared, too, where the engine has none of its own. Errors of the graphs and the recipe.
Result<TrainingPrograms> make_training_programs(const TrainJob& job,
                                                const EngineDescription& engine);

}  // namespace gradstone
