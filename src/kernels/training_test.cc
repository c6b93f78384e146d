// SPDX-License-Identifier: Apache-2.0
// ONNX's training domain: Gradient nodes against closed forms and finite differences, optimizers
// against their formulas written out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/differentiate.h"
#include "graph/testing/gradient_case.h"
#include "kernels/evaluate.h"

namespace gradstone::kernels {
namespace {

using testing::Attributes;
using testing::case_tensor;
using testing::Values;
using Strings = std::vector<std::string>;
using TensorMap = std::map<std::string, Tensor>;

TensorType f64(Shape shape) { return {DType::kFloat64, std::move(shape)}; }

Node node(const std::string& name, const std::string& op, const Strings& inputs,
          Attributes attributes = {}) {
  return {name, op, "", inputs, {name}, std::move(attributes)};
}

Node gradient(const Strings& outputs, const Strings& xs, const Strings& zs, const std::string& y) {
  Strings inputs = xs;
  inputs.insert(inputs.end(), zs.begin(), zs.end());
  return {"gradient of " + y,
          "Gradient",
          std::string(kTrainingDomain),
          inputs,
          outputs,
          {{"xs", xs}, {"zs", zs}, {"y", y}}};
}

std::vector<double> values_of(const Graph& graph, const TensorMap& inputs) {
  std::vector<double> numbers;
  const std::vector<Tensor> outputs = evaluate(graph, inputs).value();
  for (const Tensor& tensor : outputs) {
    numbers.insert(numbers.end(), tensor.as<double>().begin(), tensor.as<double>().end());
  }
  return numbers;
}

// c = a + b, d = c a: ONNX's own example.
Graph sum_and_product() {
  Graph graph;
  graph.inputs = {{"a", f64({})}, {"b", f64({})}};
  graph.nodes = {node("c", "Add", {"a", "b"}), node("d", "Mul", {"c", "a"})};
  return graph;
}

TEST(GradientNode, OfASumAndAProduct) {
  Graph graph = sum_and_product();
  graph.nodes.push_back(gradient({"da", "db"}, {"a", "b"}, {}, "d"));
  graph.outputs = {"da", "db", "d"};
  const TensorMap at = {{"a", Tensor::scalar(3.0)}, {"b", Tensor::scalar(5.0)}};
  EXPECT_EQ(values_of(graph, at), (std::vector<double>{2 * 3 + 5, 3, 24}));
  graph.nodes[2].outputs[0] = "";
  graph.outputs = {"db"};
  EXPECT_EQ(values_of(graph, at), (std::vector<double>{3}));
}

// With c held fast, d = c a does not see that c depends on a.
TEST(GradientNode, HoldsWhatZsNames) {
  Graph graph = sum_and_product();
  graph.nodes.push_back(gradient({"da"}, {"a"}, {"c"}, "d"));
  graph.nodes.push_back(node("twice", "Add", {"da", "c"}));
  graph.outputs = {"da", "twice", "c"};
  EXPECT_EQ(values_of(graph, {{"a", Tensor::scalar(3.0)}, {"b", Tensor::scalar(5.0)}}),
            (std::vector<double>{8, 16, 8}));
}

TEST(GradientNode, OfAnIntermediateValue) {
  Graph graph = sum_and_product();
  graph.nodes.push_back(gradient({"dc"}, {"c"}, {"a"}, "d"));
  graph.outputs = {"dc", "d"};
  EXPECT_EQ(values_of(graph, {{"a", Tensor::scalar(3.0)}, {"b", Tensor::scalar(5.0)}}),
            (std::vector<double>{3, 24}));
}

// The same function at another place: inputs that are not those named.
TEST(GradientNode, AtOtherInputs) {
  Graph graph = sum_and_product();
  graph.inputs.push_back({"v", f64({})});
  graph.nodes.push_back(gradient({"da", "db"}, {"a", "b"}, {}, "d"));
  graph.nodes[2].inputs = {"v", "v"};
  graph.outputs = {"da", "db", "d"};
  EXPECT_EQ(values_of(graph, {{"a", Tensor::scalar(3.0)},
                              {"b", Tensor::scalar(5.0)},
                              {"v", Tensor::scalar(7.0)}}),
            (std::vector<double>{21, 7, 24}));
}

TEST(GradientNode, OfAGradient) {
  Graph graph;  // y = x^4
  graph.inputs = {{"x", f64({})}};
  graph.nodes = {node("square", "Mul", {"x", "x"}), node("y", "Mul", {"square", "square"}),
                 gradient({"first"}, {"x"}, {}, "y"), gradient({"second"}, {"x"}, {}, "first"),
                 gradient({"third"}, {"x"}, {}, "second")};
  graph.outputs = {"first", "second", "third"};
  EXPECT_EQ(values_of(graph, {{"x", Tensor::scalar(2.0)}}), (std::vector<double>{32, 48, 48}));
}

// Nodes that have an expansion only are differentiated through it, and stay what they are for the
// rest of the graph.
TEST(GradientNode, OfALayerThatIsExpanded) {
  Graph graph;
  graph.inputs = {{"x", f64({2, 1, 2})}, {"w", f64({1, 3, 2})}, {"r", f64({1, 3, 3})}};
  graph.nodes = {{"rnn", "RNN", "", {"x", "w", "r"}, {"h", ""}, {}},
                 gradient({"dx"}, {"x"}, {"w", "r"}, "h"),
                 node("z", "Tanh", {"h"})};
  graph.outputs = {"dx", "z"};
  TensorMap at;
  for (const GraphInput& input : graph.inputs) {
    at[input.name] = case_tensor(input.type.shape, Values::kAny, input.name);
  }
  Graph plain = graph;
  plain.nodes.erase(plain.nodes.begin() + 1);
  plain.outputs = {"z"};
  const Differentiated result = differentiate(plain, {"h"}, {"x"}).value();
  TensorMap with_ones = at;
  Tensor ones(result.graph.find_input(result.cotangent_inputs[0])->type);
  for (double& one : ones.as<double>()) one = 1;
  with_ones[result.cotangent_inputs[0]] = ones;
  const std::vector<double> expected = values_of(result.graph, with_ones);  // z, then dx
  std::vector<double> found = values_of(graph, at);                         // dx, then z
  std::rotate(found.begin(), found.begin() + 4, found.end());
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-14);
}

// The penalty of WGAN-GP (Gulrajani et al. 2017): mean over the batch of (|dD/dx| - 1)^2 for a
// critic D of two layers, x a mixture of two batches.
Graph gradient_penalty() {
  Graph graph;
  graph.name = "critic";
  graph.inputs = {{"real", f64({4, 3})}, {"fake", f64({4, 3})}};
  graph.weights = {{"w1", f64({3, 5}), {}, true}, {"w2", f64({5, 1}), {}, true}};
  graph.constants = {{"half", Tensor::scalar(0.5)},
                     {"one", Tensor::scalar(1.0)},
                     {"axis", Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{1})}};
  graph.nodes = {node("both", "Add", {"real", "fake"}),
                 node("mixed", "Mul", {"both", "half"}),
                 node("hidden", "MatMul", {"mixed", "w1"}),
                 node("bent", "Tanh", {"hidden"}),
                 node("score", "MatMul", {"bent", "w2"}),
                 gradient({"slope"}, {"mixed"}, {"w1", "w2"}, "score"),
                 node("squares", "Mul", {"slope", "slope"}),
                 node("sum", "ReduceSum", {"squares", "axis"}),
                 node("norm", "Sqrt", {"sum"}),
                 node("excess", "Sub", {"norm", "one"}),
                 node("penalties", "Mul", {"excess", "excess"}),
                 node("penalty", "ReduceMean", {"penalties"}, {{"keepdims", std::int64_t{0}}})};
  graph.outputs = {"penalty"};
  return graph;
}

TEST(GradientNode, InALossIsDifferentiatedAgain) {
  const Graph graph = gradient_penalty();
  TensorMap at;
  for (const GraphInput& input : graph.inputs) {
    at[input.name] = case_tensor(input.type.shape, Values::kAny, input.name);
  }
  for (const Weight& weight : graph.weights) {
    at[weight.name] = case_tensor(weight.type.shape, Values::kAny, weight.name);
  }
  const Differentiated result = differentiate(graph, {"penalty"}, {"w1", "w2", "real"}).value();
  ASSERT_EQ(result.origin.size(), result.graph.nodes.size());
  TensorMap with_one = at;
  with_one[result.cotangent_inputs[0]] = Tensor::scalar(1.0);
  const std::vector<Tensor> found = evaluate(result.graph, with_one).value();
  const Strings wrt = {"w1", "w2", "real"};
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    for (std::size_t k = 0; k < found[i + 1].as<double>().size(); ++k) {
      const auto moved = [&](double distance) {
        TensorMap there = at;
        there[wrt[i]].as<double>()[k] += distance;
        return values_of(graph, there)[0];
      };
      const double h = 1e-3;
      const double difference =
          (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h);
      EXPECT_NEAR(found[i + 1].as<double>()[k], difference, 1e-9) << wrt[i] << " " << k;
    }
  }
}

// ---- Optimizers: one tensor of two elements, and a second of one element ----

struct Update {
  double x, g, v, h;
};
const Update kFirst[] = {{1.2, -0.9, 0.5, 0.3}, {-2.0, 0.4, -0.1, 0.7}, {0.6, 0.8, 0.2, 0.9}};

std::vector<double> run_optimizer(const std::string& op, const Attributes& attributes,
                                  std::int64_t count) {
  Graph graph;
  Node update{"update", op, std::string(kTrainingDomain), {"R", "T"}, {}, attributes};
  graph.constants = {{"R", Tensor::scalar(0.1)}, {"T", Tensor::scalar(count)}};
  const auto add = [&](const std::string& name, double Update::*member) {
    const std::vector<double> two = {kFirst[0].*member, kFirst[1].*member};
    const std::vector<double> one = {kFirst[2].*member};
    graph.constants.push_back({name + "1", Tensor::of<double>({2}, two)});
    graph.constants.push_back({name + "2", Tensor::of<double>({1}, one)});
    update.inputs.insert(update.inputs.end(), {name + "1", name + "2"});
    if (name == "G") return;
    update.outputs.insert(update.outputs.end(), {"new " + name + "1", "new " + name + "2"});
  };
  add("X", &Update::x);
  add("G", &Update::g);
  if (op != "Adagrad") add("V", &Update::v);
  if (op != "Momentum") add("H", &Update::h);
  graph.outputs = update.outputs;
  graph.nodes = {update};
  return values_of(graph, {});
}

// `rule` gives the new x, v, h of one element; `kinds` says which of v and h are outputs.
template <class Rule>
void expect_updates(const std::vector<double>& found, const std::string& kinds, Rule rule) {
  std::vector<double> expected;
  for (const char kind : kinds) {
    for (const Update& element : kFirst) {
      const Update after = rule(element);
      expected.push_back(kind == 'x' ? after.x : kind == 'v' ? after.v : after.h);
    }
  }
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-14) << i;
}

TEST(OptimizerNode, Adagrad) {
  const Attributes attributes = {
      {"decay_factor", 0.2}, {"epsilon", 1e-3}, {"norm_coefficient", 0.05}};
  expect_updates(run_optimizer("Adagrad", attributes, 3), "xh", [](Update u) {
    const double g = 0.05 * u.x + u.g, h = u.h + g * g;
    return Update{u.x - 0.1 / (1 + 3 * 0.2) * g / (std::sqrt(h) + 1e-3), g, 0, h};
  });
  expect_updates(run_optimizer("Adagrad", {}, 3), "xh", [](Update u) {
    const double h = u.h + u.g * u.g;
    return Update{u.x - 0.1 * u.g / (std::sqrt(h) + 1e-6), u.g, 0, h};
  });
}

TEST(OptimizerNode, Momentum) {
  for (const std::int64_t count : {0, 4}) {
    for (const std::string mode : {"standard", "nesterov"}) {
      SCOPED_TRACE(mode + " " + std::to_string(count));
      const Attributes attributes = {
          {"alpha", 0.9}, {"beta", 0.6}, {"mode", mode}, {"norm_coefficient", 0.05}};
      expect_updates(run_optimizer("Momentum", attributes, count), "xv", [&](Update u) {
        const double g = 0.05 * u.x + u.g, v = 0.9 * u.v + (count > 0 ? 0.6 : 1.0) * g;
        return Update{u.x - 0.1 * (mode == "standard" ? v : g + 0.9 * v), g, v, 0};
      });
    }
  }
}

TEST(OptimizerNode, Adam) {
  for (const std::int64_t count : {0, 4}) {
    const Attributes attributes = {{"alpha", 0.8},
                                   {"beta", 0.95},
                                   {"epsilon", 1e-3},
                                   {"norm_coefficient", 0.05},
                                   {"norm_coefficient_post", 0.01}};
    expect_updates(run_optimizer("Adam", attributes, count), "xvh", [&](Update u) {
      const double g = 0.05 * u.x + u.g;
      const double v = 0.8 * u.v + 0.2 * g, h = 0.95 * u.h + 0.05 * g * g;
      const double rate =
          count == 0 ? 0.1
                     : 0.1 * std::sqrt(1 - std::pow(0.95, count)) / (1 - std::pow(0.8, count));
      return Update{0.99 * (u.x - rate * v / (std::sqrt(h) + 1e-3)), g, v, h};
    });
  }
  expect_updates(run_optimizer("Adam", {}, 1), "xvh", [](Update u) {
    const double v = 0.9 * u.v + 0.1 * u.g, h = 0.999 * u.h + 0.001 * u.g * u.g;
    return Update{u.x - 0.1 * std::sqrt(0.001) / 0.1 * v / (std::sqrt(h) + 1e-6), u.g, v, h};
  });
}

}  // namespace
}  // namespace gradstone::kernels
