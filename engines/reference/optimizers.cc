// SPDX-License-Identifier: Apache-2.0
#include "engines/reference/optimizers.h"

#include <algorithm>
#include <cmath>

#include "kernels/sums.h"

namespace gradstone::reference {
namespace {

// One weight and its state, typed. `g` is the gradient after clipping and coupled decay.
template <class T>
struct State {
  const Optimizer& optimizer;
  std::int64_t count;  // t
  T rate;              // learning rate
  std::span<T> w;
  std::span<const T> g;
  std::vector<std::span<T>> slots;
};

// Denominator sqrt(v) + eps or sqrt(v + eps).
template <class T>
T root(const Optimizer& optimizer, T v) {
  const auto epsilon = static_cast<T>(optimizer.epsilon);
  if (optimizer.epsilon_place == EpsilonPlace::kInsideRoot) return std::sqrt(v + epsilon);
  return std::sqrt(v) + epsilon;
}

template <class T>
void sgd(const State<T>& s) {
  for (std::size_t i = 0; i < s.w.size(); ++i) s.w[i] -= s.rate * s.g[i];
}

template <class T>
void momentum(const State<T>& s) {
  const auto m = static_cast<T>(s.optimizer.momentum);
  const bool rate_inside = s.optimizer.rate_in_velocity;
  const T fresh = rate_inside ? s.rate : static_cast<T>(1 - s.optimizer.dampening);
  const T applied = rate_inside ? T(1) : s.rate;
  const std::span<T> v = s.slots[0];
  for (std::size_t i = 0; i < s.w.size(); ++i) {
    v[i] = m * v[i] + fresh * s.g[i];
    s.w[i] -= applied * v[i];
  }
}

template <class T>
void nesterov(const State<T>& s) {
  const auto m = static_cast<T>(s.optimizer.momentum);
  const std::span<T> v = s.slots[0];
  for (std::size_t i = 0; i < s.w.size(); ++i) {
    const T before = v[i];
    if (s.optimizer.rate_in_velocity) {
      v[i] = m * before + s.rate * s.g[i];
      s.w[i] -= (1 + m) * v[i] - m * before;
    } else {
      v[i] = m * before + s.g[i];
      s.w[i] -= s.rate * (s.g[i] + m * v[i]);
    }
  }
}

template <class T>
void adam(const State<T>& s) {
  const double beta1 = s.optimizer.beta1, beta2 = s.optimizer.beta2;
  const double correction1 = 1 - std::pow(beta1, static_cast<double>(s.count));
  const double correction2 = 1 - std::pow(beta2, static_cast<double>(s.count));
  const bool gathered = s.optimizer.epsilon_place == EpsilonPlace::kOutsideHat;
  // `gathered`: both corrections stand in the rate and v is used as it is.
  const auto rate = static_cast<T>(static_cast<double>(s.rate) *
                                   (gathered ? std::sqrt(correction2) : 1.0) / correction1);
  const auto hat = static_cast<T>(gathered ? 1.0 : 1 / correction2);
  const auto b1 = static_cast<T>(beta1), b2 = static_cast<T>(beta2);
  const auto c1 = static_cast<T>(1 - beta1), c2 = static_cast<T>(1 - beta2);
  const std::span<T> mean = s.slots[0], square = s.slots[1];
  for (std::size_t i = 0; i < s.w.size(); ++i) {
    mean[i] = b1 * mean[i] + c1 * s.g[i];
    square[i] = b2 * square[i] + c2 * s.g[i] * s.g[i];
    s.w[i] -= rate * mean[i] / root(s.optimizer, square[i] * hat);
  }
}

template <class T>
void rms_prop(const State<T>& s) {
  const auto alpha = static_cast<T>(s.optimizer.alpha);
  const auto rest = static_cast<T>(1 - s.optimizer.alpha);
  const auto m = static_cast<T>(s.optimizer.momentum);
  const bool rate_inside = s.optimizer.rate_in_velocity;
  const std::span<T> square = s.slots[0];
  for (std::size_t i = 0; i < s.w.size(); ++i) {
    square[i] = alpha * square[i] + rest * s.g[i] * s.g[i];
    T spread = square[i];
    if (s.optimizer.centered) {
      T& mean = s.slots[1][i];
      mean = alpha * mean + rest * s.g[i];
      spread -= mean * mean;
    }
    const T quotient = s.g[i] / root(s.optimizer, spread);
    if (m > 0) {
      T& velocity = s.slots.back()[i];
      velocity = m * velocity + (rate_inside ? s.rate * quotient : quotient);
      s.w[i] -= rate_inside ? velocity : s.rate * velocity;
    } else {
      s.w[i] -= s.rate * quotient;
    }
  }
}

template <class T>
void ada_grad(const State<T>& s) {
  const std::span<T> sum = s.slots[0];
  for (std::size_t i = 0; i < s.w.size(); ++i) {
    sum[i] += s.g[i] * s.g[i];
    s.w[i] -= s.rate * s.g[i] / root(s.optimizer, sum[i]);
  }
}

template <class T>
void ada_delta(const State<T>& s) {
  const auto alpha = static_cast<T>(s.optimizer.alpha);
  const auto rest = static_cast<T>(1 - s.optimizer.alpha);
  const auto epsilon = static_cast<T>(s.optimizer.epsilon);
  const std::span<T> square = s.slots[0], step_square = s.slots[1];
  for (std::size_t i = 0; i < s.w.size(); ++i) {
    square[i] = alpha * square[i] + rest * s.g[i] * s.g[i];
    const T step = std::sqrt(step_square[i] + epsilon) / std::sqrt(square[i] + epsilon) * s.g[i];
    step_square[i] = alpha * step_square[i] + rest * step * step;
    s.w[i] -= s.rate * step;
  }
}

template <class T>
void apply_rule(const State<T>& state) {
  switch (state.optimizer.rule) {
    case Rule::kSgd:
      return sgd(state);
    case Rule::kMomentum:
      return momentum(state);
    case Rule::kNesterov:
      return nesterov(state);
    case Rule::kAdam:
    case Rule::kAdamW:
      return adam(state);
    case Rule::kRmsProp:
      return rms_prop(state);
    case Rule::kAdaGrad:
      return ada_grad(state);
    case Rule::kAdaDelta:
      return ada_delta(state);
  }
}

template <class T>
std::vector<T> clipped(const UpdateRule& rule, std::span<const T> gradient) {
  std::vector<T> g(gradient.begin(), gradient.end());
  if (rule.gradient_clip.kind == GradientClip::Kind::kValue) {
    const auto limit = static_cast<T>(rule.gradient_clip.limit);
    for (T& value : g) value = std::clamp(value, -limit, limit);
  } else if (rule.gradient_factor != 1) {
    for (T& value : g) value *= static_cast<T>(rule.gradient_factor);
  }
  return g;
}

template <class T>
void update_typed(const UpdateRule& rule, const WeightStep& step) {
  const std::span<T> w = step.weight->as<T>();
  std::vector<T> g = clipped(rule, step.gradient.as<T>());
  const bool decoupled = rule.optimizer.decoupled || rule.optimizer.rule == Rule::kAdamW;
  if (step.weight_decay != 0 && decoupled) {
    const auto kept = static_cast<T>(1 - step.learning_rate * step.weight_decay);
    for (T& value : w) value *= kept;
  } else if (step.weight_decay != 0) {
    const auto decay = static_cast<T>(step.weight_decay);
    for (std::size_t i = 0; i < g.size(); ++i) g[i] += decay * w[i];
  }
  State<T> state{rule.optimizer, rule.count, static_cast<T>(step.learning_rate), w, g, {}};
  for (Tensor* slot : step.slots) state.slots.push_back(slot->as<T>());
  apply_rule(state);
  if (rule.weight_clip > 0) {
    const auto limit = static_cast<T>(rule.weight_clip);
    for (T& value : w) value = std::clamp(value, -limit, limit);
  }
  if (step.average == nullptr) return;
  const auto m = static_cast<T>(rule.weight_average);
  const std::span<T> average = step.average->as<T>();
  for (std::size_t i = 0; i < w.size(); ++i) average[i] = m * average[i] + (1 - m) * w[i];
}

template <class T>
double sum_of_squares(const TensorRef& tensor) {
  return kernels::sum_of(tensor.as<T>(), [](T value) {
    return static_cast<double>(value) * static_cast<double>(value);
  });
}

}  // namespace

double gradient_factor(const GradientClip& clip, const std::vector<TensorRef>& gradients) {
  if (clip.kind != GradientClip::Kind::kGlobalNorm) return 1;
  double sum = 0;
  for (const TensorRef& gradient : gradients) {
    sum += gradient.type.dtype == DType::kFloat64 ? sum_of_squares<double>(gradient)
                                                  : sum_of_squares<float>(gradient);
  }
  return clip.limit / std::max(std::sqrt(sum), clip.limit);
}

void update_weight(const UpdateRule& rule, const WeightStep& step) {
  if (step.weight->type().dtype == DType::kFloat64) {
    update_typed<double>(rule, step);
  } else {
    update_typed<float>(rule, step);
  }
}

}  // namespace gradstone::reference
