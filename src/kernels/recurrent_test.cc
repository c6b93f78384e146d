// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN: kernels against formulas written out for one unit, and against their
// expansions in every combination of attributes and inputs that takes another way.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/differentiate.h"
#include "graph/expansion.h"
#include "graph/testing/gradient_case.h"
#include "kernels/evaluate.h"

namespace gradstone::kernels {
namespace {

using testing::Attributes;
using testing::case_tensor;
using testing::Values;
using TensorMap = std::map<std::string, Tensor>;

constexpr std::int64_t kYes = 1;

struct Layer {
  Graph graph;
  TensorMap values;
};

struct LayerOptions {
  std::string op = "LSTM";
  Attributes attributes;
  std::string lengths;  // "", "constant" or "fed"
  bool optional_inputs = true;
};

void add_input(Layer& layer, const std::string& name, const Shape& shape) {
  layer.graph.inputs.push_back({name, {DType::kFloat64, shape}});
  layer.values[name] = case_tensor(shape, Values::kAny, name);
  layer.graph.nodes[0].inputs.push_back(name);
}

// 4 steps of 3 sequences, of lengths 4, 0 and 2 where there are lengths; 2 inputs, 3 units.
Layer layer_of(const LayerOptions& options) {
  const bool batch_first = options.attributes.count("layout") > 0;
  const bool both = options.attributes.count("direction") > 0 &&
                    std::get<std::string>(options.attributes.at("direction")) == "bidirectional";
  const std::int64_t d = both ? 2 : 1, rows = 3 * (options.op == "LSTM"  ? 4
                                                   : options.op == "GRU" ? 3
                                                                         : 1);
  Layer layer;
  layer.graph.name = options.op;
  layer.graph.nodes = {{"layer", options.op, "", {}, {"y", "h"}, options.attributes}};
  if (options.op == "LSTM") layer.graph.nodes[0].outputs.push_back("c");
  layer.graph.outputs = layer.graph.nodes[0].outputs;
  add_input(layer, "X", batch_first ? Shape{3, 4, 2} : Shape{4, 3, 2});
  add_input(layer, "W", {d, rows, 2});
  add_input(layer, "R", {d, rows, 3});
  std::vector<std::string>& inputs = layer.graph.nodes[0].inputs;
  inputs.insert(inputs.end(), {"", ""});
  const std::vector<std::int32_t> lengths = {4, 0, 2};
  if (!options.lengths.empty()) inputs[4] = "lengths";
  if (options.lengths == "constant") {
    layer.graph.constants = {{"lengths", Tensor::of<std::int32_t>({3}, lengths)}};
  } else if (options.lengths == "fed") {
    layer.graph.inputs.push_back({"lengths", {DType::kInt32, {3}}});
    layer.values["lengths"] = Tensor::of<std::int32_t>({3}, lengths);
  }
  if (!options.optional_inputs) return layer;
  add_input(layer, "B", {d, 2 * rows});
  inputs[3] = "B";
  inputs.pop_back();
  const Shape state = batch_first ? Shape{3, d, 3} : Shape{d, 3, 3};
  add_input(layer, "initial_h", state);
  if (options.op != "LSTM") return layer;
  add_input(layer, "initial_c", state);
  add_input(layer, "P", {d, 9});
  return layer;
}

void expect_same(const std::vector<Tensor>& found, const std::vector<Tensor>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].type(), expected[i].type());
    for (std::int64_t k = 0; k < found[i].type().elements(); ++k) {
      const double value = element_as_double(expected[i].ref(), k);
      EXPECT_NEAR(element_as_double(found[i].ref(), k), value, 1e-13 * (1 + std::abs(value)))
          << "output " << i << " element " << k;
    }
  }
}

Graph expanded(const Graph& graph) {
  return expand_nodes(graph, [](const Node&, const OpDef&) { return true; }).value().graph;
}

void check_expansion(const LayerOptions& options) {
  const Layer layer = layer_of(options);
  const std::vector<Tensor> kernel = evaluate(layer.graph, layer.values).value();
  const Graph unrolled = expanded(layer.graph);
  for (const Node& node : unrolled.nodes) ASSERT_NE(node.op, options.op);
  expect_same(evaluate(unrolled, layer.values).value(), kernel);
}

// The attributes that only one operator has.
std::vector<Attributes> own_attributes(const std::string& op) {
  if (op == "LSTM") return {{}, {{"input_forget", kYes}}};
  if (op == "GRU") return {{}, {{"linear_before_reset", kYes}}};
  return {{}};
}

TEST(Recurrent, KernelsAgreeWithTheirExpansions) {
  for (const std::string op : {"RNN", "GRU", "LSTM"}) {
    for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
      for (const std::string lengths : {"", "constant", "fed"}) {
        for (const bool batch_first : {false, true}) {
          for (const bool optional_inputs : {false, true}) {
            for (Attributes attributes : own_attributes(op)) {
              attributes["direction"] = direction;
              if (batch_first) attributes["layout"] = kYes;
              SCOPED_TRACE(op + " " + direction + " lengths '" + lengths + "'" +
                           (batch_first ? " batch first" : "") +
                           (optional_inputs ? " all inputs" : ""));
              check_expansion({op, attributes, lengths, optional_inputs});
            }
          }
        }
      }
    }
  }
}

TEST(Recurrent, ActivationsAgreeWithTheirExpansions) {
  for (const std::string name :
       {"Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
        "HardSigmoid", "Elu", "Softsign", "Softplus"}) {
    SCOPED_TRACE(name);
    const std::vector<std::string> names(3, name);
    check_expansion({"LSTM", {{"activations", names}}, "", true});
    check_expansion({"LSTM",
                     {{"activations", names},
                      {"activation_alpha", std::vector<double>{0.3, 0.7, 0.9}},
                      {"activation_beta", std::vector<double>{0.2, 1.1}},
                      {"clip", 0.4}},
                     "",
                     true});
    check_expansion({"GRU",
                     {{"activations", std::vector<std::string>{"Sigmoid", name, name, "Tanh"}},
                      {"activation_alpha", std::vector<double>{0.3, 0.7}},
                      {"direction", "bidirectional"},
                      {"clip", 0.4}},
                     "constant",
                     true});
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One unit, one input, two steps: X = 0.5, -1.5.
std::vector<Tensor> one_unit(const std::string& op, const std::vector<double>& w,
                             const std::vector<double>& r, const std::vector<double>& b,
                             Attributes attributes = {}) {
  const auto rows = static_cast<std::int64_t>(w.size());
  const std::vector<double> x = {0.5, -1.5};
  Graph graph;
  graph.constants = {{"x", Tensor::of<double>({2, 1, 1}, x)},
                     {"w", Tensor::of<double>({1, rows, 1}, w)},
                     {"r", Tensor::of<double>({1, rows, 1}, r)},
                     {"b", Tensor::of<double>({1, 2 * rows}, b)}};
  graph.nodes = {{"layer", op, "", {"x", "w", "r", "b"}, {"y", "h"}, std::move(attributes)}};
  graph.outputs = {"y", "h"};
  return evaluate(graph, {}).value();
}

TEST(Recurrent, RnnOfOneUnit) {
  const std::vector<Tensor> found = one_unit("RNN", {0.7}, {-0.4}, {0.1, 0.2});
  const double first = std::tanh(0.7 * 0.5 + 0.3);
  const double second = std::tanh(0.7 * -1.5 - 0.4 * first + 0.3);
  EXPECT_DOUBLE_EQ(found[0].as<double>()[0], first);
  EXPECT_DOUBLE_EQ(found[0].as<double>()[1], second);
  EXPECT_DOUBLE_EQ(found[1].as<double>()[0], second);
}

TEST(Recurrent, LstmOfOneUnitHasItsGatesInTheOrderIofc) {
  const std::vector<double> w = {0.1, 0.2, 0.3, 0.4}, r = {0.5, 0.6, 0.7, 0.8};
  const std::vector<double> b = {0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08};
  double h = 0, c = 0;
  const std::vector<Tensor> found = one_unit("LSTM", w, r, b);
  for (int step = 0; step < 2; ++step) {
    const double x = step == 0 ? 0.5 : -1.5;
    const double i = sigmoid(0.1 * x + 0.5 * h + 0.06), o = sigmoid(0.2 * x + 0.6 * h + 0.08);
    const double f = sigmoid(0.3 * x + 0.7 * h + 0.10), g = std::tanh(0.4 * x + 0.8 * h + 0.12);
    c = f * c + i * g;
    h = o * std::tanh(c);
    EXPECT_NEAR(found[0].as<double>()[static_cast<std::size_t>(step)], h, 1e-15);
  }
}

TEST(Recurrent, GruOfOneUnitHasItsGatesInTheOrderZrh) {
  const std::vector<double> w = {0.1, 0.2, 0.3}, r = {0.5, 0.6, 0.7};
  const std::vector<double> b = {0.01, 0.02, 0.03, 0.04, 0.05, 0.06};
  for (const std::int64_t linear : {0, 1}) {
    double h = 0;
    const std::vector<Tensor> found = one_unit("GRU", w, r, b, {{"linear_before_reset", linear}});
    for (int step = 0; step < 2; ++step) {
      const double x = step == 0 ? 0.5 : -1.5;
      const double z = sigmoid(0.1 * x + 0.5 * h + 0.05), q = sigmoid(0.2 * x + 0.6 * h + 0.07);
      const double inner = linear == 0 ? 0.7 * q * h + 0.06 : q * (0.7 * h + 0.06);
      h = (1 - z) * std::tanh(0.3 * x + inner + 0.03) + z * h;
      EXPECT_NEAR(found[0].as<double>()[static_cast<std::size_t>(step)], h, 1e-15);
    }
  }
}

// Reading a short sequence backwards begins at its own last step.
TEST(Recurrent, ReversedSequencesBeginAtTheirOwnEnd) {
  Layer whole = layer_of({"GRU", {{"direction", "reverse"}}, "constant", true});
  const std::vector<Tensor> found = evaluate(whole.graph, whole.values).value();
  // The third sequence alone, cut to its two steps.
  Layer cut = layer_of({"GRU", {{"direction", "reverse"}}, "", true});
  const auto cut_out = [&](const std::string& name, const Shape& shape,
                           const std::vector<std::size_t>& elements) {
    Tensor part({DType::kFloat64, shape});
    for (std::size_t i = 0; i < elements.size(); ++i) {
      part.as<double>()[i] = whole.values.at(name).as<double>()[elements[i]];
    }
    for (GraphInput& input : cut.graph.inputs) {
      if (input.name == name) input.type.shape = shape;
    }
    cut.values[name] = part;
  };
  cut_out("X", {2, 1, 2}, {4, 5, 10, 11});
  cut_out("initial_h", {1, 1, 3}, {6, 7, 8});
  const std::vector<Tensor> alone = evaluate(cut.graph, cut.values).value();
  for (std::size_t unit = 0; unit < 3; ++unit) {
    EXPECT_DOUBLE_EQ(found[0].as<double>()[6 + unit], alone[0].as<double>()[unit]);
    EXPECT_DOUBLE_EQ(found[0].as<double>()[15 + unit], alone[0].as<double>()[3 + unit]);
    EXPECT_EQ(found[0].as<double>()[24 + unit], 0.0);
    EXPECT_DOUBLE_EQ(found[1].as<double>()[6 + unit], alone[1].as<double>()[unit]);
  }
}

TEST(Recurrent, LengthsOutsideTheStepsAreRefused) {
  Layer layer = layer_of({"LSTM", {}, "fed", true});
  layer.values.at("lengths").as<std::int32_t>()[1] = 5;
  const auto result = evaluate(layer.graph, layer.values);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("sequence 1 has length 5, outside 0..4"),
            std::string::npos);
}

// Lengths that are fed are masks computed in the graph; those that are constant are folded.
TEST(Recurrent, GradientsAreTheSameWithFedAndConstantLengths) {
  std::vector<std::vector<Tensor>> gradients;
  for (const std::string lengths : {"constant", "fed"}) {
    Layer layer = layer_of({"LSTM", {{"direction", "bidirectional"}}, lengths, true});
    const Differentiated result =
        differentiate(layer.graph, {"y", "c"}, {"X", "W", "R", "B", "initial_h", "P"}).value();
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string& name = result.cotangent_inputs[i];
      layer.values[name] = case_tensor(result.graph.find_input(name)->type.shape, Values::kAny,
                                       "cotangent" + std::to_string(i));
    }
    gradients.push_back(evaluate(result.graph, layer.values).value());
  }
  expect_same(gradients[0], gradients[1]);
}

}  // namespace
}  // namespace gradstone::kernels
