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

void check_case(Engine& engine, const GradientCase& test) {
  const Graph graph = testing::graph_of(test);
  ProgramSpec program{"case", graph, Mode::kTraining, graph.outputs, {}, {}};
  program.backward = BackwardSpec{testing::from_of(test), true, testing::wrt_of(graph)};
  const auto both = differentiate(graph, program.backward->from, program.backward->wrt);
  ASSERT_TRUE(both.ok()) << both.error().message;

  Named values;
  std::vector<std::string> feed_names;
  for (const GraphInput& input : both->graph.inputs) {
    // Graph input x<i> is the case's input i; the others are cotangents.
    const auto* own = graph.find_input(input.name);
    const auto index = own ? std::stoul(input.name.substr(1)) : 0;
    const auto kind = own ? test.inputs[index]->values : testing::Values::kAny;
    values.emplace(input.name, testing::case_tensor(input.type.shape, kind, input.name));
    feed_names.push_back(input.name);
  }
  const auto expected = kernels::evaluate(both->graph, values);
  ASSERT_TRUE(expected.ok()) << expected.error().message;

  const auto actual = by_engine(engine, program, values, feed_names, *expected);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    expect_near(actual[i], (*expected)[i], "value " + std::to_string(i));
  }
}

TEST(Operators, ValuesAndGradientsAreThoseOfTheReference) {
  auto engine = make_engine({});
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  for (const GradientCase& test : testing::gradient_cases()) {
    SCOPED_TRACE(test.name);
    check_case(**engine, test);
  }
}

}  // namespace
}  // namespace gradstone
