// SPDX-License-Identifier: Apache-2.0
// What an engine can be asked to load: programs over one variable store. Plain data that travels to
// the worker; how a program is run stands in worker/engine.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "graph/graph.h"
#include "recipe/optimizer.h"

namespace gradstone {

enum class Mode { kTraining, kInference };

// A backward pass from `from`. If `fed_cotangents`, each value of `from` gets a feed of its own
// type, after the graph's inputs and in this order; otherwise every value of `from` is a scalar and
// its cotangent is 1.
struct BackwardSpec {
  std::vector<std::string> from;
  bool fed_cotangents = false;
  std::vector<std::string> wrt;  // weights and graph inputs whose gradients are computed
};

struct WeightUpdate {
  std::string weight;  // must be in BackwardSpec::wrt
  double rate_multiplier = 1;
  double decay_multiplier = 1;
};

// One optimizer applied to a subset of the weights. Its state tensors are variables `weight:slot`.
struct UpdateSpec {
  Optimizer optimizer;
  GradientClip gradient_clip;
  double weight_clip = 0;  // > 0: |w| <= weight_clip afterwards
  double weight_average =
      0;  // > 0: variable `weight:average` follows the weight with this momentum
  std::vector<WeightUpdate> weights;
};

struct ProgramSpec {
  std::string name;
  Graph
      graph;  // checked; static shapes; training or inference form already chosen (graph/passes.h)
  Mode mode = Mode::kTraining;
  std::vector<std::string> outputs;  // any named values
  std::optional<BackwardSpec> backward;
  std::vector<UpdateSpec> updates;  // need `backward`
};

// Weights of the same name in several programs are the same variable and must agree in type.
// Graphs' state updates apply at the end of each run of their program.
struct BundleSpec {
  std::vector<ProgramSpec> programs;
};

struct UpdateArguments {
  double learning_rate = 0;
  std::int64_t count = 1;  // t of the formulas: 1 at the first update with this optimizer
};

Json to_json(const BundleSpec& bundle);
// Unreadable, with the place, for anything that is not a bundle. Graphs are not checked.
Result<BundleSpec> bundle_from_json(const Json& json);

}  // namespace gradstone
