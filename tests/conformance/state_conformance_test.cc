// SPDX-License-Identifier: Apache-2.0
// What a run leaves behind or draws by itself: running statistics, and native dropout.
#include "tests/conformance/support.h"

namespace gradstone::conformance {
namespace {

class BatchNormTest : public EngineTest {
 protected:
  // Batch norm of [4, 1]; momentum 0.75, that is a quarter of the batch's statistics.
  Graph graph(const std::string& running_variance) const {
    TestGraph g(dtype());
    g.input("x", {4, 1});
    g.weight("scale", {1});
    g.weight("shift", {1});
    g.weight("mean", {1}, false);
    g.weight("variance", {1}, false);
    Graph graph = g.graph;
    graph.nodes.push_back({"bn",
                           "BatchNormalization",
                           "",
                           {"x", "scale", "shift", "mean", "variance"},
                           {"y", "next_mean", "next_variance"},
                           {{"training_mode", std::int64_t{1}},
                            {"momentum", 0.75},
                            {"epsilon", 0.5},
                            {"running_variance", running_variance}}});
    graph.state_updates = {{"mean", "next_mean"}, {"variance", "next_variance"}};
    return graph;
  }
  void load_bn(const std::string& running_variance) {
    load({{{"bn", graph(running_variance), Mode::kTraining, {"y"}, {}, {}}}});
    if (!bundle_) return;
    write("scale", tensor({1}, {2}));
    write("shift", tensor({1}, {10}));
    write("mean", tensor({1}, {4}));
    write("variance", tensor({1}, {8}));
  }
  // Mean 3; squares of the differences 4, 1, 0, 9: variance 3.5 of the population, 14/3 of the
  // sample.
  Tensor batch() const { return tensor({4, 1}, {1, 2, 3, 6}); }
};

TEST_P(BatchNormTest, NormalizesWithTheStatisticsOfTheBatch) {
  load_bn("population");
  if (!bundle_) return;
  const double scale = 2 / std::sqrt(3.5 + 0.5);
  expect_near(run(0, {batch()})[0], {10 - 2 * scale, 10 - scale, 10, 10 + 3 * scale});
}

TEST_P(BatchNormTest, GathersThePopulationVariance) {
  load_bn("population");
  if (!bundle_) return;
  run(0, {batch()});
  expect_near(read("mean"), {0.75 * 4 + 0.25 * 3});
  expect_near(read("variance"), {0.75 * 8 + 0.25 * 3.5});
  run(0, {batch()});
  expect_near(read("mean"), {0.75 * 3.75 + 0.25 * 3});
}

TEST_P(BatchNormTest, GathersTheSampleVariance) {
  load_bn("sample");
  if (!bundle_) return;
  run(0, {batch()});
  expect_near(read("mean"), {0.75 * 4 + 0.25 * 3});
  expect_near(read("variance"), {0.75 * 8 + 0.25 * 14 / 3});
}

// y = scale (x - mean) / s + shift. With cotangent e_0 the gradient with respect to x is
// scale / s (delta_i0 - 1/4 - d_0 d_i / (4 s^2)), d = x - mean, s^2 = variance + epsilon.
TEST_P(BatchNormTest, DifferentiatesThroughTheStatistics) {
  ProgramSpec program{"bn", graph("population"), Mode::kTraining, {}, {}, {}};
  program.backward = BackwardSpec{{"y"}, true, {"x", "scale", "shift"}};
  load({{program}});
  if (!bundle_) return;
  write("scale", tensor({1}, {2}));
  write("shift", tensor({1}, {10}));
  write("mean", tensor({1}, {4}));
  write("variance", tensor({1}, {8}));
  const auto values = run(0, {batch(), tensor({4, 1}, {1, 0, 0, 0})});
  const double d[] = {-2, -1, 0, 3};
  std::vector<double> dx;
  for (int i = 0; i < 4; ++i) {
    dx.push_back(2 / 2.0 * ((i == 0 ? 1 : 0) - 0.25 - d[0] * d[i] / 16));
  }
  expect_near(values[0], dx, tolerance(), "dx");
  expect_near(values[1], {-1}, tolerance(), "dscale");
  expect_near(values[2], {1}, tolerance(), "dshift");
}

INSTANTIATE_TEST_SUITE_P(Conformance, BatchNormTest, both_dtypes(), dtype_name);

class DropoutTest : public EngineTest {
 protected:
  static constexpr std::int64_t kElements = 10000;

  void load_dropout() {
    if (!engine_->describe().native_dropout) {
      GTEST_SKIP() << "the engine has no dropout of its own";
    }
    TestGraph g(dtype());
    g.input("x", {kElements});
    g.constant("ratio", 0.25);
    const bool on = true;
    g.constant("on", Tensor::of<bool>({}, std::span<const bool>(&on, 1)));
    g.node("y", "Dropout", {"x", "ratio", "on"});
    ProgramSpec program{"dropout", g.graph, Mode::kTraining, {"y"}, {}, {}};
    program.backward = BackwardSpec{{"y"}, true, {"x"}};
    load({{program}});
  }
  Tensor ones() const {
    return tensor({kElements}, std::vector<double>(static_cast<std::size_t>(kElements), 1.0));
  }
};

TEST_P(DropoutTest, DropsAboutTheRatioAndScalesTheRest) {
  load_dropout();
  if (!bundle_) return;
  const std::vector<double> y = values_of(run(0, {ones(), ones()})[0]);
  std::int64_t dropped = 0;
  for (const double value : y) {
    if (value == 0) {
      ++dropped;
    } else {
      EXPECT_NEAR(value, 1 / 0.75, 1e-6);
    }
  }
  // Six standard deviations, sqrt(n p q), around the mean.
  EXPECT_NEAR(static_cast<double>(dropped), 0.25 * kElements,
              6 * std::sqrt(0.25 * 0.75 * kElements));
}

TEST_P(DropoutTest, TheGradientGoesThroughTheSameMask) {
  load_dropout();
  if (!bundle_) return;
  const auto values = run(0, {ones(), ones()});
  EXPECT_EQ(values_of(values[0]), values_of(values[1]));
}

TEST_P(DropoutTest, EveryRunDrawsAnotherMask) {
  load_dropout();
  if (!bundle_) return;
  EXPECT_NE(values_of(run(0, {ones(), ones()})[0]), values_of(run(0, {ones(), ones()})[0]));
}

INSTANTIATE_TEST_SUITE_P(Conformance, DropoutTest, both_dtypes(), dtype_name);

using ProfileTest = EngineTest;

TEST_P(ProfileTest, NamesTheNodesOfAllPhases) {
  TestGraph g(dtype());
  g.input("x", {64, 64});
  g.weight("w", {64, 64});
  g.node("product", "MatMul", {"x", "w"});
  g.node("active", "Tanh", {"product"});
  g.mean("loss", "active");
  load({{training_program("p", g, "loss", {"w"}, Optimizer{})}});
  if (!bundle_) return;
  const Tensor x = tensor({64, 64}, std::vector<double>(64 * 64, 0.01));
  write("w", x);
  const Status begun = engine_->begin_profile();
  if (!begun.ok() && begun.error().kind == ErrorKind::kUnsupported) {
    GTEST_SKIP() << begun.error().message;
  }
  ASSERT_TRUE(begun.ok()) << begun.error().message;
  run(0, {x}, {{0.1, 1}});
  const auto events = engine_->end_profile();
  ASSERT_TRUE(events.ok()) << events.error().message;
  EXPECT_FALSE(events->empty());
  std::map<Phase, int> phases;
  for (const ProfileEvent& event : *events) {
    EXPECT_GE(event.duration_ns, 0);
    ++phases[event.phase];
  }
  if (engine_->describe().node_hooks) {
    const auto names = [&](const std::string& node, Phase phase) {
      return std::any_of(events->begin(), events->end(), [&](const ProfileEvent& event) {
        return event.node == node && event.phase == phase;
      });
    };
    for (const Phase phase : {Phase::kForward, Phase::kBackward}) {
      EXPECT_TRUE(names("product", phase)) << static_cast<int>(phase);
      EXPECT_TRUE(names("active", phase)) << static_cast<int>(phase);
    }
  }
  if (engine_->describe().separable_phases) {
    EXPECT_GT(phases[Phase::kForward], 0);
    EXPECT_GT(phases[Phase::kBackward], 0);
    EXPECT_GT(phases[Phase::kUpdate], 0);
  }
  run(0, {x}, {{0.1, 2}});
  EXPECT_FALSE(engine_->end_profile().ok()) << "nothing was begun";
}

INSTANTIATE_TEST_SUITE_P(Conformance, ProfileTest, both_dtypes(), dtype_name);

}  // namespace
}  // namespace gradstone::conformance
