// SPDX-License-Identifier: Apache-2.0
// Ten updates of every rule and every field against the formulas of recipe/optimizer.h, number by
// number and in double.
#include "protocol/update_formulas.h"
#include "tests/conformance/support.h"

namespace gradstone::conformance {
namespace {

// Gradient number i of step t: both signs, several magnitudes, no repetition.
double gradient_at(int t, int i) { return std::sin(1.7 * t + 2.3 * i) * (i == 1 ? 3.0 : 0.5); }
double rate_at(int t) { return 0.05 / (1 + 0.3 * t); }

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

  std::vector<double> column(double UpdatedNumber::*field, std::size_t first,
                             std::size_t count) const {
    std::vector<double> values;
    for (std::size_t i = first; i < first + count; ++i) values.push_back(numbers_[i].*field);
    return values;
  }

  std::vector<UpdatedNumber> numbers_;  // a[0..2], b[0..1]
};

TEST_P(OptimizerTest, TenUpdatesFollowTheFormulas) {
  const UpdateCase& c = std::get<1>(GetParam());
  const ProgramSpec program = linear_program(c, dtype());
  load({{program}});
  if (!bundle_) return;
  for (const double w : {1.0, -0.5, 0.25, 2.0, -1.0}) {
    numbers_.push_back(number_at_start(c.spec.optimizer, w));
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
      update_number(c.spec, numbers_[i],
                    clipped_gradient(c.spec.gradient_clip, g[i], std::sqrt(squares)),
                    program.updates[0].weights[i < 3 ? 0 : 1], arguments);
    }
    const auto fetched =
        run(0, {tensor({3}, {g[0], g[1], g[2]}), tensor({2}, {g[3], g[4]})}, {arguments});
    expect_near(fetched[1], {g[0], g[1], g[2]}, tolerance(), "the gradient before clipping");
    expect_near(read("a"), column(&UpdatedNumber::w, 0, 3), tolerance(),
                "a, step " + std::to_string(t));
    expect_near(read("b"), column(&UpdatedNumber::w, 3, 2), tolerance(),
                "b, step " + std::to_string(t));
    if (c.spec.weight_average > 0) {
      expect_near(read("a:average"), column(&UpdatedNumber::average, 0, 3), tolerance(),
                  "average of a");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Conformance, OptimizerTest,
                         testing::Combine(both_dtypes(), testing::ValuesIn(update_cases())),
                         [](const auto& info) {
                           return std::get<1>(info.param).name + "_" +
                                  std::string(name_of(std::get<0>(info.param)));
                         });

using OptimizerStateTest = EngineTest;

ProgramSpec momentum_program(DType dtype) {
  UpdateCase c;
  c.spec.optimizer.rule = Rule::kMomentum;
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
