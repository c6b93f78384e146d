// SPDX-License-Identifier: Apache-2.0
#include "conformance/forward_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradstone {
namespace {

using ::testing::HasSubstr;
constexpr std::int64_t kElements = 400;

Tensor floats(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

// y, mask = Dropout(x), z = Relu(y)
class DropoutCheck : public testing::Test {
 protected:
  DropoutCheck() {
    Graph& graph = prepared.graph;
    graph.inputs = {{"x", {DType::kFloat32, {kElements}}}};
    graph.constants = {{"ratio", Tensor::scalar<float>(0.75f)},
                       {"training", Tensor::scalar<bool>(true)}};
    graph.nodes = {{"drop", "Dropout", "", {"x", "ratio", "training"}, {"y", "mask"}, {}},
                   {"relu", "Relu", "", {"y"}, {"z"}, {}}};
    graph.outputs = {"y", "mask", "z"};
    std::vector<float> x(kElements), y(kElements);
    Tensor mask({DType::kBool, {kElements}});
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(i) - 30.5f;
      const bool kept = i % 4 == 1;
      y[i] = kept ? 4 * x[i] : 0;
      mask.as<bool>()[i] = kept;
    }
    prepared.feeds["x"] = floats(x);
    values = {{"y", floats(y)}, {"mask", mask}, {"z", floats(y)}};
    // What another generator drew.
    prepared.expected = {floats(x), Tensor({DType::kBool, {kElements}}), floats(x)};
  }
  std::string fault() const { return wrong_outputs(prepared, values).value_or(""); }

  PreparedCase prepared;
  std::map<std::string, Tensor> values;
};

TEST_F(DropoutCheck, AnyDrawWithTheRightPropertiesPasses) {
  EXPECT_TRUE(draws_random_numbers(prepared.graph));
  EXPECT_EQ(fault(), "");
}

TEST_F(DropoutCheck, KeptValuesAreScaled) {
  values["y"].as<float>()[1] = prepared.feeds["x"].as<float>()[1];
  EXPECT_THAT(fault(), HasSubstr("at [1]: -29.5 is neither 0 nor -118"));
}

TEST_F(DropoutCheck, TheMaskSaysWhatIsKept) {
  values["mask"].as<bool>()[2] = true;
  EXPECT_THAT(fault(), HasSubstr("mask at [2]"));
}

TEST_F(DropoutCheck, TheRatioIsKeptWithinChance) {
  for (float& y : values["y"].as<float>()) y = 0;
  for (bool& kept : values["mask"].as<bool>()) kept = false;
  EXPECT_THAT(fault(), HasSubstr("0 of 400 elements are kept with ratio 0.75"));
}

TEST_F(DropoutCheck, WhatDependsOnTheDrawHasTheRightType) {
  values["z"] = Tensor({DType::kFloat32, {2}});
  EXPECT_THAT(fault(), HasSubstr("output 'z': is float32 [2]"));
}

TEST_F(DropoutCheck, WithoutTrainingOrRatioTheDataSetIsRight) {
  prepared.graph.constants[1].value = Tensor::scalar<bool>(false);
  EXPECT_FALSE(draws_random_numbers(prepared.graph));
  EXPECT_THAT(fault(), HasSubstr("output 'y': "));
  prepared.graph.constants[1].value = Tensor::scalar<bool>(true);
  prepared.graph.constants[0].value = Tensor::scalar<float>(0);
  EXPECT_FALSE(draws_random_numbers(prepared.graph));
}

TEST(ForwardCheck, NonMaxSuppressionEndsInRowsOfMinusOne) {
  PreparedCase prepared;
  prepared.graph.nodes = {{"nms", "NonMaxSuppression", "", {"boxes", "scores"}, {"y"}, {}}};
  prepared.graph.outputs = {"y"};
  const auto rows = [](std::vector<std::int64_t> values) {
    const auto count = static_cast<std::int64_t>(values.size() / 3);
    return Tensor::of<std::int64_t>({count, 3}, values);
  };
  prepared.expected = {rows({0, 0, 3})};
  EXPECT_FALSE(wrong_outputs(prepared, {{"y", rows({0, 0, 3, -1, -1, -1})}}));
  EXPECT_FALSE(wrong_outputs(prepared, {{"y", rows({0, 0, 3})}}));
  EXPECT_TRUE(wrong_outputs(prepared, {{"y", rows({0, 0, 3, 0, 0, 1})}}));
  EXPECT_TRUE(wrong_outputs(prepared, {{"y", rows({0, 0, 2, -1, -1, -1})}}));
  EXPECT_TRUE(wrong_outputs(prepared, {{"y", rows({})}}));
}

TEST(ForwardCheck, EveryOutputMustCome) {
  PreparedCase prepared;
  prepared.graph.outputs = {"y"};
  EXPECT_THAT(wrong_outputs(prepared, {}).value(), HasSubstr("1 outputs, the data set 0"));
  prepared.expected = {Tensor::scalar<float>(1)};
  EXPECT_EQ(wrong_outputs(prepared, {}), "output 'y': no value came");
  EXPECT_FALSE(wrong_outputs(prepared, {{"y", Tensor::scalar<float>(1)}}));
  EXPECT_TRUE(wrong_outputs(prepared, {{"y", Tensor::scalar<float>(1.1f)}}));
}

}  // namespace
}  // namespace gradstone
