// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "graph/one_node.h"

namespace gradstone {
namespace {

using namespace testing;

Tensor scales(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

std::string resized(const TensorType& type, const std::vector<float>& by, Attributes attributes) {
  return outcome("Resize", {type, {}, scales(by)}, std::move(attributes));
}

TEST(ResizeRule, ScalesAreRoundedDown) {
  EXPECT_EQ(resized(f32({1, 2, 5}), {1, 1, 1.5}, {}), "float32 [1, 2, 7]");
  EXPECT_EQ(outcome("Resize", {f32({2, 5}), {}, {}, list({4, 3})}), "float32 [4, 3]");
  EXPECT_EQ(outcome("Resize", {f32({2, 5}), list({}), list({}), list({4, 3})}), "float32 [4, 3]");
}

TEST(ResizeRule, Faults) {
  EXPECT_EQ(resized(f32({2, 5}), {1}, {}), "scales has shape [1]; expected one an axis");
  EXPECT_EQ(resized(f32({2}), {0}, {}), "scale 0.000000 of axis 0 is no usable number");
  EXPECT_EQ(resized(f32({2}), {1e30F}, {}).substr(0, 5), "scale");
  EXPECT_EQ(outcome("Resize", {f32({2})}), "needs either scales or sizes, a constant");
  EXPECT_EQ(outcome("Resize", {f32({2}), {}, f32({1})}), "scales is not a constant; make it one");
  EXPECT_EQ(resized(i64({2}), {2}, {{"mode", "linear"}}),
            "mode linear of int64; cast to float32 first");
  EXPECT_EQ(resized(i64({2}), {2}, {}), "int64 [4]");
  EXPECT_NE(resized(f32({2}), {2}, {{"coordinate_transformation_mode", "tf_crop_and_resize"}})
                .find("region of interest"),
            std::string::npos);
}

// Axis by axis: [2, 3] to [4, 3] and then to [4, 6], two taps an element.
TEST(ResizeRule, Costs) {
  const Attributes linear = {{"mode", "linear"}};
  EXPECT_EQ(cost(one_node("Resize", {f32({2, 3}), {}, scales({2, 2})}, linear)).flops,
            3 * 12 + 3 * 24);
  EXPECT_EQ(cost(one_node("Resize", {f32({2, 3}), {}, scales({1, 2})}, linear)).flops, 3 * 12);
  EXPECT_EQ(cost(one_node("Resize", {f32({2, 3}), {}, scales({2, 2})})).flops, 0);
}

std::string einsum(const std::string& equation, const std::vector<Shape>& shapes) {
  std::vector<TestInput> inputs;
  for (const Shape& shape : shapes) inputs.push_back(f32(shape));
  return outcome("Einsum", inputs, {{"equation", equation}});
}

TEST(EinsumRule, Shapes) {
  EXPECT_EQ(einsum("ij,jk->ik", {{2, 3}, {3, 4}}), "float32 [2, 4]");
  EXPECT_EQ(einsum("ba", {{2, 3}}), "float32 [3, 2]");
  EXPECT_EQ(einsum("ij,jk", {{2, 3}, {3, 4}}), "float32 [2, 4]");
  EXPECT_EQ(einsum("...ij,jk", {{5, 2, 3}, {3, 4}}), "float32 [5, 2, 4]");
  EXPECT_EQ(einsum("b...,...->...b", {{4, 5, 1}, {3}}), "float32 [5, 3, 4]");
}

TEST(EinsumRule, Faults) {
  EXPECT_EQ(einsum("ij,jk->ik", {{2, 3}}), "equation has 2 operands, the node 1");
  EXPECT_EQ(einsum("ij->i", {{2, 3, 4}}),
            "equation: 'ij' does not fit an operand of shape [2, 3, 4]");
  EXPECT_EQ(einsum("ij,jk->ik", {{2, 3}, {4, 4}}),
            "equation: extents 3 and 4 stand for the same axis");
  EXPECT_EQ(einsum("ij->ik", {{2, 3}}), "equation: no operand has the output's 'k'");
  EXPECT_EQ(einsum("ij->ii", {{2, 3}}), "equation: the output repeats a letter");
  EXPECT_EQ(einsum("i1->i", {{2, 3}}),
            "equation: 'i1' is no term of letters and at most one ellipsis");
  EXPECT_EQ(einsum("......->i", {{2, 3}}),
            "equation: '......' is no term of letters and at most one ellipsis");
  EXPECT_EQ(einsum("i->i->i", {{2}}),
            "equation: 'i->i' is no term of letters and at most one ellipsis");
}

// The matrix product costs what MatMul costs; a transposition nothing.
TEST(EinsumRule, Costs) {
  const auto cost_of = [](const std::string& equation, const std::vector<TestInput>& inputs) {
    return cost(one_node("Einsum", inputs, {{"equation", equation}}));
  };
  const NodeCost product = cost_of("ij,jk->ik", {f32({2, 3}), f32({3, 4})});
  EXPECT_EQ(product.flops, 2 * 24);
  EXPECT_EQ(product.multiply_adds, 24);
  EXPECT_EQ(cost_of("ij->ji", {f32({2, 3})}).flops, 0);
  EXPECT_EQ(cost_of("ij->i", {f32({2, 3})}).flops, 6);
  EXPECT_EQ(cost_of("i,j->ij", {f32({2}), f32({3})}).flops, 6);
}

TEST(RoiAlignRule, ShapesAndFaults) {
  const TensorType image = f32({2, 3, 8, 8}), rois = f32({5, 4}), batch = i64({5});
  const Attributes size = {{"output_height", std::int64_t{7}}, {"output_width", std::int64_t{6}}};
  EXPECT_EQ(outcome("RoiAlign", {image, rois, batch}, size), "float32 [5, 3, 7, 6]");
  EXPECT_EQ(outcome("RoiAlign", {image, f32({5, 5}), batch}),
            "rois has shape [5, 5]; expected [regions, 4]");
  EXPECT_EQ(outcome("RoiAlign", {image, rois, i64({4})}),
            "batch_indices is int64 [4]; expected int64 [5]");
  EXPECT_EQ(outcome("RoiAlign", {image, rois, batch}, {{"output_height", std::int64_t{0}}}),
            "output_height, output_width or sampling_ratio is out of range");
  Attributes sampled = size;
  sampled["sampling_ratio"] = std::int64_t{2};
  EXPECT_EQ(cost(one_node("RoiAlign", {image, rois, batch}, sampled)).flops, 9 * 4 * 5 * 3 * 42);
}

TEST(NonMaxSuppressionRule, HasAsManyRowsAsThereCanBe) {
  const TensorType boxes = f32({2, 6, 4}), scores = f32({2, 3, 6});
  const auto most = [](std::int64_t count) { return Tensor::scalar(count); };
  EXPECT_EQ(outcome("NonMaxSuppression", {boxes, scores, most(2)}), "int64 [12, 3]");
  EXPECT_EQ(outcome("NonMaxSuppression", {boxes, scores, most(99)}), "int64 [36, 3]");
  EXPECT_EQ(outcome("NonMaxSuppression", {boxes, scores}),
            "max_output_boxes_per_class = 0.000000 (its default is 0) selects nothing");
  EXPECT_EQ(outcome("NonMaxSuppression", {boxes, f32({2, 3, 5}), most(2)}),
            "boxes [2, 6, 4] and scores [2, 3, 5]; expected [batch, boxes, 4] and [batch, classes, "
            "boxes]");
}

}  // namespace
}  // namespace gradstone
