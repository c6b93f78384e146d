// SPDX-License-Identifier: Apache-2.0
#include "data/data_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "data/synthetic.h"

namespace gradstone {
namespace {

using ::testing::HasSubstr;

TEST(DataReferenceText, GoesThereAndBack) {
  for (const char* text :
       {"fashion-mnist", "fashion-mnist:/a:b", "mnist:here", "synthetic", "cifar10:c",
        "synthetic:shape=3x64x48,classes=7,train=100,test=20,seed=9", "synthetic:test=5"}) {
    const auto reference = parse_data_reference(text);
    ASSERT_TRUE(reference.ok()) << reference.error().message;
    EXPECT_EQ(to_string(*reference), text);
  }
  EXPECT_EQ(parse_data_reference("synthetic:shape=3x64x48").value().shape, (Shape{3, 64, 48}));
}

TEST(DataReferenceText, ErrorsSayWhatWouldBeRight) {
  const auto message = [](std::string_view text) {
    const auto reference = parse_data_reference(text);
    return reference.ok() ? "" : reference.error().message;
  };
  EXPECT_EQ(message("fashon-mnist"), "unknown data 'fashon-mnist'; did you mean 'fashion-mnist'?");
  EXPECT_EQ(message("imagenet"),
            "unknown data 'imagenet'; known are fashion-mnist, mnist, cifar10, synthetic");
  EXPECT_EQ(message("mnist"), "data mnist: name its folder as in mnist:FOLDER");
  EXPECT_EQ(message("synthetic:clases=3"),
            "data synthetic: clases: unknown; known are shape, classes, train, test, seed");
  EXPECT_EQ(message("synthetic:train=0"),
            "data synthetic: train: '0' is too small; the least is 1");
  EXPECT_EQ(message("synthetic:train=64,test=8,train=128"),
            "data synthetic: train is given twice; give it once");
  EXPECT_EQ(message("synthetic:"), "data synthetic: expected key=value after ':'");
  EXPECT_EQ(message("synthetic:train=64,"), "data synthetic: expected key=value after ','");
  EXPECT_EQ(message("synthetic:seed=18446744073709551616"),
            "data synthetic: seed: '18446744073709551616' is too large; the most is "
            "18446744073709551615");
  EXPECT_EQ(message("synthetic:shape=3x4x4x"),
            "data synthetic: shape: expected three extents as in 3x64x64");
  EXPECT_EQ(message("synthetic:shape=3x"),
            "data synthetic: shape: expected three extents as in 3x64x64");
  EXPECT_EQ(message("synthetic:seed=1x"), "data synthetic: seed: '1x' is not a whole number");
  EXPECT_EQ(parse_data_reference("x").error().kind, ErrorKind::kUsage);
}

std::vector<std::uint8_t> pixels_of(const DataSet& data, Split split, std::int64_t index) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(element_count(data.sample_shape())));
  data.read(split, index, pixels);
  return pixels;
}

TEST(Synthetic, FillsWhatTheReferenceLeavesOpen) {
  const auto reference = parse_data_reference("synthetic:train=50").value();
  const auto data = open_data(reference, {{3, 9, 11}, 4}).value();
  EXPECT_EQ(data->count(Split::kTrain), 50);
  EXPECT_EQ(data->count(Split::kTest), kSyntheticTestCount);
  EXPECT_EQ(data->sample_shape(), (Shape{3, 9, 11}));
  EXPECT_EQ(data->classes(), 4);
}

TEST(Synthetic, IsAFunctionOfItsSeed) {
  const DataNeed need = {{1, 16, 16}, 10};
  const auto one = open_data({"synthetic"}, need).value();
  const auto again = open_data({"synthetic"}, need).value();
  DataReference other_seed = {"synthetic"};
  other_seed.seed = 2;
  const auto other = open_data(other_seed, need).value();
  EXPECT_EQ(pixels_of(*one, Split::kTrain, 17), pixels_of(*again, Split::kTrain, 17));
  EXPECT_NE(pixels_of(*one, Split::kTrain, 17), pixels_of(*other, Split::kTrain, 17));
  EXPECT_NE(pixels_of(*one, Split::kTrain, 17), pixels_of(*one, Split::kTest, 17));
  EXPECT_NE(pixels_of(*one, Split::kTrain, 17), pixels_of(*one, Split::kTrain, 27));
  EXPECT_EQ(one->checksum(), again->checksum());
  EXPECT_NE(one->checksum(), other->checksum());
}

// The mean image of each class over the training split tells the test split apart: what a linear
// network can learn.
TEST(Synthetic, LabelsCanBeLearnt) {
  DataReference reference = {"synthetic"};
  reference.train_count = 400;
  reference.test_count = 200;
  const auto data = open_data(reference, {{3, 12, 10}, 10}).value();
  const std::size_t elements = 3 * 12 * 10;
  std::vector<std::vector<double>> means(10, std::vector<double>(elements));
  for (std::int64_t i = 0; i < 400; ++i) {
    const auto pixels = pixels_of(*data, Split::kTrain, i);
    auto& mean = means.at(static_cast<std::size_t>(data->label(Split::kTrain, i)));
    for (std::size_t p = 0; p < elements; ++p) mean[p] += pixels[p] / 40.0;
  }
  int right = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    const auto pixels = pixels_of(*data, Split::kTest, i);
    std::vector<double> distances;
    for (const auto& mean : means) {
      double sum = 0;
      for (std::size_t p = 0; p < elements; ++p)
        sum += (pixels[p] - mean[p]) * (pixels[p] - mean[p]);
      distances.push_back(sum);
    }
    const auto nearest = std::min_element(distances.begin(), distances.end()) - distances.begin();
    if (nearest == data->label(Split::kTest, i)) ++right;
  }
  EXPECT_GE(right, 190);
}

TEST(Synthetic, RefusesShapesBeyondReason) {
  DataReference reference = {"synthetic"};
  for (const Shape& shape : {Shape{3, 64}, Shape{1, 1 << 20, 1 << 20}, Shape{0, 4, 4},
                             Shape{std::int64_t{1} << 40, std::int64_t{1} << 40, 1}}) {
    reference.shape = shape;
    EXPECT_THAT(open_data(reference, {{1, 2, 2}, 2}).error().message,
                HasSubstr("expected three positive extents"));
  }
  reference.shape = {1, 4, 4};
  reference.classes = std::int64_t{1} << 50;
  EXPECT_THAT(open_data(reference, {}).error().message, HasSubstr("choose fewer"));
}

}  // namespace
}  // namespace gradstone
