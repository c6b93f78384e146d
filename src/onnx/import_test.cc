// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "kernels/evaluate.h"
#include "onnx/test_models.h"

namespace gradstone::onnx_io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Output 0 for these inputs.
Tensor run(const ImportedModel& model, const std::map<std::string, Tensor>& inputs) {
  std::map<std::string, Tensor> values = model.weights;
  for (const auto& [name, value] : inputs) values.insert_or_assign(name, value);
  return kernels::evaluate(model.graph, values).value().at(0);
}

std::vector<float> numbers(const Tensor& tensor) {
  const std::span<const float> values = tensor.as<float>();
  return {values.begin(), values.end()};
}

TEST(Import, KeepsNamesAndTakesFloatingInitializersForWeights) {
  TestModel model;
  model.input("x", {2, 2}).output("y");
  model.initializer("w", floats({2, 2}, {1, 2, 3, 4}));
  model.initializer("half", Tensor::scalar(0.5F));
  model.node("MatMul", {"x", "w"}, {"product"});
  model.node("Mul", {"product", "half"}, {"y"});
  const ImportedModel imported = read(model).value();
  EXPECT_EQ(imported.graph.name, "net");
  EXPECT_EQ(imported.opset, 17);
  EXPECT_EQ(imported.producer, "test");
  EXPECT_THAT(imported.graph.outputs, ElementsAre("y"));
  ASSERT_EQ(imported.graph.weights.size(), 1u);
  EXPECT_EQ(imported.graph.weights[0].name, "w");
  EXPECT_TRUE(imported.graph.weights[0].trainable);
  ASSERT_EQ(imported.graph.constants.size(), 1u);  // a number without axes is no parameter
  EXPECT_EQ(imported.graph.constants[0].name, "half");
  EXPECT_EQ(imported.graph.nodes[0].name, "node_product");
  EXPECT_THAT(numbers(run(imported, {{"x", floats({2, 2}, {1, 0, 0, 1})}})),
              ElementsAre(0.5F, 1, 1.5F, 2));
}

TEST(Import, ShapeArithmeticLeavesNoNodes) {
  TestModel model;
  model.input("x", {2, 3, 4}).output("y");
  model.node("Shape", {"x"}, {"shape"});
  model.initializer("zero", integers({0}));
  model.initializer("rest", integers({-1}));
  set(model.node("Gather", {"shape", "zero"}, {"batch"}), "axis", 0);
  set(model.node("Concat", {"batch", "rest"}, {"target"}), "axis", 0);
  model.node("Reshape", {"x", "target"}, {"y"});
  const ImportedModel imported = read(model).value();
  ASSERT_EQ(imported.graph.nodes.size(), 1u);
  EXPECT_EQ(imported.graph.nodes[0].op, "Reshape");
}

TEST(Import, TensorsWithoutElementsTakePartInShapeArithmetic) {
  TestModel model;
  model.input("x", {2, 3}).output("y");
  model.node("Shape", {"x"}, {"shape"});
  model.initializer("two", integers({2}));
  model.initializer("end", integers({9}));
  model.node("Slice", {"shape", "two", "end"}, {"nothing"});  // [2, 3][2:]
  set(model.node("Concat", {"nothing", "shape"}, {"target"}), "axis", 0);
  model.node("Reshape", {"x", "target"}, {"y"});
  EXPECT_EQ(error_of(read(model)), "");
}

TEST(Import, OpenExtentsAreBoundByOptions) {
  TestModel model;
  model.input("x", {-1, 3}).output("y");
  model.node("Relu", {"x"}, {"y"});
  onnx::TensorShapeProto_Dimension* batch = model.graph()
                                                ->mutable_input(0)
                                                ->mutable_type()
                                                ->mutable_tensor_type()
                                                ->mutable_shape()
                                                ->mutable_dim(0);
  EXPECT_THAT(error_of(read(model)), HasSubstr("input x: shape [?, 3]: the extent of axis 0 is "
                                               "open; give it with --shape INPUT=N,..."));
  batch->set_dim_param("N");
  EXPECT_THAT(error_of(read(model)), HasSubstr("give it with --dimension 'N=N'"));
  ImportOptions options;
  options.dimensions["N"] = 5;
  EXPECT_EQ(read(model, options).value().graph.inputs[0].type.shape, (Shape{5, 3}));
  options = {};
  options.shapes["x"] = {7, 3};
  EXPECT_EQ(read(model, options).value().graph.inputs[0].type.shape, (Shape{7, 3}));
  options.dimensions["M"] = 5;
  EXPECT_EQ(error_of(read(model, options)), "the model has no dimension 'M'; did you mean 'N'?");
}

TEST(Import, BoundInputsBecomeConstants) {
  TestModel model;
  model.input("x", {2, 3}).input("shape", {2}, 7).output("y");
  model.node("Reshape", {"x", "shape"}, {"y"});
  EXPECT_THAT(error_of(read(model)), HasSubstr("node node_y (Reshape): "));
  ImportOptions options;
  options.bound["shape"] = integers({3, 2});
  const ImportedModel imported = read(model, options).value();
  EXPECT_EQ(imported.graph.inputs.size(), 1u);
}

TEST(Import, AttributesAsTheyWereWritten) {
  TestModel model;
  model.input("x", {1, 2, 3}).output("y");
  for (const char* name : {"scale", "bias", "mean", "variance"}) {
    model.initializer(name, floats({2}, {1, 1}));
  }
  onnx::NodeProto& node =
      model.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, {"y"});
  set(node, "epsilon", 1e-5F);
  const ImportedModel imported = read(model).value();
  EXPECT_EQ(attribute_or(imported.graph.nodes[0], "epsilon", 0.0), 1e-5);
  EXPECT_FALSE(imported.graph.find_weight("mean")->trainable);
  EXPECT_TRUE(imported.graph.find_weight("scale")->trainable);
}

TEST(Import, AttributesThatSayTheDefaultAreDropped) {
  TestModel model;
  model.input("x", {1, 1, 4, 4}).output("y");
  onnx::NodeProto& node = model.node("MaxPool", {"x"}, {"y"});
  set(node, "kernel_shape", {2, 2});
  set(node, "storage_order", 0);
  EXPECT_EQ(error_of(read(model)), "");
  node.mutable_attribute(1)->set_i(1);
  EXPECT_EQ(error_of(read(model)),
            "node node_y (MaxPool): attribute 'storage_order' has no place in a graph");
}

TEST(Import, FunctionsAreWrittenOut) {
  TestModel model;
  model.input("x", {2}).output("y");
  onnx::FunctionProto* inner = model.proto().add_functions();
  inner->set_domain("mine");
  inner->set_name("Leak");
  inner->add_input("a");
  inner->add_output("b");
  inner->add_attribute("slope");
  onnx::NodeProto& constant = TestModel::add_node(*inner->mutable_node(), "Constant", {}, {"s"});
  onnx::AttributeProto* reference = constant.add_attribute();
  reference->set_name("value_float");
  reference->set_type(onnx::AttributeProto_AttributeType_FLOAT);
  reference->set_ref_attr_name("slope");
  TestModel::add_node(*inner->mutable_node(), "Mul", {"a", "s"}, {"b"});
  onnx::FunctionProto* outer = model.proto().add_functions();
  outer->set_domain("mine");
  outer->set_name("Twice");
  outer->add_input("x");
  outer->add_output("y");
  onnx::NodeProto& first = TestModel::add_node(*outer->mutable_node(), "Leak", {"x"}, {"half"});
  first.set_domain("mine");
  set(first, "slope", 2.0F);
  onnx::NodeProto& second = TestModel::add_node(*outer->mutable_node(), "Leak", {"half"}, {"y"});
  second.set_domain("mine");
  set(second, "slope", 5.0F);
  model.node("Twice", {"x"}, {"y"}).set_domain("mine");
  const ImportedModel imported = read(model).value();
  EXPECT_THAT(imported.graph.outputs, ElementsAre("y"));
  EXPECT_THAT(numbers(run(imported, {{"x", floats({2}, {1, 3})}})), ElementsAre(10, 30));
}

TEST(Import, FunctionsThatCallThemselvesAreAnError) {
  TestModel model;
  model.input("x", {2}).output("y");
  onnx::FunctionProto* function = model.proto().add_functions();
  function->set_domain("mine");
  function->set_name("Self");
  function->add_input("a");
  function->add_output("b");
  TestModel::add_node(*function->mutable_node(), "Self", {"a"}, {"b"}).set_domain("mine");
  model.node("Self", {"x"}, {"y"}).set_domain("mine");
  EXPECT_THAT(error_of(read(model)), HasSubstr("nested too deeply, or call themselves"));
}

TEST(Import, BranchesThatAreKnownAreTaken) {
  TestModel model;
  model.input("x", {2}).output("y");
  model.initializer("yes", Tensor::scalar(true));
  onnx::NodeProto& node = model.node("If", {"yes"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::GraphProto* body = set_graph(node, name);
    TestModel::add_node(*body->mutable_node(), name[0] == 't' ? "Relu" : "Tanh", {"x"}, {"out"});
    body->add_output()->set_name("out");
  }
  const ImportedModel imported = read(model).value();
  EXPECT_EQ(imported.graph.nodes[0].op, "Relu");
  model.graph()->clear_initializer();
  model.input("yes", {}, 9);
  EXPECT_THAT(error_of(read(model)), HasSubstr("its condition is computed while"));
}

TEST(Import, LoopsThatAreKnownAreWrittenOut) {
  TestModel model;
  model.input("x", {2}).output("last").output("all");
  model.initializer("trips", Tensor::scalar(std::int64_t{3}));
  onnx::NodeProto& node = model.node("Loop", {"trips", "", "x"}, {"last", "all"});
  onnx::GraphProto* body = set_graph(node, "body");
  for (const char* name : {"i", "go", "v"}) body->add_input()->set_name(name);
  TestModel::add_node(*body->mutable_node(), "Identity", {"go"}, {"go_on"});
  TestModel::add_node(*body->mutable_node(), "Add", {"v", "v"}, {"twice"});
  for (const char* name : {"go_on", "twice", "v"}) body->add_output()->set_name(name);
  const ImportedModel imported = read(model).value();
  const std::map<std::string, Tensor> feeds = {{"x", floats({2}, {1, 3})}};
  const std::vector<Tensor> values = kernels::evaluate(imported.graph, feeds).value();
  EXPECT_THAT(numbers(values[0]), ElementsAre(8, 24));
  EXPECT_EQ(values[1].shape(), (Shape{3, 2}));
  EXPECT_THAT(numbers(values[1]), ElementsAre(1, 3, 2, 6, 4, 12));
}

TEST(Import, NamesBecomePrintable) {
  TestModel model;
  model.input("x\n", {2}).output("y");
  model.node("Relu", {"x\n"}, {"y"}).set_name("bell\a");
  const ImportedModel imported = read(model).value();
  EXPECT_EQ(imported.graph.inputs[0].name, "x_");
  EXPECT_EQ(imported.graph.nodes[0].name, "bell_");
}

TEST(Import, OutputsThatNoNodeMakesGetOne) {
  TestModel model;
  model.input("x", {2}).output("y").output("z");
  model.initializer("z", integers({1, 2}));
  model.node("Identity", {"x"}, {"y"});
  const ImportedModel imported = read(model).value();
  ASSERT_EQ(imported.graph.nodes.size(), 2u);
  EXPECT_EQ(imported.graph.nodes[0].op, "Identity");
  EXPECT_EQ(imported.graph.outputs[0], "y");
}

TEST(TensorFiles, RoundTrip) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  const Tensor tensor = floats({2, 1}, {1.5F, -0.0F});
  ASSERT_TRUE(write_tensor_proto(folder.file("t.pb"), "t", tensor.ref()).ok());
  const Tensor back = read_tensor_proto(folder.file("t.pb")).value();
  EXPECT_EQ(back.type(), tensor.type());
  EXPECT_THAT(numbers(back), ElementsAre(1.5F, -0.0F));
}

}  // namespace
}  // namespace gradstone::onnx_io
