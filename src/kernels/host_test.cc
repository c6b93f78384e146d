// SPDX-License-Identifier: Apache-2.0
// Host functions in mid-graph: called by their kernel, and by a chain of the graphs that a graph is
// cut into, which gives the same values and gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "graph/differentiate.h"
#include "graph/host_cut.h"
#include "graph/host_function.h"
#include "graph/testing/gradient_case.h"
#include "kernels/evaluate.h"

namespace gradstone::kernels {
namespace {

using testing::case_tensor;
using testing::Values;
using Strings = std::vector<std::string>;
using TensorMap = std::map<std::string, Tensor>;

TensorType f64(Shape shape) { return {DType::kFloat64, std::move(shape)}; }

// 1 where an element is above the mean plus a number, else 0; and how many are.
HostFunction above_mean() {
  HostFunction function;
  function.name = "above_mean";
  function.output_types = [](std::span<const TensorType> inputs,
                             const HostParameters&) -> Result<std::vector<TensorType>> {
    if (inputs.size() != 1 || inputs[0].dtype != DType::kFloat64) {
      return unreadable("above_mean takes one float64 tensor");
    }
    return std::vector<TensorType>{inputs[0], {DType::kInt64, {}}};
  };
  function.run = [](std::span<const TensorRef> inputs, std::span<const TensorSink> outputs,
                    const HostParameters& parameters) -> Status {
    const std::span<const double> x = inputs[0].as<double>();
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
    if (mean > 100) return failed("the mean is too large");
    const double offset = parameters.numbers.empty() ? 0 : parameters.numbers[0];
    std::int64_t count = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool above = x[i] > mean + offset;
      count += above ? 1 : 0;
      if (outputs[0].data != nullptr) reinterpret_cast<double*>(outputs[0].data)[i] = above;
    }
    if (outputs.size() > 1 && outputs[1].data != nullptr) {
      std::memcpy(outputs[1].data, &count, sizeof count);
    }
    return {};
  };
  return function;
}

Node host_node(const std::string& name, const std::string& input, const Strings& outputs,
               const HostParameters& parameters = {}) {
  return {
      name,    "Host",  std::string(kGradstoneDomain),
      {input}, outputs, host_attributes("above_mean", {f64({6}), {DType::kInt64, {}}}, parameters)};
}

Node plain(const std::string& name, const std::string& op, const Strings& inputs) {
  return {name, op, "", inputs, {name}, {}};
}

// Two host nodes one behind the other, values and a weight that cross both, and a part beside them.
Graph network() {
  Graph graph;
  graph.name = "net";
  graph.inputs = {{"x", f64({6})}};
  graph.weights = {{"w", f64({6}), {}, true}, {"v", f64({6}), {}, true}};
  graph.nodes = {plain("product", "Mul", {"x", "w"}),
                 plain("a", "Tanh", {"product"}),
                 host_node("first", "a", {"mask", "count"}),
                 plain("b", "Mul", {"a", "mask"}),
                 plain("c", "Add", {"b", "w"}),
                 host_node("second", "c", {"other mask", ""}, {{}, {-0.25}}),
                 plain("beside", "Mul", {"a", "v"}),
                 plain("d", "Mul", {"c", "other mask"}),
                 plain("e", "Mul", {"d", "a"}),
                 plain("f", "Add", {"e", "beside"}),
                 {"loss", "ReduceSum", "", {"f"}, {"loss"}, {{"keepdims", std::int64_t{0}}}}};
  graph.outputs = {"loss", "d", "count"};
  return graph;
}

TensorMap network_values() {
  TensorMap values;
  for (const char* name : {"x", "w", "v"}) values[name] = case_tensor({6}, Values::kAny, name);
  return values;
}

std::vector<double> elements(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.type().elements(); ++i) {
    values.push_back(element_as_double(tensor.ref(), i));
  }
  return values;
}

TEST(HostKernel, CallsItsFunction) {
  const HostFunctions functions({above_mean()});
  const std::vector<double> x = {1, 2, 3, 4, 5, 15};
  Graph graph;
  graph.name = "net";
  graph.constants = {{"x", Tensor::of<double>({6}, x)}};
  graph.nodes = {host_node("host", "x", {"mask", "count"}, {{}, {-1.5}})};
  graph.outputs = {"mask", "count"};
  const std::vector<Tensor> found = evaluate(graph, {}, &functions).value();
  EXPECT_EQ(elements(found[0]), (std::vector<double>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(elements(found[1]), (std::vector<double>{3}));
  const auto missing = evaluate(graph, {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(missing.error().message,
            "workload net: node host (Host): no host function 'above_mean' here");
  graph.constants[0].value.as<double>()[0] = 1e6;
  EXPECT_EQ(evaluate(graph, {}, &functions).error().message,
            "workload net: node host (Host): above_mean: the mean is too large");
}

// Values by name after the whole graph ran, and the gradients of the loss.
struct Answer {
  TensorMap values, gradients;
};

Answer run_whole(const Graph& graph, const Strings& wrt, const HostFunctions& functions) {
  const Differentiated result = differentiate(graph, {"loss"}, wrt).value();
  TensorMap inputs = network_values();
  inputs[result.cotangent_inputs[0]] = Tensor::scalar(1.0);
  std::vector<Tensor> found = evaluate(result.graph, inputs, &functions).value();
  Answer answer;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    answer.values[graph.outputs[i]] = found[i];
  }
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    answer.gradients[wrt[i]] = found[graph.outputs.size() + i];
  }
  return answer;
}

void run_hosts(const Segment& segment, const HostFunctions& functions, TensorMap& values) {
  for (const Node& node : segment.hosts) {
    Graph alone;
    alone.nodes = {node};
    for (const std::string& input : node.inputs) {
      alone.inputs.push_back({input, values.at(input).type()});
    }
    for (const std::string& output : node.outputs) {
      if (!output.empty()) alone.outputs.push_back(output);
    }
    const std::vector<Tensor> made = evaluate(alone, values, &functions).value();
    for (std::size_t i = 0; i < made.size(); ++i) values[alone.outputs[i]] = made[i];
  }
}

void accumulate(TensorMap& sums, const std::string& name, const Tensor& value) {
  const auto [sum, is_new] = sums.emplace(name, value);
  if (is_new) return;
  for (std::size_t i = 0; i < value.as<double>().size(); ++i) {
    sum->second.as<double>()[i] += value.as<double>()[i];
  }
}

Answer run_chain(const Graph& graph, const Strings& wrt, const HostFunctions& functions) {
  const std::vector<Segment> segments = cut_at_hosts(graph);
  Answer answer;
  answer.values = network_values();
  for (const Segment& segment : segments) {
    for (const Node& node : segment.graph.nodes) EXPECT_FALSE(is_host(node));
    const std::vector<Tensor> made = evaluate(segment.graph, answer.values).value();
    for (std::size_t i = 0; i < made.size(); ++i) {
      answer.values[segment.graph.outputs[i]] = made[i];
    }
    run_hosts(segment, functions, answer.values);
  }
  const std::vector<SegmentBackward> passes = chained_backward(segments, {"loss"}, wrt);
  answer.gradients["loss"] = Tensor::scalar(1.0);
  for (std::size_t i = segments.size(); i-- > 0;) {
    if (passes[i].from.empty()) continue;
    const Differentiated backward =
        differentiate(segments[i].graph, passes[i].from, passes[i].wrt).value();
    TensorMap inputs = answer.values;
    for (std::size_t k = 0; k < passes[i].from.size(); ++k) {
      inputs[backward.cotangent_inputs[k]] = answer.gradients.at(passes[i].from[k]);
    }
    const std::vector<Tensor> made = evaluate(backward.graph, inputs).value();
    for (std::size_t k = 0; k < passes[i].wrt.size(); ++k) {
      accumulate(answer.gradients, passes[i].wrt[k], made[segments[i].graph.outputs.size() + k]);
    }
  }
  return answer;
}

void expect_near(const Tensor& found, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(found.type(), expected.type());
  const std::vector<double> a = elements(found), b = elements(expected);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-14) << what << " " << i;
}

TEST(HostCut, TheChainGivesTheValuesAndGradientsOfTheWhole) {
  const HostFunctions functions({above_mean()});
  const Graph graph = network();
  const Strings wrt = {"x", "w", "v"};
  const Answer whole = run_whole(graph, wrt, functions);
  ASSERT_EQ(cut_at_hosts(graph).size(), 3U);
  const Answer chain = run_chain(graph, wrt, functions);
  for (const auto& [name, value] : whole.values) expect_near(chain.values.at(name), value, name);
  for (const auto& [name, value] : whole.gradients) {
    expect_near(chain.gradients.at(name), value, name);
  }
}

// The masks are constant nearby, so differences see what flows around the host nodes.
TEST(HostKernel, NoGradientFlowsThrough) {
  const HostFunctions functions({above_mean()});
  const Graph graph = network();
  const Answer whole = run_whole(graph, {"x", "w", "v"}, functions);
  for (const auto& [weight, gradient] : whole.gradients) {
    const std::string& name = weight;  // a lambda cannot capture the binding
    for (std::size_t k = 0; k < 6; ++k) {
      const auto loss = [&](double distance) {
        TensorMap values = network_values();
        values[name].as<double>()[k] += distance;
        const std::vector<Tensor> found = evaluate(graph, values, &functions).value();
        return found[0].as<double>()[0];
      };
      const double h = 1e-4;
      const double difference =
          (8 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12 * h);
      EXPECT_NEAR(gradient.as<double>()[k], difference, 1e-10) << name << " " << k;
    }
  }
}

}  // namespace
}  // namespace gradstone::kernels
