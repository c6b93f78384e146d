// SPDX-License-Identifier: Apache-2.0
#include "cli/training_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "recipe/workload.h"

namespace gradstone {
namespace {

using testing::ElementsAre;

// A network whose values have the names of a training graph's parts, in other places.
Graph model() {
  GraphBuilder b("net");
  const Value x = b.input("loss", DType::kFloat32, {4, 6});
  const Value hidden = b.dense("label", x, {.units = 5});
  return b.finish({b.relu("image", hidden), hidden}).value();
}

TEST(TrainingGraph, HasTheNamesThatARunTakes) {
  for (const auto& [loss, labels] :
       {std::pair("softmax-cross-entropy", "index"), std::pair("softmax-cross-entropy", "one-hot"),
        std::pair("nll", ""), std::pair("nll", "one-hot"), std::pair("mse", ""),
        std::pair("", "")}) {
    SCOPED_TRACE(std::string(loss) + " " + labels);
    const Graph graph = with_loss(model(), loss_choice(loss, labels).value()).value();
    const ValueTypes types = check_graph(graph).value();
    EXPECT_EQ(graph.find_input(kImageInput)->type.shape, (Shape{4, 6}));
    EXPECT_EQ(graph.find_input(kLabelInput)->type, (TensorType{DType::kInt64, {4}}));
    EXPECT_THAT(graph.outputs, ElementsAre(kLossValue, kLogitsValue));
    EXPECT_EQ(types.find(kLossValue)->second.shape, Shape{});
    EXPECT_EQ(types.find(kLogitsValue)->second.shape, (Shape{4, 5}));
    EXPECT_EQ(graph.weights.size(), 2u);
  }
}

TEST(TrainingGraph, WhatCannotBeTrained) {
  GraphBuilder two("net");
  const Value a = two.input("a", DType::kFloat32, {4, 6});
  const Value b = two.input("b", DType::kFloat32, {4, 6});
  const Graph both = two.finish({two.add("sum", a, b)}).value();
  EXPECT_EQ(with_loss(both, {}).error().message,
            "the model's inputs are a (float32 [4, 6]), b (float32 [4, 6]); training feeds one "
            "floating input and labels");
  GraphBuilder flat("net");
  const Value x = flat.input("x", DType::kFloat32, {4, 6, 2});
  EXPECT_EQ(with_loss(flat.finish({flat.relu("y", x)}).value(), {}).error().message,
            "output 'y' is float32 [4, 6, 2]; training needs [batch, classes]");
}

TEST(TrainingGraph, ChoicesThatAreNone) {
  EXPECT_EQ(loss_choice("mse", "index").error().message,
            "--loss mse compares with one-hot labels; leave --labels out");
  EXPECT_EQ(loss_choice("", "hot").error().message,
            "--labels: there is no 'hot'; it is index or one-hot");
}

}  // namespace
}  // namespace gradstone
