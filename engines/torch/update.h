// SPDX-License-Identifier: Apache-2.0
// One optimizer over a set of weights. The formulas stand in recipe/optimizer.h. All operations on
// one weight follow each other: its values are then still in the cache, which on a CPU is worth more
// than ATen's foreach operators, that pass over all weights again for every operation.
#pragma once

#include <string>
#include <vector>

#include "engines/torch/variables.h"
#include "worker/engine.h"

namespace gradstone::torch_engine {

class Updater {
 public:
  // Declares the optimizer's variables. `weights` is what the program's contract says of `spec`.
  static Result<Updater> make(const UpdateSpec& spec, const std::vector<UpdatedWeight>& weights,
                              VariableTable& variables);

  // Applies one update. `gradients` has one tensor for each of BackwardSpec::wrt, all defined; those of this
  // updater's weights may be overwritten.
  void apply(std::vector<at::Tensor>& gradients, const UpdateArguments& arguments);

 private:
  struct Target {
    double rate_multiplier = 1, decay_multiplier = 1;
    std::size_t gradient = 0;  // index into BackwardSpec::wrt
    at::Tensor weight;
    std::vector<at::Tensor> slots;
    Variable* average = nullptr;  // none without a moving average
  };

  void clip_by_norm(std::vector<at::Tensor>& gradients) const;
  void update(Target& target, at::Tensor& gradient, const UpdateArguments& arguments) const;
  void apply_rule(Target& target, const at::Tensor& g, double rate, double count) const;
  at::Tensor root(const at::Tensor& square) const;
  void momentum(Target& target, const at::Tensor& g, double rate) const;
  void nesterov(Target& target, const at::Tensor& g, double rate) const;
  void adam(Target& target, const at::Tensor& g, double rate, double count) const;
  void rms_prop(Target& target, const at::Tensor& g, double rate) const;
  void ada_delta(Target& target, const at::Tensor& g, double rate) const;

  UpdateSpec spec_;
  std::vector<Target> targets_;
};

}  // namespace gradstone::torch_engine
