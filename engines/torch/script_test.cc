// SPDX-License-Identifier: Apache-2.0
// The scripts run under Debian's python3-torch; without it their text alone is looked at.
#include "engines/torch/script.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "graph/builder.h"
#include "graph/differentiate.h"
#include "graph/passes.h"
#include "kernels/evaluate.h"
#include "recipe/initial_weights.h"

namespace gradstone::torch_engine {
namespace {

struct Program {
  ProgramSpec spec;
  std::map<std::string, Tensor> values;

  std::map<std::string, TensorRef> views() const {
    std::map<std::string, TensorRef> refs;
    for (const auto& [name, value] : values) refs.emplace(name, value.ref());
    return refs;
  }
};

Tensor ramp(const TensorType& type) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < type.elements(); ++i) {
    numbers.push_back(static_cast<double>(i * 7 % 11) / 8 - 0.6);
  }
  return converted(Tensor::of<double>(type.shape, numbers).ref(), type.dtype);
}

// A small network with what the reference makes of it.
Program program() {
  GraphBuilder b("script");
  Value x = b.input("image", DType::kFloat32, {2, 2, 6, 6});
  const Value labels = b.input("label", DType::kInt64, {2});
  x = b.conv("conv", x, {.filters = 3, .kernel = 3, .stride = 2, .pad = 2, .dilation = 2});
  x = b.lrn("lrn", b.batch_norm("norm", x), {.size = 3, .alpha = 0.1});
  x = b.max_pool("pool", b.relu("relu", x), {.kernel = 2, .stride = 1});
  x = b.dense("dense", b.tanh("tanh", x), {.units = 4});
  const Value loss = b.softmax_cross_entropy("loss", x, labels);
  Program made;
  made.spec.name = "script";
  made.spec.graph = with_dtype(b.finish({loss}).value(), DType::kFloat64);
  Graph& graph = made.spec.graph;
  graph.state_updates.clear();
  for (const Weight& weight : graph.weights) {
    made.values[weight.name] = initial_value(weight, 1);
    if (weight.trainable) made.spec.backward = BackwardSpec{{"loss"}, true, {}};
  }
  for (const Weight& weight : graph.weights) {
    if (weight.trainable) made.spec.backward->wrt.push_back(weight.name);
  }
  made.spec.backward->wrt.push_back("image");
  made.spec.outputs = {"conv", "norm", "lrn", "relu", "pool", "loss"};
  for (const Node& node : graph.nodes) {
    if (node.name == "norm") made.spec.outputs.push_back(node.outputs[2]);
  }
  made.values["image"] = ramp({DType::kFloat64, {2, 2, 6, 6}});
  made.values["label"] = Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{3, 1});
  Differentiated whole =
      differentiate(graph, made.spec.backward->from, made.spec.backward->wrt).value();
  std::map<std::string, Tensor> given = made.values;
  given[whole.cotangent_inputs[0]] = Tensor::scalar(0.5);
  made.values["cotangent/loss"] = Tensor::scalar(0.5);
  std::vector<std::string> names = made.spec.outputs;
  for (const std::string& name : made.spec.backward->wrt) names.push_back("gradient/" + name);
  whole.graph.outputs = made.spec.outputs;
  whole.graph.outputs.insert(whole.graph.outputs.end(), whole.gradients.begin(),
                             whole.gradients.end());
  const std::vector<Tensor> expected = kernels::evaluate(whole.graph, given).value();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    made.values["expected/" + names[i]] = expected[i];
    made.values["allowed/" + names[i]] = Tensor::scalar(1e-9);
  }
  return made;
}

// Exit code of the script, or -1 where there is no torch for Python.
int run(const Script& script, std::string& said) {
  if (std::system("/usr/bin/python3 -c 'import torch' > /dev/null 2>&1") != 0) return -1;
  const TemporaryFolder folder = TemporaryFolder::create().value();
  EXPECT_TRUE(write_file(folder.file(script.name), script.text).ok());
  const std::string out = folder.file("out");
  const std::string command =
      "/usr/bin/python3 '" + folder.file(script.name) + "' > '" + out + "' 2>&1";
  const int status = std::system(command.c_str());
  said = read_file(out).value();
  return WEXITSTATUS(status);
}

TEST(PythonScript, AgreesWithTheReference) {
  const Program made = program();
  const auto views = made.views();
  const Script script = python_script({made.spec, views}).value();
  EXPECT_EQ(script.name, "reproduce.py");
  EXPECT_NE(script.text.find("F.conv2d("), std::string::npos);
  std::string said;
  const int code = run(script, said);
  if (code < 0) GTEST_SKIP() << "no python3-torch";
  EXPECT_EQ(code, 0) << said;
}

TEST(PythonScript, ShowsADifference) {
  Program made = program();
  made.values.at("expected/gradient/conv.weight").as<double>()[1] += 0.01;
  const auto views = made.views();
  std::string said;
  const int code = run(python_script({made.spec, views}).value(), said);
  if (code < 0) GTEST_SKIP() << "no python3-torch";
  EXPECT_EQ(code, 1) << said;
  EXPECT_NE(said.find("gradient/conv.weight: off by 0.01, allowed 1e-09  <-- WRONG"),
            std::string::npos)
      << said;
}

TEST(PythonScript, NamesAnOperatorThatItCannotWrite) {
  ProgramSpec spec;
  spec.name = "p";
  GraphBuilder b("script");
  const Value x = b.input("x", DType::kFloat32, {2, 3});
  const Value places = b.input("places", DType::kInt64, {1});
  spec.graph = b.finish({b.gather("pick", x, places)}).value();
  const std::map<std::string, TensorRef> none;
  const Result<Script> script = python_script({spec, none});
  ASSERT_FALSE(script.ok());
  EXPECT_EQ(script.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(script.error().message.find("node pick (Gather)"), std::string::npos);
}

}  // namespace
}  // namespace gradstone::torch_engine
