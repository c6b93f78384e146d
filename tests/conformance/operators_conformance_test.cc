// SPDX-License-Identifier: Apache-2.0
// Every operator: values against results by hand, gradients against finite differences of the
// values.
#include "tests/conformance/operator_cases.h"

namespace gradstone::conformance {
namespace {

class OperatorTestBase : public EngineTestBase {
 protected:
  // A graph of one node, `y`. Feeds follow in feeds_; differentiable inputs in fed_.
  Graph graph_of(const OperatorCase& c) {
    TestGraph g(dtype());
    std::vector<std::string> names;
    for (const Operand& operand : c.operands) {
      const std::string name = "x" + std::to_string(names.size());
      names.push_back(operand.kind == Operand::Kind::kAbsent ? "" : name);
      const std::vector<std::int64_t> whole(operand.values.begin(), operand.values.end());
      switch (operand.kind) {
        case Operand::Kind::kFed:
          g.input(name, operand.shape);
          fed_.push_back(name);
          fed_positions_.push_back(feeds_.size());
          feeds_.push_back(tensor(operand.shape, operand.values));
          break;
        case Operand::Kind::kFixed:
          g.input(name, operand.shape);
          feeds_.push_back(tensor(operand.shape, operand.values));
          break;
        case Operand::Kind::kFedIndices:
          g.graph.inputs.push_back({name, {DType::kInt64, operand.shape}});
          feeds_.push_back(integers(operand.shape, whole));
          break;
        case Operand::Kind::kIntegers:
          g.constant(name, integers(operand.shape, whole));
          break;
        case Operand::Kind::kNumber:
          g.constant(name, operand.values[0]);
          break;
        case Operand::Kind::kAbsent:
          break;
      }
    }
    g.node("y", c.op, names, c.attributes);
    return g.graph;
  }

  // <cotangent, y> at feeds_ with element `index` of feed `feed` set to `value`.
  double probe(std::size_t feed, std::size_t index, double value,
               const std::vector<double>& cotangent) {
    std::vector<Tensor> feeds = feeds_;
    std::vector<double> values = values_of(feeds[feed]);
    values[index] = value;
    feeds[feed] = tensor(feeds[feed].shape(), values);
    const std::vector<double> y = values_of(run(0, feeds)[0]);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += cotangent[i] * y[i];
    return sum;
  }

  std::vector<Tensor> feeds_;
  std::vector<std::string> fed_;
  std::vector<std::size_t> fed_positions_;
};

class OperatorTest : public OperatorTestBase,
                     public testing::WithParamInterface<std::tuple<DType, OperatorCase>> {
 protected:
  void SetUp() override { start(std::get<0>(GetParam())); }
};

TEST_P(OperatorTest, ValuesAreThoseFoundByHand) {
  const OperatorCase& c = std::get<1>(GetParam());
  load({{{c.name, graph_of(c), Mode::kInference, {"y"}, {}, {}}}});
  if (!bundle_) return;
  const Tensor y = run(0, feeds_)[0];
  EXPECT_EQ(y.shape(), c.shape);
  expect_near(y, c.expected);
}

INSTANTIATE_TEST_SUITE_P(Conformance, OperatorTest,
                         testing::Combine(both_dtypes(), testing::ValuesIn(operator_cases())),
                         [](const auto& info) {
                           return std::get<1>(info.param).name + "_" +
                                  std::string(name_of(std::get<0>(info.param)));
                         });

// In float64 alone: central differences with h = 1e-5 have an error of some 1e-10.
class OperatorGradientTest : public OperatorTestBase,
                             public testing::WithParamInterface<OperatorCase> {
 protected:
  void SetUp() override { start(DType::kFloat64); }
};

TEST_P(OperatorGradientTest, IsThatOfFiniteDifferences) {
  const OperatorCase& c = GetParam();
  ProgramSpec forward{"forward", graph_of(c), Mode::kTraining, {"y"}, {}, {}};
  ProgramSpec backward = forward;
  backward.name = "backward";
  backward.backward = BackwardSpec{{"y"}, true, fed_};
  load({{forward, backward}});
  if (!bundle_) return;
  std::vector<double> cotangent;
  for (std::size_t i = 0; i < c.expected.size(); ++i) {
    cotangent.push_back(1 + 0.5 * static_cast<double>(i));
  }
  std::vector<Tensor> feeds = feeds_;
  feeds.push_back(tensor(c.shape, cotangent));
  const std::vector<Tensor> values = run(1, feeds);
  constexpr double kStep = 1e-5;
  for (std::size_t input = 0; input < fed_.size(); ++input) {
    const std::size_t feed = fed_positions_[input];
    const std::vector<double> at = values_of(feeds_[feed]);
    std::vector<double> slopes;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double above = probe(feed, i, at[i] + kStep, cotangent);
      slopes.push_back((above - probe(feed, i, at[i] - kStep, cotangent)) / (2 * kStep));
    }
    expect_near(values[1 + input], slopes, 1e-6, fed_[input]);
  }
}

INSTANTIATE_TEST_SUITE_P(Conformance, OperatorGradientTest, testing::ValuesIn(operator_cases()),
                         [](const auto& info) { return info.param.name; });

using DataErrorTest = EngineTest;

TEST_P(DataErrorTest, AnIndexOutOfRangeFailsTheRunAndNothingElse) {
  TestGraph g(dtype());
  g.input("x", {2, 2});
  g.graph.inputs.push_back({"rows", {DType::kInt64, {1}}});
  g.node("picked", "Gather", {"x", "rows"});
  load({{{"p", g.graph, Mode::kInference, {"picked"}, {}, {}}}});
  if (!bundle_) return;
  const Tensor x = tensor({2, 2}, {1, 2, 3, 4});
  for (const std::int64_t row : {2, -3}) {
    std::vector<Tensor> fetched = {tensor({1, 2}, {0, 0})};
    const Status status = try_run(0, {x, integers({1}, {row})}, {}, fetched);
    ASSERT_FALSE(status.ok()) << "row " << row;
    EXPECT_EQ(status.error().kind, ErrorKind::kFailed);
    EXPECT_NE(status.error().message.find("picked"), std::string::npos) << status.error().message;
  }
  expect_near(run(0, {x, integers({1}, {1})})[0], {3, 4});
}

TEST_P(DataErrorTest, ALabelOutOfRangeFailsTheRunAndNothingElse) {
  TestGraph g(dtype());
  g.input("x", {1, 2});
  g.graph.inputs.push_back({"label", {DType::kInt64, {1}}});
  g.node("loss", "SoftmaxCrossEntropyLoss", {"x", "label"});
  load({{{"p", g.graph, Mode::kInference, {"loss"}, {}, {}}}});
  if (!bundle_) return;
  const Tensor x = tensor({1, 2}, {0, 0});
  for (const std::int64_t label : {2, -1}) {
    std::vector<Tensor> fetched = {tensor({}, {0})};
    const Status status = try_run(0, {x, integers({1}, {label})}, {}, fetched);
    ASSERT_FALSE(status.ok()) << "label " << label;
    EXPECT_EQ(status.error().kind, ErrorKind::kFailed);
    EXPECT_NE(status.error().message.find("loss"), std::string::npos) << status.error().message;
  }
  expect_near(run(0, {x, integers({1}, {1})})[0], {std::log(2.0)});
}

INSTANTIATE_TEST_SUITE_P(Conformance, DataErrorTest, both_dtypes(), dtype_name);

}  // namespace
}  // namespace gradstone::conformance
