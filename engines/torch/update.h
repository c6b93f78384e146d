// SPDX-License-Identifier: Apache-2.0
// One optimizer over a set of weights, by ATen's foreach operators. The formulas stand in
// recipe/optimizer.h. Weights of equal multipliers are updated together.
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
  using Tensors = std::vector<at::Tensor>;
  struct Group {
    double rate_multiplier = 1, decay_multiplier = 1;
    std::vector<std::size_t> gradients;  // index into BackwardSpec::wrt
    Tensors weights;
    std::vector<Tensors> slots;  // slots[k][i]: slot k of weight i
    std::vector<Variable*> averages;
  };

  Group& group_of(const WeightUpdate& weight);
  void clip_by_norm(std::vector<at::Tensor>& gradients) const;
  void update_group(Group& group, std::vector<at::Tensor>& gradients,
                    const UpdateArguments& arguments) const;
  void apply_rule(Group& group, const Tensors& gradients, double rate, double count) const;
  Tensors roots(const Tensors& squares) const;
  void momentum(Group& group, const Tensors& g, double rate) const;
  void nesterov(Group& group, const Tensors& g, double rate) const;
  void adam(Group& group, const Tensors& g, double rate, double count) const;
  void rms_prop(Group& group, const Tensors& g, double rate) const;
  void ada_delta(Group& group, const Tensors& g, double rate) const;

  UpdateSpec spec_;
  std::vector<Group> groups_;
};

}  // namespace gradstone::torch_engine
