// SPDX-License-Identifier: Apache-2.0
// The proof of the oracle: every gradient rule against central differences in float64, and the
// gradients of gradients likewise up to third order. Kernels are proved right elsewhere; here only
// that backward passes are derivatives of what the forward kernels compute.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "graph/differentiate.h"
#include "graph/passes.h"
#include "graph/testing/gradient_cases.h"
#include "kernels/program.h"

namespace gradstone::kernels {
namespace {

using testing::case_tensor;
using testing::GradientCase;
using testing::Values;
using TensorMap = std::map<std::string, Tensor>;

// A graph that is evaluated many times.
class Function {
 public:
  Function(const Graph& graph, const std::vector<std::string>& outputs)
      : outputs_(outputs),
        pool_(std::make_shared<BufferPool>()),
        program_(Program::make(pruned(graph, outputs, false), outputs, pool_).value()) {
    pool_->allocate();
  }

  std::vector<Tensor> operator()(const TensorMap& inputs) {
    ProgramFeeds feeds;
    for (const GraphInput& input : program_.graph().inputs) {
      const Tensor& value = inputs.at(input.name);
      CHECK(value.type() == input.type, "a test feeds a value of another type");
      feeds.inputs.push_back(value.data());
    }
    program_.run(feeds, nullptr).value();
    std::vector<Tensor> values;
    for (const std::string& output : outputs_) {
      const TensorRef value = program_.value(output);
      values.push_back(converted(value, value.type.dtype));
    }
    return values;
  }

 private:
  std::vector<std::string> outputs_;
  std::shared_ptr<BufferPool> pool_;
  Program program_;
};

double dot(const Tensor& a, const Tensor& b) {
  const std::span<const double> left = a.as<double>(), right = b.as<double>();
  return std::inner_product(left.begin(), left.end(), right.begin(), 0.0);
}

// Fourth-order central difference of `f` at 0; its error is h^4 / 30 times the fifth derivative.
template <class F>
double central_difference(F f) {
  constexpr double h = 2.5e-4;
  return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
}

// Values of graph inputs that have none yet, away from kinks for those of the case.
void draw_inputs(const Graph& graph, TensorMap& values, const GradientCase& test) {
  for (const GraphInput& input : graph.inputs) {
    if (values.count(input.name) > 0) continue;
    Values kind = Values::kAny;
    for (std::size_t i = 0; i < test.inputs.size(); ++i) {
      if (test.inputs[i] && input.name == "x" + std::to_string(i)) kind = test.inputs[i]->values;
    }
    values[input.name] = case_tensor(input.type.shape, kind, test.name + "/" + input.name);
  }
}

// A graph, its gradient, and values for all inputs: sum of <cotangent_i, from_i> is differentiated
// with respect to every input of the graph.
struct Derivation {
  Derivation(const Graph& graph, const std::vector<std::string>& from, TensorMap values,
             const GradientCase& test)
      : wrt(testing::wrt_of(graph)),
        result(differentiate(graph, from, wrt).value()),
        inputs(std::move(values)),
        forward(graph, from),
        backward(result.graph, result.gradients) {
    draw_inputs(result.graph, inputs, test);
  }

  double objective(const TensorMap& at) {
    const std::vector<Tensor> values = forward(at);
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum += dot(values[i], inputs.at(result.cotangent_inputs[i]));
    }
    return sum;
  }

  // Derivative of the objective as `name` moves along `direction`.
  double difference(const std::string& name, const Tensor& direction) {
    TensorMap at = inputs;
    const std::span<double> moved = at.at(name).as<double>();
    const std::span<const double> from = std::as_const(inputs).at(name).as<double>();
    const std::span<const double> along = direction.as<double>();
    return central_difference([&](double distance) {
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = from[i] + distance * along[i];
      return objective(at);
    });
  }

  std::vector<std::string> wrt;
  Differentiated result;
  TensorMap inputs;
  Function forward, backward;
};

void expect_near(double gradient, double difference, const std::string& what) {
  EXPECT_LE(std::abs(gradient - difference), 1e-8 * std::max(1.0, std::abs(difference)))
      << what << ": the rule gives " << gradient << ", finite differences " << difference;
}

// Every element of every gradient.
void check_elements(Derivation& derivation) {
  const std::vector<Tensor> gradients = derivation.backward(derivation.inputs);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const std::string& name = derivation.wrt[i];
    const std::span<const double> gradient = gradients[i].as<double>();
    Tensor direction(gradients[i].type());
    for (std::size_t element = 0; element < gradient.size(); ++element) {
      direction.as<double>()[element] = 1;
      expect_near(gradient[element], derivation.difference(name, direction),
                  name + "[" + std::to_string(element) + "]");
      direction.as<double>()[element] = 0;
    }
  }
}

// Each gradient along two random directions.
void check_directions(Derivation& derivation) {
  const std::vector<Tensor> gradients = derivation.backward(derivation.inputs);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const std::string& name = derivation.wrt[i];
    for (const std::string stream : {"first direction", "second direction"}) {
      const Tensor direction = case_tensor(gradients[i].shape(), Values::kAny, stream);
      expect_near(dot(gradients[i], direction), derivation.difference(name, direction), name);
    }
  }
}

void check_case(const GradientCase& test, const Graph& graph,
                const std::vector<std::string>& from) {
  SCOPED_TRACE(test.name);
  Derivation derivation(graph, from, {}, test);
  {
    SCOPED_TRACE("first order");
    check_elements(derivation);
  }
  for (const char* order : {"second order", "third order"}) {
    SCOPED_TRACE(order);
    derivation =
        Derivation(derivation.result.graph, derivation.result.gradients, derivation.inputs, test);
    check_directions(derivation);
  }
}

using Family = std::vector<GradientCase> (*)();

class GradientRules : public ::testing::TestWithParam<Family> {};

TEST_P(GradientRules, AreTheDerivativesUpToThirdOrder) {
  for (const GradientCase& test : GetParam()()) {
    check_case(test, testing::graph_of(test), testing::from_of(test));
  }
}

INSTANTIATE_TEST_SUITE_P(Broadcasting, GradientRules,
                         ::testing::Values(testing::broadcasting_cases));
INSTANTIATE_TEST_SUITE_P(Powers, GradientRules, ::testing::Values(testing::power_cases));
INSTANTIATE_TEST_SUITE_P(Unary, GradientRules, ::testing::Values(testing::unary_cases));
INSTANTIATE_TEST_SUITE_P(Reductions, GradientRules, ::testing::Values(testing::reduction_cases));
INSTANTIATE_TEST_SUITE_P(Layout, GradientRules, ::testing::Values(testing::layout_cases));
INSTANTIATE_TEST_SUITE_P(Slicing, GradientRules, ::testing::Values(testing::slicing_cases));
INSTANTIATE_TEST_SUITE_P(Matrices, GradientRules, ::testing::Values(testing::matrix_cases));
INSTANTIATE_TEST_SUITE_P(Convolutions, GradientRules, ::testing::Values(testing::conv_cases));
INSTANTIATE_TEST_SUITE_P(Pooling, GradientRules, ::testing::Values(testing::pooling_cases));
INSTANTIATE_TEST_SUITE_P(Normalization, GradientRules,
                         ::testing::Values(testing::normalization_cases));
INSTANTIATE_TEST_SUITE_P(Axes, GradientRules, ::testing::Values(testing::axes_cases));
INSTANTIATE_TEST_SUITE_P(Padding, GradientRules, ::testing::Values(testing::padding_cases));
INSTANTIATE_TEST_SUITE_P(Indexing, GradientRules, ::testing::Values(testing::indexing_cases));
INSTANTIATE_TEST_SUITE_P(Losses, GradientRules, ::testing::Values(testing::loss_cases));
INSTANTIATE_TEST_SUITE_P(Activations, GradientRules, ::testing::Values(testing::activation_cases));
INSTANTIATE_TEST_SUITE_P(Clip, GradientRules, ::testing::Values(testing::clip_cases));
INSTANTIATE_TEST_SUITE_P(Functions, GradientRules, ::testing::Values(testing::function_cases));
INSTANTIATE_TEST_SUITE_P(Variadic, GradientRules, ::testing::Values(testing::variadic_cases));
INSTANTIATE_TEST_SUITE_P(Where, GradientRules, ::testing::Values(testing::where_cases));
INSTANTIATE_TEST_SUITE_P(Recurrent, GradientRules, ::testing::Values(testing::recurrent_cases));
INSTANTIATE_TEST_SUITE_P(Scans, GradientRules, ::testing::Values(testing::scan_cases));

Node node(std::string name, std::string op, std::vector<std::string> inputs,
          testing::Attributes attributes = {}) {
  return {name, std::move(op), "", std::move(inputs), {name}, std::move(attributes)};
}

// Layers of several kinds, a value read twice, and a weight shared by two nodes.
Graph small_network() {
  Graph graph;
  graph.name = "small network";
  const auto add_input = [&](const std::string& name, const Shape& shape) {
    graph.inputs.push_back({name, {DType::kFloat64, shape}});
  };
  add_input("image", {3, 2, 4, 4});
  add_input("kernel", {2, 2, 3, 3});
  for (const char* name : {"scale", "shift", "mean", "variance"}) add_input(name, {2});
  add_input("dense", {4, 8});
  const std::vector<std::int64_t> labels = {1, 0, 3};
  graph.constants = {{"labels", Tensor::of<std::int64_t>({3}, labels)}};
  const testing::Attributes same = {{"pads", testing::Integers{1, 1, 1, 1}}};
  graph.nodes = {
      node("conv1", "Conv", {"image", "kernel"}, same),
      node("norm", "BatchNormalization", {"conv1", "scale", "shift", "mean", "variance"},
           {{"training_mode", std::int64_t{1}}}),
      node("tanh", "Tanh", {"norm"}),
      node("conv2", "Conv", {"tanh", "kernel"}, same),
      node("sum", "Add", {"conv2", "image"}),
      node("squashed", "Sigmoid", {"sum"}),
      node("pool", "AveragePool", {"squashed"},
           {{"kernel_shape", testing::Integers{2, 2}}, {"strides", testing::Integers{2, 2}}}),
      node("flat", "Flatten", {"pool"}),
      node("scores", "Gemm", {"flat", "dense"}, {{"transB", std::int64_t{1}}}),
      node("loss", "SoftmaxCrossEntropyLoss", {"scores", "labels"}),
  };
  return graph;
}

TEST(Gradients, OfASmallNetwork) {
  check_case({"small network", "", {}, {}}, small_network(), {"loss", "pool"});
}

// Single precision computes the same backward graph.
TEST(Gradients, InSinglePrecisionAreCloseToThoseInDouble) {
  for (const GradientCase& test : testing::gradient_cases()) {
    if (test.op == "Cast") continue;  // with_dtype does not change what it casts to
    SCOPED_TRACE(test.name);
    const Graph graph = testing::graph_of(test);
    Derivation exact(graph, testing::from_of(test), {}, test);
    const Graph single = with_dtype(graph, DType::kFloat32);
    const Differentiated result = differentiate(single, testing::from_of(test), exact.wrt).value();
    TensorMap inputs;
    for (const auto& [name, value] : exact.inputs) {
      inputs[name] = converted(value.ref(), DType::kFloat32);
    }
    const std::vector<Tensor> expected = exact.backward(exact.inputs);
    const std::vector<Tensor> gradients = Function(result.graph, result.gradients)(inputs);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::span<const float> found = gradients[i].as<float>();
      for (std::size_t k = 0; k < found.size(); ++k) {
        const double value = expected[i].as<double>()[k];
        EXPECT_NEAR(found[k], value, 1e-4 * std::max(1.0, std::abs(value))) << exact.wrt[i];
      }
    }
  }
}

Tensor ones(const Shape& shape) {
  Tensor tensor({DType::kFloat64, shape});
  for (double& element : tensor.as<double>()) element = 1;
  return tensor;
}

// The mask differs from run to run, so instead of differences: at x = 1 the output is mask / (1 -
// ratio), and the gradient must be the cotangent times that.
TEST(Gradients, OfTrainingDropoutUseTheMaskOfTheForwardPass) {
  Graph graph;
  graph.inputs = {{"x", {DType::kFloat64, {100}}}};
  graph.constants = {{"ratio", Tensor::scalar(0.25)}, {"training", Tensor::scalar(true)}};
  graph.nodes = {node("y", "Dropout", {"x", "ratio", "training"})};
  const Differentiated result = differentiate(graph, {"y"}, {"x"}).value();
  const Tensor cotangent = case_tensor({100}, Values::kAny, "cotangent");
  Function function(result.graph, {"y", result.gradients[0]});
  const std::vector<Tensor> values =
      function({{"x", ones({100})}, {result.cotangent_inputs[0], cotangent}});
  double dropped = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    const double y = values[0].as<double>()[i];
    dropped += y == 0 ? 1 : 0;
    EXPECT_DOUBLE_EQ(values[1].as<double>()[i], cotangent.as<double>()[i] * y);
  }
  EXPECT_GT(dropped, 5);
  EXPECT_LT(dropped, 50);
}

TEST(Gradients, OfEqualMaximaGoToTheFirst) {
  const GradientCase test = {
      "ties", "MaxPool", {testing::real({1, 1, 4})}, {{"kernel_shape", testing::Integers{2}}}};
  const Differentiated result = differentiate(testing::graph_of(test), {"y0"}, {"x0"}).value();
  const std::vector<double> cotangent = {1, 10, 100};
  const std::vector<Tensor> gradient = Function(result.graph, result.gradients)(
      {{"x0", ones({1, 1, 4})},
       {result.cotangent_inputs[0], Tensor::of<double>({1, 1, 3}, cotangent)}});
  const std::span<const double> found = gradient[0].as<double>();
  EXPECT_EQ(std::vector<double>(found.begin(), found.end()), (std::vector<double>{1, 10, 100, 0}));
}

TEST(Gradients, OfReluAtZeroAreZero) {
  const GradientCase test = {"relu", "Relu", {testing::real({1})}, {}};
  const Differentiated result = differentiate(testing::graph_of(test), {"y0"}, {"x0"}).value();
  const std::vector<Tensor> gradient = Function(result.graph, result.gradients)(
      {{"x0", Tensor({DType::kFloat64, {1}})}, {result.cotangent_inputs[0], ones({1})}});
  EXPECT_EQ(gradient[0].as<double>()[0], 0.0);
}

TEST(Gradients, PassThroughCastsOfFloatingTypes) {
  Graph graph;
  graph.inputs = {{"x", {DType::kFloat64, {3}}}};
  graph.nodes = {node("y", "Cast", {"x"}, {{"to", std::int64_t{1}}})};
  const Differentiated result = differentiate(graph, {"y"}, {"x"}).value();
  const std::vector<float> cotangent = {1, -2, 0.5};
  const std::vector<Tensor> gradient = Function(result.graph, result.gradients)(
      {{"x", ones({3})}, {result.cotangent_inputs[0], Tensor::of<float>({3}, cotangent)}});
  const std::span<const double> found = gradient[0].as<double>();
  EXPECT_EQ(std::vector<double>(found.begin(), found.end()), (std::vector<double>{1, -2, 0.5}));
}

}  // namespace
}  // namespace gradstone::kernels
