// SPDX-License-Identifier: Apache-2.0
// The same function as different opsets write it. Old ones are also compared with what ONNX's own
// converter makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/version_converter/convert.h>

#include <cmath>
#include <functional>

#include "kernels/evaluate.h"
#include "onnx/test_models.h"

namespace gradstone::onnx_io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> outputs(const ImportedModel& model, const std::map<std::string, Tensor>& feeds) {
  std::map<std::string, Tensor> values = model.weights;
  for (const auto& [name, value] : feeds) values.insert_or_assign(name, value);
  std::vector<float> numbers;
  const std::vector<Tensor> tensors = kernels::evaluate(model.graph, values).value();
  for (const Tensor& tensor : tensors) {
    for (std::int64_t i = 0; i < tensor.type().elements(); ++i) {
      numbers.push_back(static_cast<float>(element_as_double(tensor.ref(), i)));
    }
  }
  return numbers;
}

Tensor ramp(const Shape& shape) {
  Tensor tensor({DType::kFloat32, shape});
  for (std::size_t i = 0; i < tensor.as<float>().size(); ++i) {
    tensor.as<float>()[i] = static_cast<float>(i % 7) - 3 + static_cast<float>(i) / 8;
  }
  return tensor;
}

// One node that reads x [2, 3, 4, 4].
struct OldNode {
  const char* name;
  std::int64_t opset;
  std::function<void(TestModel&)> build;
};
void PrintTo(const OldNode& node, std::ostream* out) { *out << node.name << node.opset; }

const Shape kShape = {2, 3, 4, 4};

class OldOpsets : public testing::TestWithParam<OldNode> {};

TEST_P(OldOpsets, MeanWhatOnnxsConverterSays) {
  TestModel model(GetParam().opset);
  model.input("x", kShape).output("y");
  TestModel::set_type(*model.graph()->mutable_output(0), "y", {}, 1);
  model.graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  GetParam().build(model);
  const ImportedModel own = read(model).value();
  const onnx::ModelProto converted = onnx::version_conversion::ConvertVersion(model.proto(), 17);
  const ImportedModel theirs = import_onnx(converted.SerializeAsString(), "", {}).value();
  const std::map<std::string, Tensor> feeds = {{"x", ramp(kShape)}};
  EXPECT_EQ(outputs(own, feeds), outputs(theirs, feeds));
}

INSTANTIATE_TEST_SUITE_P(
    All, OldOpsets,
    testing::Values(
        OldNode{"Softmax", 12,
                [](TestModel& m) { set(m.node("Softmax", {"x"}, {"y"}), "axis", 2); }},
        OldNode{"LogSoftmax", 11, [](TestModel& m) { m.node("LogSoftmax", {"x"}, {"y"}); }},
        OldNode{"Squeeze", 11,
                [](TestModel& m) {
                  set(m.node("Unsqueeze", {"x"}, {"u"}), "axes", {0, 3});
                  set(m.node("Squeeze", {"u"}, {"y"}), "axes", {0});
                }},
        OldNode{"Clip", 10,
                [](TestModel& m) {
                  onnx::NodeProto& node = m.node("Clip", {"x"}, {"y"});
                  set(node, "min", -1.0F);
                  set(node, "max", 2.0F);
                }},
        OldNode{"Pad", 10,
                [](TestModel& m) {
                  onnx::NodeProto& node = m.node("Pad", {"x"}, {"y"});
                  set(node, "pads", {0, 0, 1, 2, 0, 0, 3, 0});
                  set(node, "value", 1.5F);
                }},
        OldNode{"Slice", 9,
                [](TestModel& m) {
                  onnx::NodeProto& node = m.node("Slice", {"x"}, {"y"});
                  set(node, "starts", {1, -3});
                  set(node, "ends", {3, 1000});
                  set(node, "axes", {1, 3});
                }},
        OldNode{"ReduceSum", 11,
                [](TestModel& m) {
                  onnx::NodeProto& node = m.node("ReduceSum", {"x"}, {"y"});
                  set(node, "axes", {1, 3});
                  set(node, "keepdims", 0);
                }},
        OldNode{"Split", 11,
                [](TestModel& m) {
                  onnx::NodeProto& node = m.node("Split", {"x"}, {"y", "z"});
                  set(node, "axis", 1);
                  set(node, "split", {1, 2});
                }},
        OldNode{"Dropout", 10,
                [](TestModel& m) { set(m.node("Dropout", {"x"}, {"y"}), "ratio", 0.25F); }}),
    [](const testing::TestParamInfo<OldNode>& info) {
      return std::string(info.param.name) + std::to_string(info.param.opset);
    });

TEST(Opsets, OperandsWereAlignedAtAnAxis) {
  TestModel model(6);
  model.input("x", {2, 3, 2}).output("y");
  model.initializer("b", floats({3}, {10, 20, 30}));
  onnx::NodeProto& node = model.node("Add", {"x", "b"}, {"y"});
  set(node, "broadcast", 1);
  set(node, "axis", 1);
  const ImportedModel imported = read(model).value();
  EXPECT_THAT(outputs(imported, {{"x", floats({2, 3, 2}, std::vector<float>(12, 1))}}),
              ElementsAre(11, 11, 21, 21, 31, 31, 11, 11, 21, 21, 31, 31));
}

TEST(Opsets, UpsampleRepeats) {
  TestModel model(9);
  model.input("x", {1, 1, 1, 2}).output("y");
  model.initializer("scales", floats({4}, {1, 1, 2, 2}));
  model.node("Upsample", {"x", "scales"}, {"y"});
  const ImportedModel imported = read(model).value();
  EXPECT_THAT(outputs(imported, {{"x", floats({1, 1, 1, 2}, {1, 5})}}),
              ElementsAre(1, 1, 5, 5, 1, 1, 5, 5));
}

TEST(Opsets, ReductionsTakeAxesAsInput) {
  TestModel model(18);
  model.input("x", {2, 2}).output("y").output("z");
  model.initializer("axes", integers({-1}));
  set(model.node("ReduceMean", {"x", "axes"}, {"y"}), "keepdims", 0);
  set(model.node("ReduceMean", {"x"}, {"z"}), "noop_with_empty_axes", 1);
  const ImportedModel imported = read(model).value();
  EXPECT_THAT(outputs(imported, {{"x", floats({2, 2}, {1, 2, 3, 6})}}),
              ElementsAre(1.5F, 4.5F, 1, 2, 3, 6));
}

TEST(Opsets, SplitIntoSoManyPieces) {
  TestModel model(18);
  model.input("x", {5}).output("a").output("b").output("c");
  set(model.node("Split", {"x"}, {"a", "b", "c"}), "num_outputs", 3);
  const ImportedModel imported = read(model).value();
  const std::vector<Tensor> pieces =
      kernels::evaluate(imported.graph, {{"x", floats({5}, {1, 2, 3, 4, 5})}}).value();
  EXPECT_EQ(pieces[0].shape(), Shape{2});
  EXPECT_EQ(pieces[2].shape(), Shape{1});
}

TEST(Opsets, PadOfSomeAxes) {
  TestModel model(18);
  model.input("x", {1, 2}).output("y");
  model.initializer("pads", integers({1, 2}));
  model.initializer("axes", integers({-1}));
  model.node("Pad", {"x", "pads", "", "axes"}, {"y"});
  const ImportedModel imported = read(model).value();
  EXPECT_THAT(outputs(imported, {{"x", floats({1, 2}, {7, 8})}}), ElementsAre(0, 7, 8, 0, 0));
}

TEST(Opsets, CastLikeAndSaturate) {
  TestModel model(19);
  model.input("x", {2}).output("y");
  model.initializer("like", Tensor::scalar(1.0));
  set(model.node("CastLike", {"x", "like"}, {"y"}), "saturate", 1);
  EXPECT_EQ(attribute_or(read(model).value().graph.nodes.at(0), "to", std::int64_t{0}), 11);
}

// Two groups of two channels with one place each: in a group of a and b, normalized to -1 and 1.
TEST(Opsets, GroupNormalization) {
  for (const std::int64_t opset : {18, 21}) {
    TestModel model(opset);
    model.input("x", {1, 4, 1}).output("y");
    const std::int64_t scales = opset == 18 ? 2 : 4;
    model.initializer("s", floats({scales}, std::vector<float>(scales, 2)));
    model.initializer("b", floats({scales}, std::vector<float>(scales, 1)));
    onnx::NodeProto& node = model.node("GroupNormalization", {"x", "s", "b"}, {"y"});
    set(node, "num_groups", 2);
    set(node, "epsilon", 0.0F);
    const ImportedModel imported = read(model).value();
    EXPECT_THAT(outputs(imported, {{"x", floats({1, 4, 1}, {1, 3, 10, 30})}}),
                ElementsAre(-1, 3, -1, 3));
  }
}

// 3 and 4 have the root mean square 5 / sqrt 2.
TEST(Opsets, RmsNormalization) {
  TestModel model(23);
  model.input("x", {1, 2}).output("y");
  model.initializer("s", floats({2}, {5, 10}));
  set(model.node("RMSNormalization", {"x", "s"}, {"y"}), "epsilon", 0.0F);
  const std::vector<float> values = outputs(read(model).value(), {{"x", floats({1, 2}, {3, 4})}});
  EXPECT_NEAR(values[0], 3 * std::sqrt(2.0), 1e-6);
  EXPECT_NEAR(values[1], 8 * std::sqrt(2.0), 1e-6);
}

TEST(Opsets, ScanStaysAScanAndSeesTheNamesAroundIt) {
  TestModel model;
  model.input("x", {3, 2}).input("z", {2}).output("last").output("all");
  model.initializer("zero", floats({2}, {0, 0}));
  model.initializer("two", Tensor::scalar(2.0F));
  onnx::NodeProto& node = model.node("Scan", {"zero", "x"}, {"last", "all"});
  set(node, "num_scan_inputs", 1);
  onnx::GraphProto* body = set_graph(node, "body");
  for (const char* name : {"sum", "row"}) body->add_input()->set_name(name);
  TestModel::add_node(*body->mutable_node(), "Mul", {"row", "two"}, {"twice"});
  TestModel::add_node(*body->mutable_node(), "Add", {"twice", "z"}, {"more"});
  TestModel::add_node(*body->mutable_node(), "Add", {"sum", "more"}, {"next"});
  for (const char* name : {"next", "next"}) body->add_output()->set_name(name);
  const ImportedModel imported = read(model).value();
  EXPECT_EQ(imported.graph.nodes[0].op, "Scan");
  const std::map<std::string, Tensor> feeds = {{"x", floats({3, 2}, {1, 2, 3, 4, 5, 6})},
                                               {"z", floats({2}, {1, 0})}};
  EXPECT_THAT(outputs(imported, feeds), ElementsAre(21, 24, 3, 4, 10, 12, 21, 24));
}

}  // namespace
}  // namespace gradstone::onnx_io
