// SPDX-License-Identifier: Apache-2.0
// Resize, Einsum, RoiAlign and NonMaxSuppression against closed forms.
#include <algorithm>

#include "graph/expansion.h"
#include "graph/testing/gradient_cases_sampling.h"
#include "kernels/testing/computed.h"

namespace gradstone::kernels {
namespace {

using gradstone::testing::Attributes;
using testing::computed;
using testing::Ints;
using testing::list;
using testing::Numbers;
using testing::numbers;
using testing::outputs_of;
using testing::real;

void expect_all_near(const Numbers& found, const Numbers& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
}

Numbers scaled(const Numbers& x, double scale, const Attributes& attributes) {
  const Tensor input = real({static_cast<std::int64_t>(x.size())}, x);
  return computed("Resize", {input, {}, real({1}, {scale})}, attributes);
}

Attributes resize(const std::string& mode, const std::string& coordinate) {
  return {{"mode", mode}, {"coordinate_transformation_mode", coordinate}};
}

TEST(Resize, LinearInterpolates) {
  expect_all_near(scaled({1, 2}, 2, resize("linear", "half_pixel")), {1, 1.25, 1.75, 2});
  expect_all_near(scaled({1, 2}, 2, resize("linear", "asymmetric")), {1, 1.5, 2, 2});
  expect_all_near(scaled({1, 3}, 1.5, resize("linear", "align_corners")), {1, 2, 3});
  // The output counts as 2.4 elements long, not 2: the second lies at 3 / 1.4.
  expect_all_near(scaled({1, 2, 3, 4}, 0.6, resize("linear", "align_corners")), {1, 1 + 3 / 1.4});
  expect_all_near(scaled({1, 2, 6}, 0.5, resize("linear", "half_pixel")), {1.5});
  expect_all_near(scaled({1, 2, 6}, 0.5, resize("linear", "pytorch_half_pixel")), {1});
}

// Places 0, 0.5, 1, 1.5 of two elements.
TEST(Resize, NearestRounds) {
  Attributes attributes = resize("nearest", "asymmetric");
  const std::vector<std::pair<std::string, Numbers>> expected = {
      {"round_prefer_floor", {1, 1, 2, 2}},
      {"round_prefer_ceil", {1, 2, 2, 2}},
      {"floor", {1, 1, 2, 2}},
      {"ceil", {1, 2, 2, 2}}};
  for (const auto& [rounding, values] : expected) {
    attributes["nearest_mode"] = rounding;
    EXPECT_EQ(scaled({1, 2}, 2, attributes), values) << rounding;
  }
  // 5 elements to 3: places 1/3, 2, 11/3 lie nearest to 0, 2 and 4, above 1, 2 and 4.
  EXPECT_EQ(scaled({1, 2, 3, 4, 5}, 0.6, resize("nearest", "half_pixel")), (Numbers{1, 3, 5}));
  EXPECT_EQ(scaled({1, 2}, 2, resize("nearest", "tf_half_pixel_for_nn")), (Numbers{1, 2, 2, 2}));
}

// Keys' kernel half way between elements with a = -1/2: (-1, 9, 9, -1) / 16.
TEST(Resize, CubicWeights) {
  Attributes attributes = resize("cubic", "asymmetric");
  attributes["cubic_coeff_a"] = -0.5;
  const Numbers found = scaled({16, 0, 0, 0, 0}, 2, attributes);
  expect_all_near(found, {16, 8, 0, -1, 0, 0, 0, 0, 0, 0});
  attributes["exclude_outside"] = std::int64_t{1};
  expect_all_near({scaled({17, 0, 0, 0, 0}, 2, attributes)[1]}, {9});
}

TEST(Resize, ConstantsStay) {
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    for (const std::string coordinate : {"half_pixel", "align_corners", "asymmetric"}) {
      expect_all_near(scaled({3, 3, 3, 3, 3}, 1.6, resize(mode, coordinate)), Numbers(8, 3.0));
    }
  }
}

TEST(Einsum, ComputesTheDefiningSum) {
  const Tensor a = real({2, 2}, {1, 2, 3, 4}), b = real({2, 2}, {5, 6, 7, 8});
  const auto einsum = [](const std::string& equation, const std::vector<Tensor>& operands) {
    return computed("Einsum", {operands.begin(), operands.end()}, {{"equation", equation}});
  };
  EXPECT_EQ(einsum("ij,jk->ik", {a, b}), (Numbers{19, 22, 43, 50}));
  EXPECT_EQ(einsum("ij,ij->", {a, b}), Numbers{70});
  EXPECT_EQ(einsum("ii", {a}), Numbers{5});
  EXPECT_EQ(einsum("ij->ji", {a}), (Numbers{1, 3, 2, 4}));
  EXPECT_EQ(einsum("...i,...->i...", {a, real({2}, {10, 100})}), (Numbers{10, 300, 20, 400}));
  EXPECT_EQ(einsum("i,i", {testing::tensor(DType::kInt8, {2}, {100, 1}),
                           testing::tensor(DType::kInt8, {2}, {2, 1})}),
            Numbers{-55});
}

// The kernel computes the definition, the expansion works with matrix products.
TEST(Einsum, ItsExpansionIsTheSame) {
  for (const gradstone::testing::GradientCase& test : gradstone::testing::einsum_cases()) {
    SCOPED_TRACE(test.name);
    const Graph graph = gradstone::testing::graph_of(test);
    const Expanded expanded = expand_nodes(graph, [](const Node&, const OpDef& row) {
                                return row.name == "Einsum";
                              }).value();
    std::map<std::string, Tensor> values;
    for (const GraphInput& input : graph.inputs) {
      values[input.name] = gradstone::testing::case_tensor(
          input.type.shape, gradstone::testing::Values::kAny, input.name);
    }
    const auto direct = evaluate(graph, values), through = evaluate(expanded.graph, values);
    ASSERT_TRUE(direct.ok() && through.ok());
    expect_all_near(numbers((*through)[0]), numbers((*direct)[0]));
  }
}

// An image whose value is 10 row + column: bilinear samples are exact.
Tensor slope(const Shape& shape) {
  Tensor image({DType::kFloat64, shape});
  const std::int64_t width = shape[3], height = shape[2];
  for (std::int64_t i = 0; i < image.type().elements(); ++i) {
    image.as<double>()[static_cast<std::size_t>(i)] =
        10.0 * static_cast<double>(i / width % height) + static_cast<double>(i % width);
  }
  return image;
}

TEST(RoiAlign, AveragesAndMaximaOfALinearImage) {
  const Tensor image = slope({1, 1, 8, 8}), batch = list({0});
  const Tensor roi = real({1, 4}, {1, 2, 5, 6});  // x1, y1, x2, y2
  Attributes attributes = {{"output_height", std::int64_t{2}},
                           {"sampling_ratio", std::int64_t{2}},
                           {"coordinate_transformation_mode", "output_half_pixel"}};
  // Bins of rows 2..4 and 4..6, columns 1..5: their centres are rows 3 and 5, column 3.
  expect_all_near(computed("RoiAlign", {image, roi, batch}, attributes), {33, 53});
  attributes["coordinate_transformation_mode"] = "half_pixel";
  expect_all_near(computed("RoiAlign", {image, roi, batch}, attributes), {27.5, 47.5});
  attributes["mode"] = "max";  // samples half a row and a column below the centre
  expect_all_near(computed("RoiAlign", {image, roi, batch}, attributes), {33.5, 53.5});
  attributes["sampling_ratio"] = std::int64_t{0};  // 2 rows by 4 columns of samples
  expect_all_near(computed("RoiAlign", {image, roi, batch}, attributes), {34, 54});
}

TEST(RoiAlign, WhatLiesOutsideIsZero) {
  const Tensor image = real({1, 1, 2, 2}, {1, 1, 1, 1}), batch = list({0});
  EXPECT_EQ(computed("RoiAlign", {image, real({1, 4}, {-9, -9, -7, -7}), batch}), Numbers{0});
  EXPECT_EQ(computed("RoiAlign", {image, real({1, 4}, {1, 1, 1, 1}), batch}), Numbers{0});
  const auto faulty = evaluate(
      gradstone::testing::one_node("RoiAlign", {image, real({1, 4}, {0, 0, 1, 1}), list({1})}), {});
  ASSERT_FALSE(faulty.ok());
  EXPECT_NE(faulty.error().message.find("batch index 1"), std::string::npos);
  const auto huge = evaluate(
      gradstone::testing::one_node("RoiAlign", {image, real({1, 4}, {0, 0, 1e6, 1e6}), batch}), {});
  ASSERT_FALSE(huge.ok());
  EXPECT_NE(huge.error().message.find("too large"), std::string::npos);
}

// Boxes 0 and 1 overlap by 1/3, box 2 stands alone.
TEST(NonMaxSuppression, KeepsTheBestOfOverlappingBoxes) {
  const Tensor boxes = real({1, 3, 4}, {0, 0, 2, 2, 2, 3, 0, 1, 5, 5, 6, 6});
  const Tensor scores = real({1, 2, 3}, {0.5, 0.9, 0.7, 0.9, 0.5, 0.1});
  const Tensor most = Tensor::scalar(std::int64_t{3});
  const auto kept = [&](double overlap, double score) {
    return computed("NonMaxSuppression",
                    {boxes, scores, most, Tensor::scalar(overlap), Tensor::scalar(score)});
  };
  EXPECT_EQ(kept(0.3, 0), (Numbers{0, 0, 1, 0, 0, 2, 0, 1, 0, 0, 1, 2, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(kept(0.4, 0.6),
            (Numbers{0, 0, 1, 0, 0, 2, 0, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(computed("NonMaxSuppression", {boxes, scores, Tensor::scalar(std::int64_t{1})}),
            (Numbers{0, 0, 1, 0, 1, 0}));
}

TEST(NonMaxSuppression, BoxesByTheirCentre) {
  const Tensor boxes = real({1, 2, 4}, {1, 1, 2, 2, 2, 1, 2, 2});  // x, y, width, height
  const Tensor scores = real({1, 1, 2}, {0.5, 0.9}), most = Tensor::scalar(std::int64_t{2});
  const Attributes center = {{"center_point_box", std::int64_t{1}}};
  EXPECT_EQ(computed("NonMaxSuppression", {boxes, scores, most, Tensor::scalar(0.3)}, center),
            (Numbers{0, 0, 1, -1, -1, -1}));
  EXPECT_EQ(computed("NonMaxSuppression", {boxes, scores, most, Tensor::scalar(0.34)}, center),
            (Numbers{0, 0, 1, 0, 0, 0}));
}

}  // namespace
}  // namespace gradstone::kernels
