// SPDX-License-Identifier: Apache-2.0
// Models as an exporter of today writes them, with one training step as oracle. They lie outside the
// repository: $GRADSTONE_FOREIGN_MODELS names the folder; without it the tests are skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "graph/differentiate.h"
#include "graph/passes.h"
#include "kernels/evaluate.h"
#include "onnx/onnx.h"

namespace gradstone {
namespace {

using testing::HasSubstr;

struct Expectation {
  const char* model;
  std::size_t parameters;  // gradients that the oracle has
  bool training;           // the oracle's logits are of the training form
};

class ForeignModels : public testing::TestWithParam<Expectation> {
 protected:
  void SetUp() override {
    const std::string models = environment_or("GRADSTONE_FOREIGN_MODELS", "");
    folder_ = models + "/" + GetParam().model + "/";
    if (models.empty() || !path_exists(folder_)) {
      GTEST_SKIP() << "no folder of foreign models; set GRADSTONE_FOREIGN_MODELS";
    }
  }
  ImportedModel import() const {
    ImportOptions options;
    options.training = GetParam().training;
    return import_onnx(folder_ + "model.onnx", options).value();
  }
  Tensor tensor(const std::string& name) const {
    return read_tensor_proto(folder_ + name + ".pb").value();
  }
  std::map<std::string, Tensor> feeds(const ImportedModel& model, DType dtype) const {
    std::map<std::string, Tensor> values;
    for (const auto& [name, value] : model.weights) values[name] = converted(value.ref(), dtype);
    Tensor x = tensor("input_0");
    if (is_floating(x.type().dtype)) x = converted(x.ref(), dtype);
    values["x"] = std::move(x);
    values["labels"] = tensor("labels");
    return values;
  }

  std::string folder_;
};

// The largest difference, in parts of the largest expected number.
double distance(const Tensor& value, const Tensor& expected) {
  // The oracle has the scalar loss as [1].
  EXPECT_EQ(value.type().elements(), expected.type().elements());
  double most = 0, scale = 1e-30;
  for (std::int64_t i = 0; i < expected.type().elements(); ++i) {
    const double wanted = element_as_double(expected.ref(), i);
    scale = std::max(scale, std::abs(wanted));
    most = std::max(most, std::abs(element_as_double(value.ref(), i) - wanted));
  }
  return most / scale;
}

TEST_P(ForeignModels, Logits) {
  const ImportedModel model = import();
  const std::vector<Tensor> values =
      kernels::evaluate(model.graph, feeds(model, DType::kFloat32)).value();
  EXPECT_LE(distance(values.at(0), tensor("logits")), 1e-5);
}

// Mean cross-entropy of the logits.
Graph with_loss(Graph graph, const TensorType& labels) {
  graph.inputs.push_back({"labels", labels});
  Node loss;
  loss.name = "loss";
  loss.op = "SoftmaxCrossEntropyLoss";
  loss.inputs = {graph.outputs.at(0), "labels"};
  loss.outputs = {"loss"};
  graph.nodes.push_back(loss);
  graph.outputs = {"loss"};
  return graph;
}

TEST_P(ForeignModels, LossAndGradients) {
  const ImportedModel model = import();
  std::map<std::string, Tensor> values = feeds(model, DType::kFloat64);
  const Graph graph =
      with_dtype(with_loss(model.graph, values.at("labels").type()), DType::kFloat64);
  std::vector<std::string> weights;
  for (const Weight& weight : graph.weights) {
    if (path_exists(folder_ + "step/grad_" + weight.name + ".pb")) weights.push_back(weight.name);
  }
  EXPECT_EQ(weights.size(), GetParam().parameters);
  const Differentiated step = differentiate(graph, {"loss"}, weights).value();
  values[step.cotangent_inputs.at(0)] = Tensor::scalar(1.0);
  const std::vector<Tensor> results = kernels::evaluate(step.graph, values).value();
  EXPECT_LE(distance(results.at(0), tensor("step/loss")), 1e-9);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    SCOPED_TRACE(weights[i]);
    EXPECT_LE(distance(results.at(i + 1), tensor("step/grad_" + weights[i])), 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ForeignModels,
    testing::Values(Expectation{"resnet18_train", 62, true}, Expectation{"resnet18_eval", 0, false},
                    Expectation{"vit_train", 44, true}, Expectation{"lstm_train", 19, true}),
    [](const testing::TestParamInfo<Expectation>& info) { return std::string(info.param.model); });

}  // namespace
}  // namespace gradstone
