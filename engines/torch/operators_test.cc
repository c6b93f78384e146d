// SPDX-License-Identifier: Apache-2.0
// Every operator with many attribute settings: values and gradients as the reference engine has
// them, whose own are tested by finite differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/differentiate.h"
#include "graph/testing/gradient_cases.h"
#include "kernels/evaluate.h"
#include "worker/engine.h"

namespace gradstone {
namespace {

using ::gradstone::testing::GradientCase;
using Named = std::map<std::string, Tensor>;

void expect_near(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(to_string(actual.type()), to_string(expected.type())) << what;
  for (std::int64_t i = 0; i < expected.type().elements(); ++i) {
    const double wanted = element_as_double(expected.ref(), i);
    const double tolerance = 1e-11 * std::max(1.0, std::abs(wanted));
    ASSERT_NEAR(element_as_double(actual.ref(), i), wanted, tolerance) << what << " element " << i;
  }
}

// Outputs, then gradients, by the engine; empty after a failure.
std::vector<Tensor> by_engine(Engine& engine, const ProgramSpec& program, const Named& values,
                              const std::vector<std::string>& feed_names,
                              const std::vector<Tensor>& expected) {
  auto bundle = engine.load({{program}});
  EXPECT_TRUE(bundle.ok()) << bundle.error().message;
  if (!bundle.ok()) return {};
  std::vector<TensorRef> feeds;
  for (const std::string& name : feed_names) feeds.push_back(values.at(name).ref());
  std::vector<Tensor> fetched;
  std::vector<TensorSink> sinks;
  for (const Tensor& value : expected) fetched.emplace_back(value.type());
  for (Tensor& value : fetched) sinks.push_back(value.sink());
  const Status status = (*bundle)->run({0, feeds, nullptr, sinks, {}});
  EXPECT_TRUE(status.ok()) << status.error().message;
  return status.ok() ? std::move(fetched) : std::vector<Tensor>{};
}

// A graph with a backward pass, which may be empty.
struct Pass {
  Graph graph;
  std::vector<std::string> from, wrt;
};

// The reference's way to compute both, as one graph.
Differentiated both_passes(const Pass& pass) {
  if (pass.wrt.empty()) return {pass.graph, {}};
  const auto both = differentiate(pass.graph, pass.from, pass.wrt);
  EXPECT_TRUE(both.ok()) << both.error().message;
  return both.ok() ? *both : Differentiated{};
}

// Graph input x<i> is the case's input i; the others are cotangents.
Named values_of(const GradientCase& test, const Graph& graph) {
  const Graph own = testing::graph_of(test);
  Named values;
  for (const GraphInput& input : graph.inputs) {
    const auto kind = own.find_input(input.name)
                          ? test.inputs[std::stoul(input.name.substr(1))]->values
                          : testing::Values::kAny;
    values.emplace(input.name, testing::case_tensor(input.type.shape, kind, input.name));
  }
  return values;
}

void check_pass(Engine& engine, const GradientCase& test, const Pass& pass) {
  const Differentiated both = both_passes(pass);
  const Named values = values_of(test, both.graph);
  const auto expected = kernels::evaluate(both.graph, values);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  ProgramSpec program{"case", pass.graph, Mode::kTraining, pass.graph.outputs, {}, {}};
  if (!pass.wrt.empty()) program.backward = BackwardSpec{pass.from, true, pass.wrt};
  std::vector<std::string> feed_names;
  for (const GraphInput& input : both.graph.inputs) feed_names.push_back(input.name);
  const auto actual = by_engine(engine, program, values, feed_names, *expected);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    expect_near(actual[i], (*expected)[i], "value " + std::to_string(i));
  }
}

Pass first_order(const GradientCase& test) {
  const Graph graph = testing::graph_of(test);
  return {graph, testing::from_of(test), testing::wrt_of(graph)};
}

// What gradient_cases leaves out since it has no second order, or no gradient at all.
std::vector<GradientCase> further_cases() {
  using namespace testing;
  std::vector<GradientCase> cases;
  const CaseInput labels = integers({3, 2}, {1, 2, 2, 2, 3, 0});
  const CaseInput steps = integers({3}, {4, 4, 2}), label_lengths = integers({3}, {2, 2, 1});
  for (const std::string reduction : {"mean", "sum", "none"}) {
    const Attributes attributes = {{"reduction", reduction}};
    const Shape loss = reduction == "none" ? Shape{3} : Shape{};
    cases.push_back({"CTCLoss: " + reduction,
                     "CTCLoss",
                     {real({4, 3, 4}), labels, steps, label_lengths},
                     attributes});
    cases.push_back({"CTCLossGrad: " + reduction,
                     "CTCLossGrad",
                     {fixed(case_tensor({4, 3, 4}, Values::kAny, "scores")), labels, steps,
                      label_lengths, fixed(case_tensor(loss, Values::kAny, "cotangent"))},
                     attributes,
                     {}});
  }
  // The second sequence has three times as many labels as it has steps.
  cases.push_back({"CTCLoss: a sequence without a path",
                   "CTCLoss",
                   {real({2, 2, 3}), integers({2, 3}, {1, 0, 0, 1, 2, 1}), integers({2}, {2, 1}),
                    integers({2}, {1, 3})},
                   {{"blank", std::int64_t{0}}, {"zero_infinity", std::int64_t{1}}}});
  cases.push_back({"NonMaxSuppression",
                   "NonMaxSuppression",
                   {reals({1, 3, 4}, {0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 3, 1, 4}),
                    reals({1, 1, 3}, {0.7, 0.9, 0.5}), integers({1}, {3}), reals({1}, {0.5})},
                   {},
                   {}});
  return cases;
}

TEST(Operators, ValuesAndGradientsAreThoseOfTheReference) {
  auto engine = make_engine({});
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  std::vector<GradientCase> cases = testing::gradient_cases();
  for (GradientCase& test : further_cases()) cases.push_back(std::move(test));
  for (const GradientCase& test : cases) {
    SCOPED_TRACE(test.name);
    check_pass(**engine, test, first_order(test));
  }
}

// A backward pass written as a graph, as a loss that contains a gradient has it, and its gradient.
TEST(Operators, BackwardPassesAreProgramsToo) {
  auto engine = make_engine({});
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  for (const GradientCase& test : testing::gradient_cases()) {
    SCOPED_TRACE(test.name);
    const Differentiated both = both_passes(first_order(test));
    check_pass(**engine, test, {both.graph, both.gradients, testing::wrt_of(both.graph)});
  }
}

}  // namespace
}  // namespace gradstone
