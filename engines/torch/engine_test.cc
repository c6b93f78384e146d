// SPDX-License-Identifier: Apache-2.0
// What is particular to this engine: its options, its facts, what it overwrites in place, and how
// the framework's exceptions come out. The engine interface itself: tests/conformance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engines/torch/support.h"
#include "tests/conformance/support.h"

namespace gradstone {
namespace {

using conformance::TestGraph;
using ::testing::HasSubstr;

EngineOptions with_math(const std::string& math) {
  EngineOptions options;
  options.math = math;
  return options;
}

TEST(TorchOptions, RefusesWhatTheBuildLacks) {
  EngineOptions options;
  options.device = "cuda:0";
  const auto on_gpu = make_engine(options);
  ASSERT_FALSE(on_gpu.ok());
  EXPECT_EQ(on_gpu.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(on_gpu.error().message, HasSubstr("cuda:0"));
  const auto other_math = make_engine(with_math("abacus"));
  ASSERT_FALSE(other_math.ok());
  EXPECT_THAT(other_math.error().message, HasSubstr("'onednn' and 'native'"));
}

TEST(TorchOptions, FactsSayWhichKernelsAndThreadsAreUsed) {
  const std::pair<const char*, const char*> expected[] = {
      {"", "on"}, {"onednn", "on"}, {"native", "off"}};
  for (const auto& [math, onednn] : expected) {
    EngineOptions options = with_math(math);
    options.threads = 2;
    const auto engine = make_engine(options);
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    const auto& facts = (*engine)->describe().facts;
    EXPECT_EQ(facts.at("onednn"), onednn) << math;
    EXPECT_EQ(facts.at("threads"), "2");
    EXPECT_NE(facts.at("blas"), "unknown");
    EXPECT_THAT(facts.at("openmp"), HasSubstr("gomp"));
  }
}

class TorchProgram : public conformance::EngineTestBase {
 protected:
  void SetUp() override { start(DType::kFloat64); }
};

// Relu and Add write into what Conv or BatchNormalization made, unless somebody else wants that.
TEST_F(TorchProgram, AValueThatSomebodyElseReadsIsNotOverwritten) {
  TestGraph g(DType::kFloat64);
  g.input("x", {1, 1, 2, 2});
  g.weight("w", {1, 1, 1, 1});
  g.node("conv", "Conv", {"x", "w"});
  g.node("relu", "Relu", {"conv"});
  g.node("sum", "Add", {"relu", "conv"});
  const Tensor x = tensor({1, 1, 2, 2}, {1, -2, 3, -4});
  load({{{"read twice", g.graph, Mode::kTraining, {"sum"}, {}, {}},
         {"fetched", g.graph, Mode::kTraining, {"conv", "relu"}, {}, {}}}});
  write("w", tensor({1, 1, 1, 1}, {2}));
  expect_near(run(0, {x})[0], {4, -4, 12, -8});
  const auto both = run(1, {x});
  expect_near(both[0], {2, -4, 6, -8});
  expect_near(both[1], {2, 0, 6, 0});
  expect_near(run(1, {x})[0], {2, -4, 6, -8});
}

TEST_F(TorchProgram, AFeedIsNeverOverwritten) {
  TestGraph g(DType::kFloat64);
  g.input("x", {2});
  g.weight("w", {2});
  g.node("relu", "Relu", {"x"});
  g.node("y", "Add", {"w", "relu"});
  load({{{"p", g.graph, Mode::kTraining, {"y"}, {}, {}}}});
  write("w", tensor({2}, {1, 1}));
  const Tensor x = tensor({2}, {-1, 2});
  expect_near(run(0, {x})[0], {1, 3});
  expect_near(x, {-1, 2});
  expect_near(read("w"), {1, 1});
}

// Autograd hands one tensor to both terms of a sum: clipping it for one must not clip it twice.
TEST_F(TorchProgram, GradientsThatShareATensorAreClippedOnceEach) {
  TestGraph g(DType::kFloat64);
  g.weight("a", {2});
  g.weight("b", {2});
  g.input("x", {2});
  g.node("terms", "Add", {"a", "b"});
  g.node("product", "Mul", {"terms", "x"});
  g.sum("loss", "product");
  Optimizer optimizer;
  optimizer.weight_decay = 1;
  ProgramSpec program = conformance::training_program("p", g, "loss", {"a", "b"}, optimizer);
  program.updates[0].gradient_clip = {GradientClip::Kind::kGlobalNorm, 1};
  load({{program}});
  write("a", tensor({2}, {0, 0}));
  write("b", tensor({2}, {1, 1}));
  // Both gradients are (3, 4); their common norm is sqrt(50), so that each becomes that over it.
  run(0, {tensor({2}, {3, 4})}, {{0.5, 1}});
  const double s = std::sqrt(50.0);
  expect_near(read("a"), {-1.5 / s, -2 / s});
  expect_near(read("b"), {1 - 0.5 * (3 / s + 1), 1 - 0.5 * (4 / s + 1)});
}

TEST_F(TorchProgram, AnExceptionOfTheFrameworkNamesTheNodeAndLeavesTheBundleUsable) {
  TestGraph g(DType::kFloat64);
  g.input("x", {1, 3});
  g.graph.inputs.push_back({"label", {DType::kInt64, {1}}});
  g.node("loss", "SoftmaxCrossEntropyLoss", {"x", "label"});
  load({{{"p", g.graph, Mode::kTraining, {"loss"}, {}, {}}}});
  const Tensor x = tensor({1, 3}, {0, 0, 0});
  std::vector<Tensor> fetched = {tensor({}, {0})};
  const Status status = try_run(0, {x, conformance::integers({1}, {3})}, {}, fetched);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              HasSubstr("program 'p': node loss (SoftmaxCrossEntropyLoss): "));
  EXPECT_THAT(status.error().message, Not(HasSubstr("\n")));
  expect_near(run(0, {x, conformance::integers({1}, {2})})[0], {std::log(3.0)});
}

// A GRU that resets its state before the product is not ATen's: it is expanded to many nodes, but
// the program has one.
TEST_F(TorchProgram, AnExpandedNodeIsOneNodeInProfiles) {
  TestGraph g(DType::kFloat64);
  g.input("x", {2, 1, 1});
  g.weight("w", {1, 3, 1});
  g.weight("r", {1, 3, 1});
  g.node("y", "GRU", {"x", "w", "r"});
  g.graph.nodes[0].name = "cell";
  load({{{"p", g.graph, Mode::kTraining, {"y"}, {}, {}}}});
  write("w", tensor({1, 3, 1}, {0, 0, 1}));
  write("r", tensor({1, 3, 1}, {0, 0, 0}));
  ASSERT_TRUE(engine_->begin_profile().ok());
  // Both gates are 1/2: h = (h + tanh(x)) / 2.
  const double first = std::tanh(1.0) / 2;
  expect_near(run(0, {tensor({2, 1, 1}, {1, 2})})[0], {first, (first + std::tanh(2.0)) / 2});
  const auto events = engine_->end_profile();
  ASSERT_TRUE(events.ok());
  ASSERT_GT(events->size(), 10u);
  for (const ProfileEvent& event : *events) {
    if (event.phase == Phase::kForward) EXPECT_EQ(event.node, "cell") << event.label;
  }
}

TEST(TorchErrors, AnAllocationThatCannotSucceedIsOutOfMemory) {
  const std::int64_t beyond_any_address_space = std::int64_t{1} << 50;
  const Status status = torch_engine::guarded([&]() -> Status {
    at::empty({beyond_any_address_space});
    return {};
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::kOutOfMemory) << status.error().message;
}

}  // namespace
}  // namespace gradstone
