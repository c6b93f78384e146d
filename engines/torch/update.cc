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
    Target& target = updater.targets_.emplace_back();
    target.rate_multiplier = weight.update.rate_multiplier;
    target.decay_multiplier = weight.update.decay_multiplier;
    target.gradient = weight.gradient;
    target.weight = bound.weight->value;
    for (const Variable* slot : bound.slots) target.slots.push_back(slot->value);
    target.average = bound.average;
  }
  return updater;
}

void Updater::apply(std::vector<at::Tensor>& gradients, const UpdateArguments& arguments) {
  const at::NoGradGuard no_grad;
  if (spec_.gradient_clip.kind == GradientClip::Kind::kGlobalNorm) clip_by_norm(gradients);
  for (Target& target : targets_) update(target, gradients[target.gradient], arguments);
}

// g <- g * limit / max(norm, limit), the norm taken over all weights of the update together.
void Updater::clip_by_norm(std::vector<at::Tensor>& gradients) const {
  std::vector<at::Tensor> norms;
  for (const Target& target : targets_) norms.push_back(at::norm(gradients[target.gradient]));
  if (norms.empty()) return;
  const double norm = at::norm(at::stack(norms)).item<double>();
  const double limit = spec_.gradient_clip.limit;
  if (norm <= limit) return;
  for (const Target& target : targets_) {
    make_own(gradients[target.gradient]);
    gradients[target.gradient].mul_(limit / norm);
  }
}

void Updater::update(Target& target, at::Tensor& gradient, const UpdateArguments& arguments) const {
  const double rate = arguments.learning_rate * target.rate_multiplier;
  const double decay = spec_.optimizer.weight_decay * target.decay_multiplier;
  const bool coupled = decay != 0 && !decouples_decay(spec_.optimizer);
  const bool clipped = spec_.gradient_clip.kind == GradientClip::Kind::kValue;
  Variable* average = target.average;
  if (average != nullptr && !average->defined) average->value.copy_(target.weight);
  if (coupled || clipped) make_own(gradient);
  if (clipped) gradient.clamp_(-spec_.gradient_clip.limit, spec_.gradient_clip.limit);
  if (coupled) gradient.add_(target.weight, decay);
  if (decay != 0 && !coupled) target.weight.mul_(1 - rate * decay);
  apply_rule(target, gradient, rate, static_cast<double>(arguments.count));
  if (spec_.weight_clip > 0) target.weight.clamp_(-spec_.weight_clip, spec_.weight_clip);
  if (average == nullptr) return;
  average->defined = true;
  const double kept = spec_.weight_average;
  average->value.mul_(kept).add_(target.weight, 1 - kept);
}

void Updater::apply_rule(Target& target, const at::Tensor& g, double rate, double count) const {
  switch (spec_.optimizer.rule) {
    case Rule::kSgd:
      target.weight.add_(g, -rate);
      return;
    case Rule::kMomentum:
      return momentum(target, g, rate);
    case Rule::kNesterov:
      return nesterov(target, g, rate);
    case Rule::kAdam:
    case Rule::kAdamW:
      return adam(target, g, rate, count);
    case Rule::kRmsProp:
      return rms_prop(target, g, rate);
    case Rule::kAdaGrad:
      target.slots[0].addcmul_(g, g);
      target.weight.addcdiv_(g, root(target.slots[0]), -rate);
      return;
    case Rule::kAdaDelta:
      return ada_delta(target, g, rate);
  }
}

// A new tensor sqrt(v) + epsilon, or sqrt(v + epsilon).
at::Tensor Updater::root(const at::Tensor& square) const {
  const double epsilon = spec_.optimizer.epsilon;
  if (spec_.optimizer.epsilon_place == EpsilonPlace::kInsideRoot) {
    return square.add(epsilon).sqrt_();
  }
  return square.sqrt().add_(epsilon);
}

void Updater::momentum(Target& target, const at::Tensor& g, double rate) const {
  const Optimizer& o = spec_.optimizer;
  at::Tensor& v = target.slots[0];
  v.mul_(o.momentum).add_(g, o.rate_in_velocity ? rate : 1 - o.dampening);
  target.weight.add_(v, o.rate_in_velocity ? -1 : -rate);
}

void Updater::nesterov(Target& target, const at::Tensor& g, double rate) const {
  const Optimizer& o = spec_.optimizer;
  at::Tensor& v = target.slots[0];
  v.mul_(o.momentum).add_(g, o.rate_in_velocity ? rate : 1);
  // With v' = m v + lr g the step (1 + m) v' - m v is m v' + lr g.
  target.weight.add_(v, o.rate_in_velocity ? -o.momentum : -rate * o.momentum).add_(g, -rate);
}

void Updater::adam(Target& target, const at::Tensor& g, double rate, double count) const {
  const Optimizer& o = spec_.optimizer;
  at::Tensor &mean = target.slots[0], &square = target.slots[1];
  mean.mul_(o.beta1).add_(g, 1 - o.beta1);
  square.mul_(o.beta2).addcmul_(g, g, 1 - o.beta2);
  const double correction1 = 1 - std::pow(o.beta1, count);
  const double correction2 = 1 - std::pow(o.beta2, count);
  if (o.epsilon_place == EpsilonPlace::kOutsideHat) {
    target.weight.addcdiv_(mean, root(square), -rate * std::sqrt(correction2) / correction1);
  } else {
    target.weight.addcdiv_(mean, root(square.div(correction2)), -rate / correction1);
  }
}

void Updater::rms_prop(Target& target, const at::Tensor& g, double rate) const {
  const Optimizer& o = spec_.optimizer;
  at::Tensor& square = target.slots[0];
  square.mul_(o.alpha).addcmul_(g, g, 1 - o.alpha);
  at::Tensor divisor;
  if (o.centered) {
    at::Tensor& mean = target.slots[1];
    mean.mul_(o.alpha).add_(g, 1 - o.alpha);
    divisor = root(square.addcmul(mean, mean, -1));
  } else {
    divisor = root(square);
  }
  if (o.momentum == 0) {
    target.weight.addcdiv_(g, divisor, -rate);
    return;
  }
  at::Tensor& velocity = target.slots.back();
  velocity.mul_(o.momentum).addcdiv_(g, divisor, o.rate_in_velocity ? rate : 1);
  target.weight.add_(velocity, o.rate_in_velocity ? -1 : -rate);
}

void Updater::ada_delta(Target& target, const at::Tensor& g, double rate) const {
  const Optimizer& o = spec_.optimizer;
  at::Tensor &square = target.slots[0], &step_square = target.slots[1];
  square.mul_(o.alpha).addcmul_(g, g, 1 - o.alpha);
  const at::Tensor step = step_square.add(o.epsilon).div_(square.add(o.epsilon)).sqrt_().mul_(g);
  step_square.mul_(o.alpha).addcmul_(step, step, 1 - o.alpha);
  target.weight.add_(step, -rate);
}

}  // namespace gradstone::torch_engine
