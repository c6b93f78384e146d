// SPDX-License-Identifier: Apache-2.0
#include "engines/torch/update.h"

#include <cmath>

namespace gradstone::torch_engine {
namespace {

// A gradient that may be overwritten. Autograd may hand out one tensor for two weights, a view of a
// fed cotangent, or an expanded scalar.
void make_own(at::Tensor& gradient) {
  const bool own = gradient.use_count() == 1 && gradient.storage().use_count() == 1 &&
                   gradient.is_non_overlapping_and_dense();
  if (!own) gradient = gradient.clone();
}

}  // namespace

Result<Updater> Updater::make(const UpdateSpec& spec, const std::vector<UpdatedWeight>& weights,
                              VariableTable& variables) {
  Updater updater;
  updater.spec_ = spec;
  for (const UpdatedWeight& weight : weights) {
    const UpdateVariables<at::Tensor> bound = TRY(variables.declare(weight));
    Group& group = updater.group_of(weight.update);
    group.gradients.push_back(weight.gradient);
    group.weights.push_back(bound.weight->value);
    for (std::size_t i = 0; i < bound.slots.size(); ++i) {
      group.slots[i].push_back(bound.slots[i]->value);
    }
    if (bound.average != nullptr) group.averages.push_back(bound.average);
  }
  return updater;
}

Updater::Group& Updater::group_of(const WeightUpdate& weight) {
  for (Group& group : groups_) {
    if (group.rate_multiplier == weight.rate_multiplier &&
        group.decay_multiplier == weight.decay_multiplier) {
      return group;
    }
  }
  Group& group = groups_.emplace_back();
  group.rate_multiplier = weight.rate_multiplier;
  group.decay_multiplier = weight.decay_multiplier;
  group.slots.resize(slots_of(spec_.optimizer).size());
  return group;
}

void Updater::apply(std::vector<at::Tensor>& gradients, const UpdateArguments& arguments) {
  const at::NoGradGuard no_grad;
  if (spec_.gradient_clip.kind == GradientClip::Kind::kGlobalNorm) clip_by_norm(gradients);
  for (Group& group : groups_) update_group(group, gradients, arguments);
}

// g <- g * limit / max(norm, limit), the norm taken over all weights of the update together.
void Updater::clip_by_norm(std::vector<at::Tensor>& gradients) const {
  Tensors all;
  for (const Group& group : groups_) {
    for (const std::size_t index : group.gradients) all.push_back(gradients[index]);
  }
  if (all.empty()) return;
  const double norm = at::norm(at::stack(at::_foreach_norm(all))).item<double>();
  const double limit = spec_.gradient_clip.limit;
  if (norm <= limit) return;
  all.clear();  // so that the gradients have one owner again
  for (const Group& group : groups_) {
    for (const std::size_t index : group.gradients) {
      make_own(gradients[index]);
      gradients[index].mul_(limit / norm);
    }
  }
}

void Updater::update_group(Group& group, std::vector<at::Tensor>& gradients,
                           const UpdateArguments& arguments) const {
  const double rate = arguments.learning_rate * group.rate_multiplier;
  const double decay = spec_.optimizer.weight_decay * group.decay_multiplier;
  const bool coupled = decay != 0 && !decouples_decay(spec_.optimizer);
  const bool clipped = spec_.gradient_clip.kind == GradientClip::Kind::kValue;
  for (std::size_t i = 0; i < group.averages.size(); ++i) {
    if (!group.averages[i]->defined) group.averages[i]->value.copy_(group.weights[i]);
    group.averages[i]->defined = true;
  }
  Tensors g;
  g.reserve(group.gradients.size());
  for (const std::size_t index : group.gradients) {
    if (coupled || clipped) make_own(gradients[index]);
    if (clipped) gradients[index].clamp_(-spec_.gradient_clip.limit, spec_.gradient_clip.limit);
    g.push_back(gradients[index]);
  }
  if (coupled) at::_foreach_add_(g, group.weights, decay);
  if (decay != 0 && !coupled) at::_foreach_mul_(group.weights, 1 - rate * decay);
  apply_rule(group, g, rate, static_cast<double>(arguments.count));
  if (spec_.weight_clip > 0) {
    for (at::Tensor& weight : group.weights) weight.clamp_(-spec_.weight_clip, spec_.weight_clip);
  }
  const double kept = spec_.weight_average;
  for (std::size_t i = 0; i < group.averages.size(); ++i) {
    group.averages[i]->value.mul_(kept).add_(group.weights[i], 1 - kept);
  }
}

void Updater::apply_rule(Group& group, const Tensors& g, double rate, double count) const {
  switch (spec_.optimizer.rule) {
    case Rule::kSgd:
      return at::_foreach_add_(group.weights, g, -rate);
    case Rule::kMomentum:
      return momentum(group, g, rate);
    case Rule::kNesterov:
      return nesterov(group, g, rate);
    case Rule::kAdam:
    case Rule::kAdamW:
      return adam(group, g, rate, count);
    case Rule::kRmsProp:
      return rms_prop(group, g, rate);
    case Rule::kAdaGrad:
      at::_foreach_addcmul_(group.slots[0], g, g, 1);
      return at::_foreach_addcdiv_(group.weights, g, roots(group.slots[0]), -rate);
    case Rule::kAdaDelta:
      return ada_delta(group, g, rate);
  }
}

// New tensors sqrt(v) + epsilon, or sqrt(v + epsilon).
Updater::Tensors Updater::roots(const Tensors& squares) const {
  if (spec_.optimizer.epsilon_place == EpsilonPlace::kInsideRoot) {
    Tensors result = at::_foreach_add(squares, spec_.optimizer.epsilon);
    at::_foreach_sqrt_(result);
    return result;
  }
  Tensors result = at::_foreach_sqrt(squares);
  at::_foreach_add_(result, spec_.optimizer.epsilon);
  return result;
}

void Updater::momentum(Group& group, const Tensors& g, double rate) const {
  const Optimizer& o = spec_.optimizer;
  const Tensors& v = group.slots[0];
  at::_foreach_mul_(v, o.momentum);
  at::_foreach_add_(v, g, o.rate_in_velocity ? rate : 1 - o.dampening);
  at::_foreach_add_(group.weights, v, o.rate_in_velocity ? -1 : -rate);
}

void Updater::nesterov(Group& group, const Tensors& g, double rate) const {
  const Optimizer& o = spec_.optimizer;
  const Tensors& v = group.slots[0];
  at::_foreach_mul_(v, o.momentum);
  at::_foreach_add_(v, g, o.rate_in_velocity ? rate : 1);
  // With v' = m v + lr g the step (1 + m) v' - m v is m v' + lr g.
  at::_foreach_add_(group.weights, v, o.rate_in_velocity ? -o.momentum : -rate * o.momentum);
  at::_foreach_add_(group.weights, g, -rate);
}

void Updater::adam(Group& group, const Tensors& g, double rate, double count) const {
  const Optimizer& o = spec_.optimizer;
  const Tensors &mean = group.slots[0], &square = group.slots[1];
  at::_foreach_mul_(mean, o.beta1);
  at::_foreach_add_(mean, g, 1 - o.beta1);
  at::_foreach_mul_(square, o.beta2);
  at::_foreach_addcmul_(square, g, g, 1 - o.beta2);
  const double correction1 = 1 - std::pow(o.beta1, count);
  const double correction2 = 1 - std::pow(o.beta2, count);
  if (o.epsilon_place == EpsilonPlace::kOutsideHat) {
    const double step = rate * std::sqrt(correction2) / correction1;
    return at::_foreach_addcdiv_(group.weights, mean, roots(square), -step);
  }
  const Tensors hat = at::_foreach_div(square, correction2);
  at::_foreach_addcdiv_(group.weights, mean, roots(hat), -rate / correction1);
}

void Updater::rms_prop(Group& group, const Tensors& g, double rate) const {
  const Optimizer& o = spec_.optimizer;
  const Tensors& square = group.slots[0];
  at::_foreach_mul_(square, o.alpha);
  at::_foreach_addcmul_(square, g, g, 1 - o.alpha);
  Tensors root;
  if (o.centered) {
    const Tensors& mean = group.slots[1];
    at::_foreach_mul_(mean, o.alpha);
    at::_foreach_add_(mean, g, 1 - o.alpha);
    root = roots(at::_foreach_addcmul(square, mean, mean, -1));
  } else {
    root = roots(square);
  }
  if (o.momentum == 0) return at::_foreach_addcdiv_(group.weights, g, root, -rate);
  const Tensors& velocity = group.slots.back();
  at::_foreach_mul_(velocity, o.momentum);
  at::_foreach_addcdiv_(velocity, g, root, o.rate_in_velocity ? rate : 1);
  at::_foreach_add_(group.weights, velocity, o.rate_in_velocity ? -1 : -rate);
}

void Updater::ada_delta(Group& group, const Tensors& g, double rate) const {
  const Optimizer& o = spec_.optimizer;
  const Tensors &square = group.slots[0], &step_square = group.slots[1];
  at::_foreach_mul_(square, o.alpha);
  at::_foreach_addcmul_(square, g, g, 1 - o.alpha);
  Tensors step = at::_foreach_add(step_square, o.epsilon);
  at::_foreach_div_(step, at::_foreach_add(square, o.epsilon));
  at::_foreach_sqrt_(step);
  at::_foreach_mul_(step, g);
  at::_foreach_mul_(step_square, o.alpha);
  at::_foreach_addcmul_(step_square, step, step, 1 - o.alpha);
  at::_foreach_add_(group.weights, step, -rate);
}

}  // namespace gradstone::torch_engine
