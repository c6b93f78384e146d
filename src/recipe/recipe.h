// SPDX-License-Identifier: Apache-2.0
// The training description: which weights are updated how, what a batch is, what is done to the
// data. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "recipe/optimizer.h"
#include "recipe/schedule.h"

namespace gradstone {

struct OptimizerChoice {
  std::string name = "default";
  Optimizer optimizer;
  Schedule schedule;
  GradientClip gradient_clip;  // norm taken over the weights of this optimizer
  double weight_clip = 0;      // > 0: |w| <= weight_clip after each update
};

// Weights whose name matches `pattern` (shell wildcards * and ?). The first matching group of the
// list wins; a weight that none matches belongs to the first optimizer with multipliers 1.
struct ParameterGroup {
  std::string pattern;
  double rate_multiplier = 1;
  double decay_multiplier = 1;
  bool frozen = false;
  std::string optimizer;  // name of an OptimizerChoice; "" is the first
};

enum class LastBatch { kDrop, kWrap, kSmaller };  // the last, partial batch of an epoch

// What is done to an image between file and network, in this order. All engines get the same
// numbers.
struct Preprocess {
  // Padded with black or cropped around the middle; 0 keeps the size.
  std::int64_t height = 0, width = 0;
  double scale = 1.0 / 255;  // pixels are bytes 0..255
  std::vector<double> mean;  // subtracted after scaling; one value, or one a channel; empty is none
  std::vector<double> deviation;  // divided by afterwards
};

struct Recipe {
  std::vector<OptimizerChoice> optimizers = {OptimizerChoice{}};
  std::vector<ParameterGroup> groups;
  std::int64_t batch = 64;
  std::int64_t evaluation_batch = 100;
  std::int64_t epochs = 1;
  LastBatch last_batch = LastBatch::kDrop;
  double weight_average =
      0;  // > 0: moving average of weights with this momentum; evaluation uses the averages
  Preprocess preprocess;
};

// Ranges, names, and what must fit `graph`: each group matches a trainable weight, the image has
// the channels and size that `preprocess` makes. The error names optimizer or group, and field.
Status check_recipe(const Recipe& recipe, const Graph& graph);
// Every field is written. Reading, a field left out keeps its default and an unknown key is an
// error.
Json to_json(const Recipe& recipe);
Result<Recipe> recipe_from_json(const Json& json);

// What one weight gets. Every trainable weight of `graph` that is not frozen appears once.
struct WeightPlan {
  std::string weight;
  std::size_t optimizer = 0;  // index into Recipe::optimizers
  double rate_multiplier = 1;
  double decay_multiplier = 1;
};
Result<std::vector<WeightPlan>> weight_plans(const Recipe& recipe, const Graph& graph);

// Shell-style match with * and ?.
bool matches_pattern(std::string_view pattern, std::string_view name);

}  // namespace gradstone
