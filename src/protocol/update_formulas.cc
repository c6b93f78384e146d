// SPDX-License-Identifier: Apache-2.0
#include "protocol/update_formulas.h"

#include <algorithm>
#include <cmath>

namespace gradstone {
namespace {

// Step 3: the change of w, from the gradient after clipping and coupled decay.
double rule_step(const Optimizer& o, UpdatedNumber& n, double g, double lr, double t) {
  const bool inside = o.epsilon_place == EpsilonPlace::kInsideRoot;
  const auto root = [&](double v) {
    return inside ? std::sqrt(v + o.epsilon) : std::sqrt(v) + o.epsilon;
  };
  switch (o.rule) {
    case Rule::kSgd:
      return lr * g;
    case Rule::kMomentum:
      if (o.rate_in_velocity) return n.v = o.momentum * n.v + lr * g;
      return lr * (n.v = o.momentum * n.v + (1 - o.dampening) * g);
    case Rule::kNesterov: {
      const double before = n.v;
      n.v = o.momentum * before + (o.rate_in_velocity ? lr : 1) * g;
      if (o.rate_in_velocity) return (1 + o.momentum) * n.v - o.momentum * before;
      return lr * (g + o.momentum * n.v);
    }
    case Rule::kAdam:
    case Rule::kAdamW: {
      n.m = o.beta1 * n.m + (1 - o.beta1) * g;
      n.v = o.beta2 * n.v + (1 - o.beta2) * g * g;
      const double c1 = 1 - std::pow(o.beta1, t), c2 = 1 - std::pow(o.beta2, t);
      if (o.epsilon_place == EpsilonPlace::kOutsideHat) {
        return lr * std::sqrt(c2) / c1 * n.m / (std::sqrt(n.v) + o.epsilon);
      }
      return lr * (n.m / c1) / root(n.v / c2);
    }
    case Rule::kRmsProp: {
      n.v = o.alpha * n.v + (1 - o.alpha) * g * g;
      n.m = o.alpha * n.m + (1 - o.alpha) * g;
      const double quotient = g / root(o.centered ? n.v - n.m * n.m : n.v);
      if (o.momentum == 0) return lr * quotient;
      n.u = o.momentum * n.u + quotient * (o.rate_in_velocity ? lr : 1);
      return o.rate_in_velocity ? n.u : lr * n.u;
    }
    case Rule::kAdaGrad:
      n.v += g * g;
      return lr * g / root(n.v);
    case Rule::kAdaDelta: {
      n.v = o.alpha * n.v + (1 - o.alpha) * g * g;
      const double d = std::sqrt(n.x + o.epsilon) / std::sqrt(n.v + o.epsilon) * g;
      n.x = o.alpha * n.x + (1 - o.alpha) * d * d;
      return lr * d;
    }
  }
  return 0;
}

double clamp_to(double value, double limit) { return std::max(-limit, std::min(limit, value)); }

Optimizer rule_of(Rule rule) {
  Optimizer optimizer;
  optimizer.rule = rule;
  return optimizer;
}

UpdateCase base_case(const std::string& name, const Optimizer& optimizer) {
  UpdateCase c;
  c.name = name;
  c.spec.optimizer = optimizer;
  return c;
}

// `change` turns a default optimizer of this rule into the one to test.
template <class Change>
UpdateCase rule_case(const std::string& name, Rule rule, Change change) {
  Optimizer optimizer = rule_of(rule);
  change(optimizer);
  return base_case(name, optimizer);
}

template <class Change>
UpdateCase spec_case(const std::string& name, Rule rule, Change change) {
  UpdateCase c = base_case(name, rule_of(rule));
  change(c);
  return c;
}

std::vector<UpdateCase> momentum_cases() {
  const auto heavy = [](Optimizer& o) { o.momentum = 0.9; };
  return {
      rule_case("sgd", Rule::kSgd, [](Optimizer&) {}),
      rule_case("momentum", Rule::kMomentum, heavy),
      rule_case("momentum_dampened", Rule::kMomentum,
                [](Optimizer& o) {
                  o.momentum = 0.9;
                  o.dampening = 0.3;
                }),
      rule_case("momentum_rate_in_velocity", Rule::kMomentum,
                [](Optimizer& o) {
                  o.momentum = 0.9;
                  o.rate_in_velocity = true;
                }),
      rule_case("nesterov", Rule::kNesterov, heavy),
      rule_case("nesterov_rate_in_velocity", Rule::kNesterov,
                [](Optimizer& o) {
                  o.momentum = 0.9;
                  o.rate_in_velocity = true;
                }),
  };
}

std::vector<UpdateCase> adaptive_cases() {
  std::vector<UpdateCase> cases;
  const auto add = [&](const std::string& name, Rule rule, auto change) {
    cases.push_back(rule_case(name, rule, change));
  };
  // A large epsilon, so that its place is seen.
  const auto place = [](EpsilonPlace where) {
    return [where](Optimizer& o) {
      o.epsilon = 0.01;
      o.epsilon_place = where;
    };
  };
  add("adam", Rule::kAdam, [](Optimizer&) {});
  add("adam_betas", Rule::kAdam, [](Optimizer& o) {
    o.beta1 = 0.5;
    o.beta2 = 0.9;
  });
  add("adam_epsilon_outside_root", Rule::kAdam, place(EpsilonPlace::kOutsideRoot));
  add("adam_epsilon_inside_root", Rule::kAdam, place(EpsilonPlace::kInsideRoot));
  add("adam_epsilon_outside_hat", Rule::kAdam, place(EpsilonPlace::kOutsideHat));
  add("adamw", Rule::kAdamW, [](Optimizer& o) { o.weight_decay = 0.1; });
  add("rmsprop", Rule::kRmsProp, place(EpsilonPlace::kOutsideRoot));
  add("rmsprop_epsilon_inside_root", Rule::kRmsProp, place(EpsilonPlace::kInsideRoot));
  add("rmsprop_centered", Rule::kRmsProp, [](Optimizer& o) {
    o.alpha = 0.9;
    o.centered = true;
    o.epsilon = 0.01;
  });
  add("rmsprop_momentum", Rule::kRmsProp, [](Optimizer& o) {
    o.momentum = 0.8;
    o.epsilon = 0.01;
  });
  add("rmsprop_momentum_rate_in_velocity_centered", Rule::kRmsProp, [](Optimizer& o) {
    o.momentum = 0.8;
    o.rate_in_velocity = true;
    o.centered = true;
    o.epsilon = 0.01;
  });
  add("adagrad", Rule::kAdaGrad, place(EpsilonPlace::kOutsideRoot));
  add("adagrad_epsilon_inside_root", Rule::kAdaGrad, place(EpsilonPlace::kInsideRoot));
  add("adagrad_initial_accumulator", Rule::kAdaGrad,
      [](Optimizer& o) { o.initial_accumulator = 0.1; });
  add("adadelta", Rule::kAdaDelta, [](Optimizer& o) {
    o.alpha = 0.9;
    o.epsilon = 1e-4;
  });
  return cases;
}

std::vector<UpdateCase> surrounding_cases() {
  std::vector<UpdateCase> cases;
  for (const Rule rule : {Rule::kSgd, Rule::kMomentum, Rule::kAdam}) {
    const std::string name(name_of(rule));
    const auto add = [&](const std::string& what, auto change) {
      cases.push_back(spec_case(name + "_" + what, rule, [&](UpdateCase& c) {
        if (rule == Rule::kMomentum) c.spec.optimizer.momentum = 0.9;
        change(c);
      }));
    };
    add("coupled_decay", [](UpdateCase& c) { c.spec.optimizer.weight_decay = 0.1; });
    add("decoupled_decay", [](UpdateCase& c) {
      c.spec.optimizer.weight_decay = 0.1;
      c.spec.optimizer.decoupled = true;
    });
    add("value_clip", [](UpdateCase& c) {
      c.spec.gradient_clip = {GradientClip::Kind::kValue, 0.4};
    });
    add("norm_clip", [](UpdateCase& c) {
      c.spec.gradient_clip = {GradientClip::Kind::kGlobalNorm, 1.5};
    });
    add("weight_clip", [](UpdateCase& c) { c.spec.weight_clip = 0.3; });
    add("weight_average", [](UpdateCase& c) { c.spec.weight_average = 0.8; });
    add("multipliers", [](UpdateCase& c) {
      c.spec.optimizer.weight_decay = 0.1;
      c.rate_multiplier = 2;
      c.decay_multiplier = 0;
    });
    add("everything", [](UpdateCase& c) {
      c.spec.optimizer.weight_decay = 0.05;
      c.spec.gradient_clip = {GradientClip::Kind::kGlobalNorm, 1.5};
      c.spec.weight_clip = 0.9;
      c.spec.weight_average = 0.9;
      c.rate_multiplier = 0.5;
      c.decay_multiplier = 3;
    });
  }
  return cases;
}

}  // namespace

UpdatedNumber number_at_start(const Optimizer& optimizer, double weight) {
  UpdatedNumber number;
  number.w = weight;
  if (optimizer.rule == Rule::kAdaGrad) number.v = optimizer.initial_accumulator;
  return number;
}

double clipped_gradient(const GradientClip& clip, double g, double norm) {
  if (clip.kind == GradientClip::Kind::kValue) return clamp_to(g, clip.limit);
  if (clip.kind == GradientClip::Kind::kGlobalNorm) {
    return g * clip.limit / std::max(norm, clip.limit);
  }
  return g;
}

void update_number(const UpdateSpec& spec, UpdatedNumber& n, double g, const WeightUpdate& weight,
                   const UpdateArguments& arguments) {
  const double lr = arguments.learning_rate * weight.rate_multiplier;
  const double decay = spec.optimizer.weight_decay * weight.decay_multiplier;
  const bool decoupled = spec.optimizer.decoupled || spec.optimizer.rule == Rule::kAdamW;
  if (arguments.count == 1) n.average = n.w;
  if (decoupled) {
    n.w -= lr * decay * n.w;
  } else {
    g += decay * n.w;
  }
  n.w -= rule_step(spec.optimizer, n, g, lr, static_cast<double>(arguments.count));
  if (spec.weight_clip > 0) n.w = clamp_to(n.w, spec.weight_clip);
  n.average = spec.weight_average * n.average + (1 - spec.weight_average) * n.w;
}

std::vector<UpdateCase> update_cases() {
  std::vector<UpdateCase> cases = momentum_cases();
  for (const UpdateCase& c : adaptive_cases()) cases.push_back(c);
  for (const UpdateCase& c : surrounding_cases()) cases.push_back(c);
  return cases;
}

}  // namespace gradstone
