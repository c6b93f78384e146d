// SPDX-License-Identifier: Apache-2.0
// What is particular to the reference engine; what every engine must do stands in tests/conformance.
#include "worker/engine.h"

#include <gtest/gtest.h>

#include "graph/host_function.h"

namespace gradstone::reference {
namespace {

TEST(ReferenceEngineTest, RefusesWhatItLacks) {
  const auto kind_of = [](const EngineOptions& options) {
    const auto engine = make_engine(options);
    return engine.ok() ? ErrorKind::kFailed : engine.error().kind;
  };
  EngineOptions options;
  options.device = "cuda:0";
  EXPECT_EQ(kind_of(options), ErrorKind::kUnsupported);
  options = {};
  options.math = "onednn";
  EXPECT_EQ(kind_of(options), ErrorKind::kUnsupported);
  options = {};
  options.argument = "fast";
  EXPECT_EQ(kind_of(options), ErrorKind::kUnsupported);
  options = {};
  options.threads = 4;
  options.deterministic = true;
  EXPECT_TRUE(make_engine(options).ok());
}

TensorType f64(Shape shape) { return {DType::kFloat64, std::move(shape)}; }

// Twice its input.
HostFunctions doubling() {
  HostFunction function;
  function.name = "twice";
  function.output_types = [](std::span<const TensorType> inputs, const HostParameters&) {
    return Result<std::vector<TensorType>>(std::vector<TensorType>{inputs[0]});
  };
  function.run = [](std::span<const TensorRef> inputs, std::span<const TensorSink> outputs,
                    const HostParameters&) -> Status {
    *reinterpret_cast<double*>(outputs[0].data) = 2 * inputs[0].as<double>()[0];
    return {};
  };
  return HostFunctions({function});
}

// y = w x^2, slope = dy/dx = 2 w x, loss = slope^2 twice(y), twice(y) being a host function.
BundleSpec slope_program() {
  ProgramSpec program;
  program.name = "slope";
  Graph& graph = program.graph;
  graph.name = "slope";
  graph.inputs = {{"x", f64({})}};
  graph.weights = {{"w", f64({}), {}, true}};
  const std::vector<std::string> xs = {"x"}, zs = {"w"};
  graph.nodes = {{"square", "Mul", "", {"x", "x"}, {"square"}, {}},
                 {"y", "Mul", "", {"w", "square"}, {"y"}, {}},
                 {"slope",
                  "Gradient",
                  std::string(kTrainingDomain),
                  {"x", "w"},
                  {"slope"},
                  {{"xs", xs}, {"zs", zs}, {"y", "y"}}},
                 {"host",
                  "Host",
                  std::string(kGradstoneDomain),
                  {"y"},
                  {"double"},
                  host_attributes("twice", {f64({})})},
                 {"power", "Mul", "", {"slope", "slope"}, {"power"}, {}},
                 {"loss", "Mul", "", {"power", "double"}, {"loss"}, {}}};
  graph.outputs = {"loss"};
  program.outputs = {"loss", "slope"};
  program.backward = BackwardSpec{{"loss"}, false, {"w", "x"}};
  return {{program}};
}

// With w = 3 and x = 2: y = 12, slope = 12, loss = 144 * 24; d loss / dw = 2 slope 2 x * 24 and
// d loss / dx = 2 slope 2 w * 24, since nothing flows through the host function.
TEST(ReferenceEngineTest, DifferentiatesALossWithAGradientAndAHostFunction) {
  const HostFunctions functions = doubling();
  EngineOptions options;
  options.host_functions = &functions;
  const std::unique_ptr<Engine> engine = make_engine(options).value();
  const std::unique_ptr<Bundle> bundle = engine->load(slope_program()).value();
  bundle->write("w", Tensor::scalar(3.0).ref()).value();
  const Tensor x = Tensor::scalar(2.0);
  std::vector<Tensor> fetched(4, Tensor(f64({})));
  std::vector<TensorSink> sinks;
  for (Tensor& tensor : fetched) sinks.push_back(tensor.sink());
  const std::vector<TensorRef> feeds = {x.ref()};
  RunRequest request;
  request.feeds = feeds;
  request.fetches = sinks;
  bundle->run(request).value();
  bundle->synchronise().value();
  const double expected[] = {144.0 * 24, 12, 2 * 12 * 4 * 24, 2 * 12 * 6 * 24};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(fetched[i].as<double>()[0], expected[i]);
}

TEST(ReferenceEngineTest, RefusesAHostFunctionThatItWasNotGiven) {
  const auto bundle = make_engine({}).value()->load(slope_program());
  ASSERT_FALSE(bundle.ok());
  EXPECT_EQ(bundle.error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace gradstone::reference
