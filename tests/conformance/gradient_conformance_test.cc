// SPDX-License-Identifier: Apache-2.0
// Values and gradients that a program can be asked for.
#include "graph/differentiate.h"
#include "tests/conformance/support.h"

namespace gradstone::conformance {
namespace {

using GradientRequestTest = EngineTest;

// h = x w, y = tanh(h), loss = sum(y^2). By hand: dloss/dh = 2 y (1 - y^2).
TestGraph squares_of_tanh(DType dtype) {
  TestGraph g(dtype);
  g.input("x", {3});
  g.weight("w", {3});
  g.node("h", "Mul", {"x", "w"});
  g.node("y", "Tanh", {"h"});
  g.node("squares", "Mul", {"y", "y"});
  g.sum("loss", "squares");
  return g;
}

TEST_P(GradientRequestTest, AnyNamedValueIsAnOutput) {
  const TestGraph g = squares_of_tanh(dtype());
  load({{{"p", g.graph, Mode::kTraining, {"loss", "h", "x", "w", "y"}, {}, {}}}});
  if (!bundle_) return;
  write("w", tensor({3}, {2, 2, 2}));
  const auto values = run(0, {tensor({3}, {0.5, 0, -1})});
  const double a = std::tanh(1.0), b = std::tanh(-2.0);
  expect_near(values[0], {a * a + b * b});
  expect_near(values[1], {1, 0, -2});
  expect_near(values[2], {0.5, 0, -1});
  expect_near(values[3], {2, 2, 2});
  expect_near(values[4], {a, 0, b});
}

TEST_P(GradientRequestTest, OfAScalarWithRespectToWeightsAndInputs) {
  ProgramSpec program{"p", squares_of_tanh(dtype()).graph, Mode::kTraining, {"loss"}, {}, {}};
  program.backward = BackwardSpec{{"loss"}, false, {"w", "x"}};
  load({{program}});
  if (!bundle_) return;
  write("w", tensor({3}, {2, 3, 4}));
  const auto values = run(0, {tensor({3}, {0.5, 0, -0.25})});
  const auto slope = [](double h) { return 2 * std::tanh(h) * (1 - std::pow(std::tanh(h), 2)); };
  expect_near(values[1], {slope(1) * 0.5, 0, slope(-1) * -0.25}, tolerance(), "dw");
  expect_near(values[2], {slope(1) * 2, 0, slope(-1) * 4}, tolerance(), "dx");
}

TEST_P(GradientRequestTest, FromAFedCotangent) {
  ProgramSpec program{"p", squares_of_tanh(dtype()).graph, Mode::kTraining, {}, {}, {}};
  program.backward = BackwardSpec{{"y"}, true, {"x"}};
  load({{program}});
  if (!bundle_) return;
  write("w", tensor({3}, {2, 2, 2}));
  const auto values = run(0, {tensor({3}, {0.5, 0, 1}), tensor({3}, {1, 10, 0})});
  expect_near(values[0], {2 * (1 - std::pow(std::tanh(1.0), 2)), 20, 0});
}

TEST_P(GradientRequestTest, FromSeveralValuesAddsUp) {
  ProgramSpec program{"p", squares_of_tanh(dtype()).graph, Mode::kTraining, {}, {}, {}};
  program.backward = BackwardSpec{{"h", "y"}, true, {"x"}};
  load({{program}});
  if (!bundle_) return;
  write("w", tensor({3}, {2, 2, 2}));
  const auto values =
      run(0, {tensor({3}, {0.5, 0, 1}), tensor({3}, {5, 6, 7}), tensor({3}, {1, 10, 0})});
  expect_near(values[0], {10 + 2 * (1 - std::pow(std::tanh(1.0), 2)), 32, 14});
}

TEST_P(GradientRequestTest, AnIndependentWeightHasAGradientOfZeros) {
  TestGraph g = squares_of_tanh(dtype());
  g.weight("other", {2});
  ProgramSpec program{"p", g.graph, Mode::kTraining, {}, {}, {}};
  program.backward = BackwardSpec{{"loss"}, false, {"other"}};
  load({{program}});
  if (!bundle_) return;
  write("w", tensor({3}, {2, 2, 2}));
  write("other", tensor({2}, {1, 1}));
  EXPECT_EQ(values_of(run(0, {tensor({3}, {1, 2, 3})})[0]), (std::vector<double>{0, 0}));
}

TEST_P(GradientRequestTest, AUsedTwiceValueGetsBothContributions) {
  TestGraph g(dtype());
  g.weight("w", {2});
  g.node("square", "Mul", {"w", "w"});
  g.node("cube", "Mul", {"square", "w"});
  g.node("both", "Add", {"square", "cube"});
  g.sum("loss", "both");
  ProgramSpec program{"p", g.graph, Mode::kTraining, {}, {}, {}};
  program.backward = BackwardSpec{{"loss"}, false, {"w"}};
  load({{program}});
  if (!bundle_) return;
  write("w", tensor({2}, {2, -1}));
  expect_near(run(0, {})[0], {2 * 2 + 3 * 4, -2 + 3});
}

TEST_P(GradientRequestTest, BackwardFromAValueThatIsNoScalarNeedsACotangent) {
  ProgramSpec program{"p", squares_of_tanh(dtype()).graph, Mode::kTraining, {}, {}, {}};
  program.backward = BackwardSpec{{"y"}, false, {"x"}};
  EXPECT_FALSE(engine_->load({{program}}).ok());
}

// p = sum over i of (d/dx_i sum x^3)^2 = sum 9 x^4, so dp/dx = 36 x^3.
TEST_P(GradientRequestTest, OfAGradient) {
  if (!engine_->describe().second_order) GTEST_SKIP() << "the engine has no second order";
  TestGraph g(dtype());
  g.input("x", {3});
  g.node("square", "Mul", {"x", "x"});
  g.node("cube", "Mul", {"square", "x"});
  g.sum("total", "cube");
  const auto first = differentiate(g.graph, {"total"}, {"x"});
  ASSERT_TRUE(first.ok()) << first.error().message;
  TestGraph second(dtype());
  second.graph = first->graph;
  second.node("penalty_terms", "Mul", {first->gradients[0], first->gradients[0]});
  second.sum("penalty", "penalty_terms");
  ProgramSpec program{"p", second.graph, Mode::kTraining, {"penalty"}, {}, {}};
  program.backward = BackwardSpec{{"penalty"}, false, {"x"}};
  load({{program}});
  if (!bundle_) return;
  const auto values = run(0, {tensor({3}, {1, -2, 0.5}), tensor({}, {1})});
  expect_near(values[0], {9 * (1 + 16 + 0.0625)}, tolerance(), "penalty");
  expect_near(values[1], {36, 36 * -8, 36 * 0.125}, tolerance(), "gradient");
}

INSTANTIATE_TEST_SUITE_P(Conformance, GradientRequestTest, both_dtypes(), dtype_name);

}  // namespace
}  // namespace gradstone::conformance
