// SPDX-License-Identifier: Apache-2.0
// Ten updates of every rule and every field against the formulas of recipe/optimizer.h, written
// here once more, number by number and in double.
#include "tests/conformance/support.h"

namespace gradstone::conformance {
namespace {

struct UpdateCase {
  std::string name;
  UpdateSpec spec;                                   // its weights are filled in by the test
  double rate_multiplier = 1, decay_multiplier = 1;  // of weight `a`; those of `b` are 1
};

// One element of one weight and its state. Names follow recipe/optimizer.h.
struct Number {
  double w = 0;
  double v = 0, m = 0, u = 0, x = 0;  // squares or velocity, mean, RMSProp's velocity, AdaDelta's x
  double average = 0;
};

// Step 3: the change of w, from the gradient after clipping and coupled decay.
double rule_step(const Optimizer& o, Number& n, double g, double lr, double t) {
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

// Step 1 for one element. `norm` is that of all gradients of the update.
double clipped(const GradientClip& clip, double g, double norm) {
  if (clip.kind == GradientClip::Kind::kValue) return clamp_to(g, clip.limit);
  if (clip.kind == GradientClip::Kind::kGlobalNorm) {
    return g * clip.limit / std::max(norm, clip.limit);
  }
  return g;
}

// Steps 2 to 6 for one element.
void update_number(const UpdateSpec& spec, Number& n, double g, const WeightUpdate& weight,
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

// Gradient number i of step t: both signs, several magnitudes, no repetition.
double gradient_at(int t, int i) { return std::sin(1.7 * t + 2.3 * i) * (i == 1 ? 3.0 : 0.5); }
double rate_at(int t) { return 0.05 / (1 + 0.3 * t); }

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

std::vector<UpdateCase> all_cases() {
  std::vector<UpdateCase> cases = momentum_cases();
  for (const UpdateCase& c : adaptive_cases()) cases.push_back(c);
  for (const UpdateCase& c : surrounding_cases()) cases.push_back(c);
  return cases;
}

// loss = sum(a ga) + sum(b gb): the gradients are the inputs ga and gb.
ProgramSpec linear_program(const UpdateCase& c, DType dtype) {
  TestGraph g(dtype);
  g.input("ga", {3});
  g.input("gb", {2});
  g.weight("a", {3});
  g.weight("b", {2});
  g.node("pa", "Mul", {"a", "ga"});
  g.node("pb", "Mul", {"b", "gb"});
  g.sum("sa", "pa");
  g.sum("sb", "pb");
  g.node("loss", "Add", {"sa", "sb"});
  ProgramSpec program{"p", g.graph, Mode::kTraining, {"loss"}, {}, {}};
  program.backward = BackwardSpec{{"loss"}, false, {"a", "b"}};
  program.updates = {c.spec};
  program.updates[0].weights = {{"a", c.rate_multiplier, c.decay_multiplier}, {"b", 1, 1}};
  return program;
}

class OptimizerTest : public EngineTestBase,
                      public testing::WithParamInterface<std::tuple<DType, UpdateCase>> {
 protected:
  void SetUp() override { start(std::get<0>(GetParam())); }

  std::vector<double> column(double Number::*field, std::size_t first, std::size_t count) const {
    std::vector<double> values;
    for (std::size_t i = first; i < first + count; ++i) values.push_back(numbers_[i].*field);
    return values;
  }

  std::vector<Number> numbers_;  // a[0..2], b[0..1]
};

TEST_P(OptimizerTest, TenUpdatesFollowTheFormulas) {
  const UpdateCase& c = std::get<1>(GetParam());
  const ProgramSpec program = linear_program(c, dtype());
  load({{program}});
  if (!bundle_) return;
  for (const double w : {1.0, -0.5, 0.25, 2.0, -1.0}) {
    numbers_.emplace_back();
    numbers_.back().w = w;
    if (c.spec.optimizer.rule == Rule::kAdaGrad) {
      numbers_.back().v = c.spec.optimizer.initial_accumulator;
    }
  }
  write("a", tensor({3}, {1, -0.5, 0.25}));
  write("b", tensor({2}, {2, -1}));
  for (int t = 0; t < 10; ++t) {
    std::vector<double> g;
    double squares = 0;
    for (int i = 0; i < 5; ++i) g.push_back(gradient_at(t, i));
    for (const double value : g) squares += value * value;
    const UpdateArguments arguments{rate_at(t), t + 1};
    for (std::size_t i = 0; i < 5; ++i) {
      update_number(c.spec, numbers_[i], clipped(c.spec.gradient_clip, g[i], std::sqrt(squares)),
                    program.updates[0].weights[i < 3 ? 0 : 1], arguments);
    }
    const auto fetched =
        run(0, {tensor({3}, {g[0], g[1], g[2]}), tensor({2}, {g[3], g[4]})}, {arguments});
    expect_near(fetched[1], {g[0], g[1], g[2]}, tolerance(), "the gradient before clipping");
    expect_near(read("a"), column(&Number::w, 0, 3), tolerance(), "a, step " + std::to_string(t));
    expect_near(read("b"), column(&Number::w, 3, 2), tolerance(), "b, step " + std::to_string(t));
    if (c.spec.weight_average > 0) {
      expect_near(read("a:average"), column(&Number::average, 0, 3), tolerance(), "average of a");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Conformance, OptimizerTest,
                         testing::Combine(both_dtypes(), testing::ValuesIn(all_cases())),
                         [](const auto& info) {
                           return std::get<1>(info.param).name + "_" +
                                  std::string(name_of(std::get<0>(info.param)));
                         });

using OptimizerStateTest = EngineTest;

ProgramSpec momentum_program(DType dtype) {
  UpdateCase c = base_case("momentum", rule_of(Rule::kMomentum));
  c.spec.optimizer.momentum = 0.5;
  return linear_program(c, dtype);
}

TEST_P(OptimizerStateTest, IsAVariableThatCanBeReadAndSet) {
  load({{momentum_program(dtype())}});
  if (!bundle_) return;
  EXPECT_EQ(values_of(read("a:velocity")), (std::vector<double>{0, 0, 0})) << "starts at zero";
  write("a", tensor({3}, {0, 0, 0}));
  write("b", tensor({2}, {0, 0}));
  write("a:velocity", tensor({3}, {8, 0, 0}));
  run(0, {tensor({3}, {1, 2, 3}), tensor({2}, {0, 0})}, {{1, 1}});
  expect_near(read("a:velocity"), {5, 2, 3});
  expect_near(read("a"), {-5, -2, -3});
}

TEST_P(OptimizerStateTest, OnlyTheNamedWeightsChange) {
  ProgramSpec program = momentum_program(dtype());
  program.updates[0].weights = {{"b", 1, 1}};
  load({{program}});
  if (!bundle_) return;
  write("a", tensor({3}, {1, 1, 1}));
  write("b", tensor({2}, {1, 1}));
  run(0, {tensor({3}, {1, 2, 3}), tensor({2}, {1, 2})}, {{0.5, 1}});
  EXPECT_EQ(values_of(read("a")), (std::vector<double>{1, 1, 1}));
  expect_near(read("b"), {0.5, 0});
}

TEST_P(OptimizerStateTest, TwoOptimizersOfOneProgramHaveTheirOwnRates) {
  ProgramSpec program = momentum_program(dtype());
  UpdateSpec second;
  second.weights = {{"b", 1, 1}};
  program.updates[0].weights = {{"a", 1, 1}};
  program.updates.push_back(second);
  load({{program}});
  if (!bundle_) return;
  write("a", tensor({3}, {0, 0, 0}));
  write("b", tensor({2}, {0, 0}));
  run(0, {tensor({3}, {1, 2, 3}), tensor({2}, {1, 2})}, {{0.5, 1}, {0.25, 1}});
  expect_near(read("a"), {-0.5, -1, -1.5});
  expect_near(read("b"), {-0.25, -0.5});
}

TEST_P(OptimizerStateTest, AnUpdateOfAWeightWithoutGradientIsAnErrorAtLoad) {
  ProgramSpec program = momentum_program(dtype());
  program.backward->wrt = {"a"};
  EXPECT_FALSE(engine_->load({{program}}).ok());
}

INSTANTIATE_TEST_SUITE_P(Conformance, OptimizerStateTest, both_dtypes(), dtype_name);

}  // namespace
}  // namespace gradstone::conformance
