// SPDX-License-Identifier: Apache-2.0
#include "conformance/gradient_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/scalar_function.h"

namespace gradstone {
namespace {

using ::testing::HasSubstr;
using Tensors = std::map<std::string, Tensor>;

Tensor floats(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

// y = op(x), x = {-1, 0, 2}
PreparedCase case_of(const std::string& op) {
  PreparedCase prepared;
  prepared.name = "node/" + op;
  prepared.graph.name = op;
  prepared.graph.inputs = {{"x", {DType::kFloat32, {3}}}};
  prepared.graph.nodes = {{"n", op, "", {"x"}, {"y"}, {}}};
  prepared.graph.outputs = {"y"};
  prepared.feeds["x"] = floats({-1, 0, 2});
  return prepared;
}
GradientProblem problem_of(const PreparedCase& prepared) {
  return std::move(*GradientProblem::make(prepared).value());
}

TEST(GradientProblem, FeedsCotangentsAndAsksForGradients) {
  const GradientProblem problem = problem_of(case_of("Relu"));
  const BackwardSpec& backward = *problem.program().backward;
  EXPECT_EQ(backward.from, (std::vector<std::string>{"y"}));
  EXPECT_EQ(backward.wrt, (std::vector<std::string>{"x"}));
  EXPECT_TRUE(backward.fed_cotangents);
  EXPECT_EQ(problem.feeds().size(), 2u);
  for (const float c : problem.feeds().at("cotangent/y").as<float>()) {
    EXPECT_GE(std::abs(c), 0.5f);
    EXPECT_LE(std::abs(c), 1.5f);
  }
}

TEST(GradientProblem, ARightGradientIsAcceptedAndAWrongOneIsNot) {
  const GradientProblem problem = problem_of(case_of("Relu"));
  const auto c = problem.feeds().at("cotangent/y").as<float>();
  std::string remark;
  EXPECT_EQ(problem.difference({{"x", floats({0, 0, c[2]})}}, remark), std::nullopt);
  EXPECT_EQ(remark, "");
  EXPECT_THAT(problem.difference({{"x", floats({0, 0, 1.001f * c[2]})}}, remark).value(),
              HasSubstr("gradient of 'x': 1 of 3 elements are off, most at [2]"));
  EXPECT_THAT(problem.difference({{"x", floats({c[0], 0, c[2]})}}, remark).value(),
              HasSubstr("most at [0]"));
  EXPECT_THAT(problem.difference({}, remark).value(), HasSubstr("none came"));
  EXPECT_THAT(problem.difference({{"x", floats({0, 0})}}, remark).value(),
              HasSubstr("is float32 [2], expected float32 [3]"));
}

TEST(GradientProblem, AtAKinkEverySlopeBetweenIsRight) {
  const GradientProblem problem = problem_of(case_of("Relu"));
  const auto c = problem.feeds().at("cotangent/y").as<float>();
  std::string remark;
  EXPECT_EQ(problem.difference({{"x", floats({0, c[1], c[2]})}}, remark), std::nullopt);
  EXPECT_EQ(remark, "1 elements at a kink");
  EXPECT_EQ(problem.difference({{"x", floats({0, c[1] / 2, c[2]})}}, remark), std::nullopt);
  EXPECT_NE(problem.difference({{"x", floats({0, c[1] * 2, c[2]})}}, remark), std::nullopt);
  EXPECT_NE(problem.difference({{"x", floats({0, -c[1], c[2]})}}, remark), std::nullopt);
}

TEST(GradientProblem, WhereItJumpsThereIsNoSlope) {
  const GradientProblem problem = problem_of(case_of("Sign"));
  std::string remark;
  EXPECT_EQ(problem.difference({{"x", floats({0, 17, 0})}}, remark), std::nullopt);
  EXPECT_NE(problem.difference({{"x", floats({0, 0, 1})}}, remark), std::nullopt);
  EXPECT_EQ(problem.finite_difference().value(), std::nullopt);
}

TEST(GradientProblem, TheReferenceAgreesWithFiniteDifferences) {
  for (const char* op : {"Relu", "Sigmoid", "Tanh", "Softmax"}) {
    EXPECT_EQ(problem_of(case_of(op)).finite_difference().value(), std::nullopt) << op;
  }
}

TEST(GradientProblem, ThereIsNoneWhereNothingFloatingDependsOnAnything) {
  PreparedCase prepared = case_of("Relu");
  prepared.graph.inputs[0].type.dtype = DType::kInt64;
  prepared.graph.nodes[0] = {"n", "Cast", "", {"x"}, {"y"}, {{"to", std::int64_t{1}}}};
  prepared.feeds["x"] = Tensor({DType::kInt64, {3}});
  EXPECT_FALSE(GradientProblem::make(prepared).value().has_value());
}

// F = c0 x0^2 + c1 x1^2 + c2 x2^2
TEST(ScalarFunction, SlopesAreDerivatives) {
  Graph graph;
  graph.inputs = {{"x", {DType::kFloat64, {3}}}};
  graph.nodes = {{"n", "Mul", "", {"x", "x"}, {"y"}, {}}};
  graph.outputs = {"y"};
  const Tensor x = Tensor::of<double>({3}, std::vector<double>{-1, 0, 1000});
  const Tensor c = Tensor::of<double>({3}, std::vector<double>{1, 2, -3});
  const auto function = ScalarFunction::make(graph, {"y"}, {{"x", x}}, {{"y", c}}).value();
  EXPECT_NEAR(slopes_at(*function, "x", 0, 1e-6).value().central(), -2, 1e-8);
  EXPECT_NEAR(slopes_at(*function, "x", 1, 1e-6).value().central(), 0, 1e-8);
  EXPECT_NEAR(slopes_at(*function, "x", 2, 1e-6).value().central(), -6000, 1e-4);
  EXPECT_EQ(function->element("x", 2), 1000) << "moved back";
}

}  // namespace
}  // namespace gradstone
