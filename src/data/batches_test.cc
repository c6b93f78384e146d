// SPDX-License-Identifier: Apache-2.0
#include "data/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace gradstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::uint32_t> epoch_of(BatchOrder& order, std::int64_t epoch) {
  std::vector<std::uint32_t> all;
  for (std::int64_t i = 0; i < order.batches_per_epoch(); ++i) {
    const auto samples = order.samples(epoch * order.batches_per_epoch() + i);
    EXPECT_EQ(static_cast<std::int64_t>(samples.size()), order.batch_size(i));
    all.insert(all.end(), samples.begin(), samples.end());
  }
  EXPECT_EQ(static_cast<std::int64_t>(all.size()), order.samples_per_epoch());
  return all;
}

TEST(BatchOrder, EachEpochIsThePermutationOfItsNumber) {
  auto order = BatchOrder::make(12, 4, LastBatch::kDrop, 5).value();
  EXPECT_EQ(epoch_of(order, 0), permutation(CounterRandom(5, stream_of("order/0")), 12));
  EXPECT_EQ(epoch_of(order, 3), permutation(CounterRandom(5, stream_of("order/3")), 12));
  EXPECT_NE(epoch_of(order, 0), epoch_of(order, 1));
}

TEST(BatchOrder, LastBatchIsDroppedWrappedOrSmaller) {
  const auto whole = permutation(CounterRandom(1, stream_of("order/0")), 10);
  auto drop = BatchOrder::make(10, 4, LastBatch::kDrop, 1).value();
  EXPECT_EQ(epoch_of(drop, 0), std::vector(whole.begin(), whole.begin() + 8));
  auto smaller = BatchOrder::make(10, 4, LastBatch::kSmaller, 1).value();
  EXPECT_EQ(smaller.batch_size(2), 2);
  EXPECT_EQ(epoch_of(smaller, 0), whole);
  auto wrap = BatchOrder::make(10, 4, LastBatch::kWrap, 1).value();
  auto wrapped = whole;
  wrapped.insert(wrapped.end(), whole.begin(), whole.begin() + 2);
  EXPECT_EQ(epoch_of(wrap, 0), wrapped);
}

TEST(BatchOrder, EvenEpochsHaveNoSpecialLastBatch) {
  for (const LastBatch last : {LastBatch::kDrop, LastBatch::kWrap, LastBatch::kSmaller}) {
    auto order = BatchOrder::make(8, 4, last, 1).value();
    EXPECT_EQ(order.batches_per_epoch(), 2);
    EXPECT_EQ(order.batch_size(1), 4);
    EXPECT_EQ(order.samples_per_epoch(), 8);
  }
}

TEST(BatchOrder, BatchesLargerThanTheSplit) {
  EXPECT_THAT(BatchOrder::make(3, 4, LastBatch::kDrop, 1).error().message,
              HasSubstr("batch 4 is larger than the 3 training samples"));
  auto wrap = BatchOrder::make(3, 8, LastBatch::kWrap, 1).value();
  const auto samples = epoch_of(wrap, 0);
  for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(samples[i], samples[i % 3]);
  EXPECT_EQ(BatchOrder::make(3, 4, LastBatch::kSmaller, 1).value().batch_size(0), 3);
  EXPECT_FALSE(BatchOrder::make(3, 0, LastBatch::kWrap, 1).ok());
}

TEST(EvaluationBatches, CoverEverySampleOnce) {
  EXPECT_EQ(evaluation_batches(10, 4), 3);
  EXPECT_THAT(evaluation_batch(10, 4, 1).samples, ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(evaluation_batch(10, 4, 1).valid, 4);
  EXPECT_THAT(evaluation_batch(10, 4, 2).samples, ElementsAre(8, 9, 9, 9));
  EXPECT_EQ(evaluation_batch(10, 4, 2).valid, 2);
  EXPECT_EQ(evaluation_batches(8, 4), 2);
}

// Two channels of 2 x 3; pixel = 100 sample + 10 channel + place; label = sample + 1.
class SmallDataSet final : public DataSet {
 public:
  std::int64_t count(Split) const override { return 2; }
  const Shape& sample_shape() const override { return shape_; }
  std::int64_t classes() const override { return 3; }
  void read(Split, std::int64_t index, std::span<std::uint8_t> pixels) const override {
    for (std::size_t i = 0; i < 12; ++i) {
      pixels[i] = static_cast<std::uint8_t>(100 * index + 10 * (i / 6) + i % 6);
    }
  }
  std::int64_t label(Split, std::int64_t index) const override { return index + 1; }
  std::string checksum() const override { return ""; }

 private:
  Shape shape_ = {2, 2, 3};
};

TEST(BatchFiller, ScalesSubtractsAndDividesByChannel) {
  const SmallDataSet data;
  Preprocess preprocess;
  preprocess.scale = 0.5;
  preprocess.mean = {1, 2};
  preprocess.deviation = {4};
  Tensor images({DType::kFloat64, {2, 2, 2, 3}});
  Tensor labels({DType::kInt64, {2}});
  const std::vector<std::uint32_t> samples = {1, 0};
  const auto filler = BatchFiller::make(data, preprocess, images.type(), 3);
  ASSERT_TRUE(filler.ok()) << filler.error().message;
  filler->fill(Split::kTrain, samples, images.sink(), labels.sink());
  EXPECT_THAT(labels.as<std::int64_t>(), ElementsAre(2, 1));
  const auto values = images.as<double>();
  for (std::size_t i = 0; i < 24; ++i) {
    const double sample = i < 12 ? 1 : 0, channel = i / 6 % 2;
    const double pixel = 100 * sample + 10 * channel + static_cast<double>(i % 6);
    EXPECT_EQ(values[i], (pixel * 0.5 - (channel + 1)) / 4) << i;
  }
}

TEST(BatchFiller, PadsAndCropsAroundTheMiddle) {
  const SmallDataSet data;
  Preprocess preprocess;
  preprocess.scale = 1;
  preprocess.mean = {-1};  // so that padding, a black pixel like others, is not 0 in the end
  preprocess.height = 5;
  preprocess.width = 1;
  Tensor images({DType::kFloat32, {1, 2, 5, 1}});
  Tensor labels({DType::kInt32, {1}});
  const std::vector<std::uint32_t> samples = {0};
  const auto filler = BatchFiller::make(data, preprocess, images.type(), 3);
  ASSERT_TRUE(filler.ok()) << filler.error().message;
  for (int repeat = 0; repeat < 2; ++repeat) {  // buffers are recycled: padding is written anew
    filler->fill(Split::kTrain, samples, images.sink(), labels.sink());
    EXPECT_THAT(images.as<float>(), ElementsAre(1, 2, 5, 1, 1, 1, 12, 15, 1, 1));
    std::fill(images.as<float>().begin(), images.as<float>().end(), 7.f);
  }
  EXPECT_THAT(labels.as<std::int32_t>(), ElementsAre(1));
}

TEST(BatchFiller, RefusesWhatDoesNotFit) {
  const SmallDataSet data;
  const TensorType image = {DType::kFloat32, {4, 2, 2, 3}};
  Preprocess preprocess;
  EXPECT_TRUE(BatchFiller::make(data, preprocess, image, 3).ok());
  EXPECT_THAT(BatchFiller::make(data, preprocess, image, 2).error().message,
              HasSubstr("the data has 3 classes, the network tells 2 apart"));
  EXPECT_THAT(
      BatchFiller::make(data, preprocess, {DType::kFloat32, {4, 2, 3, 3}}, 3).error().message,
      HasSubstr("images are [2, 2, 3] after preprocessing, the network takes [4, 2, 3, 3]"));
  EXPECT_FALSE(BatchFiller::make(data, preprocess, {DType::kInt32, {4, 2, 2, 3}}, 3).ok());
  preprocess.mean = {1, 2, 3};
  EXPECT_THAT(BatchFiller::make(data, preprocess, image, 3).error().message,
              HasSubstr("one for each of the 2 channels"));
}

}  // namespace
}  // namespace gradstone
