// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx/test_models.h"

namespace gradstone::onnx_io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void add_batch_norm(TestModel& model, const std::string& name, const std::string& input,
                    const std::string& output) {
  for (const char* part : {".scale", ".bias", ".mean", ".variance"}) {
    model.initializer(name + part, floats({2}, {1, 1}));
  }
  model.node("BatchNormalization",
             {input, name + ".scale", name + ".bias", name + ".mean", name + ".variance"},
             {output});
}

ImportedModel in_training(const TestModel& model, BatchNormMode mode = BatchNormMode::kTrain) {
  ImportOptions options;
  options.training = true;
  options.batch_norm = mode;
  return read(model, options).value();
}

TestModel with_batch_norm() {
  TestModel model;
  model.input("x", {4, 2}).output("y");
  add_batch_norm(model, "bn", "x", "y");
  return model;
}

TEST(TrainingForm, BatchNormTrainsAndItsStatisticsRun) {
  const ImportedModel model = in_training(with_batch_norm());
  const Node& node = model.graph.nodes.at(0);
  EXPECT_EQ(attribute_or(node, "training_mode", std::int64_t{0}), 1);
  ASSERT_EQ(node.outputs.size(), 3u);
  ASSERT_EQ(model.graph.state_updates.size(), 2u);
  EXPECT_EQ(model.graph.state_updates[0].weight, "bn.mean");
  EXPECT_EQ(model.graph.state_updates[0].value, node.outputs[1]);
  EXPECT_EQ(model.graph.state_updates[1].weight, "bn.variance");
  EXPECT_EQ(model.graph.state_updates[1].value, node.outputs[2]);
  EXPECT_FALSE(model.graph.find_weight("bn.variance")->trainable);
  EXPECT_THAT(model.notes.at(0), HasSubstr("1 node of the file in inference form"));
}

TEST(TrainingForm, BatchNormCanBeFrozen) {
  const ImportedModel model = in_training(with_batch_norm(), BatchNormMode::kFrozen);
  EXPECT_EQ(model.graph.nodes.at(0).outputs.size(), 1u);
  EXPECT_THAT(model.graph.state_updates, IsEmpty());
  EXPECT_THAT(model.notes.at(0), HasSubstr("frozen to the file's statistics"));
}

TEST(TrainingForm, OtherwiseNodesMeanWhatTheFileSays) {
  const ImportedModel model = read(with_batch_norm()).value();
  EXPECT_EQ(model.graph.nodes.at(0).outputs.size(), 1u);
  EXPECT_THAT(model.notes, IsEmpty());
}

// A layer that is used twice updates its statistics twice, one after the other.
TEST(TrainingForm, SharedBatchNorm) {
  TestModel model;
  model.input("x", {4, 2}).output("y");
  add_batch_norm(model, "bn", "x", "h");
  model.node("BatchNormalization", {"h", "bn.scale", "bn.bias", "bn.mean", "bn.variance"}, {"y"});
  const ImportedModel imported = in_training(model);
  ASSERT_EQ(imported.graph.state_updates.size(), 2u);
  const Node& first = imported.graph.nodes.at(0);
  const Node& second = imported.graph.nodes.at(1);
  EXPECT_EQ(second.inputs.at(3), first.outputs.at(1));
  EXPECT_EQ(imported.graph.state_updates[0].value, second.outputs.at(1));
}

TEST(TrainingForm, StatisticsInConstantsBecomeStates) {
  TestModel model;
  model.input("x", {4, 2}).output("y");
  for (const char* name : {"scale", "bias", "mean", "variance"}) {
    set_tensor(model.node("Constant", {}, {name}), "value", floats({2}, {1, 1}));
  }
  model.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, {"y"});
  const ImportedModel imported = in_training(model);
  ASSERT_EQ(imported.graph.weights.size(), 2u);
  EXPECT_EQ(imported.graph.weights[0].name, "mean");
  EXPECT_EQ(imported.weights.count("variance"), 1u);
}

TEST(TrainingForm, DropoutIsTurnedOnWithItsRatio) {
  TestModel model(11);
  model.input("x", {4, 2}).output("y");
  set(model.node("Dropout", {"x"}, {"y"}), "ratio", 0.25F);
  const ImportedModel imported = in_training(model);
  const Node& node = imported.graph.nodes.at(0);
  ASSERT_EQ(node.inputs.size(), 3u);
  EXPECT_EQ(element_as_double(imported.graph.find_constant(node.inputs[1])->value.ref(), 0), 0.25);
  EXPECT_EQ(element_as_double(imported.graph.find_constant(node.inputs[2])->value.ref(), 0), 1);
  EXPECT_THAT(imported.notes, ElementsAre("dropout: 1 node turned on"));
}

TEST(TrainingForm, WhatExportersLeaveOutIsTold) {
  TestModel model;
  model.input("x", {1, 1, 4, 4}).output("y");
  model.initializer("w", floats({1, 1, 1, 1}, {1}));
  model.node("Conv", {"x", "w"}, {"a"});
  model.node("Relu", {"a"}, {"b"});
  model.node("Conv", {"b", "w"}, {"c"});
  model.node("Relu", {"c"}, {"y"});
  EXPECT_THAT(in_training(model).notes, ElementsAre(HasSubstr("the exporter folded it into them"),
                                                    HasSubstr("dropout: the file has none")));
}

}  // namespace
}  // namespace gradstone::onnx_io
