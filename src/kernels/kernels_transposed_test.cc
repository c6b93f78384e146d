// SPDX-License-Identifier: Apache-2.0
// ConvTranspose and MaxPool's places against hand-made values.
#include "kernels/testing/computed.h"

namespace gradstone::kernels {
namespace {

using namespace testing;

// y[stride i + k] += x[i] w[k], and b.
TEST(ConvTranspose, SpreadsEachInput) {
  const Tensor x = real({1, 1, 2}, {1, 10}), w = real({1, 1, 3}, {1, 2, 3});
  EXPECT_EQ(computed("ConvTranspose", {x, w}), (Numbers{1, 12, 23, 30}));
  EXPECT_EQ(computed("ConvTranspose", {x, w, real({1}, {100})}, {{"strides", Ints{2}}}),
            (Numbers{101, 102, 113, 120, 130}));
  EXPECT_EQ(computed("ConvTranspose", {x, w}, {{"pads", Ints{1, 0}}}), (Numbers{12, 23, 30}));
}

// Elements that no window reaches are zero; padding at the end comes off them first.
TEST(ConvTranspose, OutputPaddingBeyondTheStride) {
  const Tensor x = real({1, 1, 2}, {1, 10}), w = real({1, 1, 2}, {1, 2});
  const Attributes dilated = {{"dilations", Ints{3}}};
  EXPECT_EQ(computed("ConvTranspose", {x, w}, dilated), (Numbers{1, 10, 0, 2, 20}));
  Attributes padded = dilated;
  padded["output_padding"] = Ints{2};
  EXPECT_EQ(computed("ConvTranspose", {x, w}, padded), (Numbers{1, 10, 0, 2, 20, 0, 0}));
  padded["pads"] = Ints{0, 1};
  EXPECT_EQ(computed("ConvTranspose", {x, w}, padded), (Numbers{1, 10, 0, 2, 20, 0}));
}

TEST(ConvTranspose, SameMeansInputTimesStride) {
  const Tensor x = real({1, 1, 2}, {1, 10}), w = real({1, 1, 3}, {1, 2, 3});
  Attributes same = {{"auto_pad", "SAME_UPPER"}, {"strides", Ints{2}}};
  EXPECT_EQ(computed("ConvTranspose", {x, w}, same), (Numbers{1, 2, 13, 20}));
  same["auto_pad"] = "SAME_LOWER";
  EXPECT_EQ(computed("ConvTranspose", {x, w}, same), (Numbers{2, 13, 20, 30}));
  same["strides"] = Ints{4};
  EXPECT_EQ(computed("ConvTranspose", {x, w}, same), (Numbers{1, 2, 3, 0, 10, 20, 30, 0}));
}

TEST(ConvTranspose, GroupsKeepChannelsApart) {
  EXPECT_EQ(computed("ConvTranspose", {real({1, 2, 1}, {1, 10}), real({2, 2, 1}, {1, 2, 3, 4})},
                     {{"group", std::int64_t{2}}}),
            (Numbers{1, 2, 30, 40}));
}

TEST(MaxPoolIndices, CountTheWholeInput) {
  const Tensor x = real({2, 1, 2, 3}, {9, 1, 2, 3, 8, 4, 0, 1, 7, 2, 3, 4});
  Attributes window = {{"kernel_shape", Ints{2, 2}}};
  const auto rows = outputs_of("MaxPool", {x}, window, 2);
  EXPECT_EQ(numbers(rows[0]), (Numbers{9, 8, 3, 7}));
  EXPECT_EQ(numbers(rows[1]), (Numbers{0, 4, 10, 8}));
  window["storage_order"] = std::int64_t{1};
  EXPECT_EQ(numbers(outputs_of("MaxPool", {x}, window, 2)[1]), (Numbers{0, 3, 9, 10}));
}

TEST(MaxPoolTypes, SmallIntegers) {
  for (const DType dtype : {DType::kInt8, DType::kUInt8}) {
    const Tensor x = tensor(dtype, {1, 1, 3}, {1, 120, 3});
    EXPECT_EQ(computed("MaxPool", {x}, {{"kernel_shape", Ints{2}}}), (Numbers{120, 120}));
  }
}

TEST(GlobalMaxPool, TakesTheWholeImage) {
  EXPECT_EQ(computed("GlobalMaxPool", {real({1, 2, 2, 2}, {-5, -2, -3, -4, 1, 2, 4, 3})}),
            (Numbers{-2, 4}));
}

}  // namespace
}  // namespace gradstone::kernels
