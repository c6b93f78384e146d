// SPDX-License-Identifier: Apache-2.0
#include "graph/window.h"

#include <gtest/gtest.h>

#include "graph/one_node.h"

namespace gradstone {
namespace {

using testing::Attributes;
using testing::Ints;

Result<Window> window(Attributes attributes, const Shape& kernel, const Shape& input) {
  Node node;
  node.op = "Conv";
  node.attributes = std::move(attributes);
  return window_of(node, kernel, input);
}

// begin pads | end pads | outputs
std::string summary(const Result<Window>& window) {
  if (!window.ok()) return window.error().message;
  return to_string(window->pads_begin) + " | " + to_string(window->pads_end) + " | " +
         to_string(window->output);
}

Result<Window> pooling(Attributes attributes, std::int64_t kernel, std::int64_t input) {
  Node node;
  node.op = "MaxPool";
  node.attributes = std::move(attributes);
  node.attributes["kernel_shape"] = Ints{kernel};
  return pooling_window_of(node, {input});
}

TEST(Window, CountsFullWindowsOnly) {
  EXPECT_EQ(summary(window({}, {5, 5}, {28, 28})), "[0, 0] | [0, 0] | [24, 24]");
  EXPECT_EQ(summary(window({{"strides", Ints{2}}}, {3}, {8})), "[0] | [0] | [3]");
  EXPECT_EQ(
      summary(window({{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}}, {7, 7}, {224, 224})),
      "[3, 3] | [3, 3] | [112, 112]");
}

TEST(Window, PadsStandBeginsFirst) {
  EXPECT_EQ(summary(window({{"pads", Ints{1, 0, 2, 3}}}, {3, 3}, {5, 5})),
            "[1, 0] | [2, 3] | [6, 6]");
}

TEST(Window, DilationSpreadsTheKernel) {
  // 3 places 2 apart reach over 5.
  EXPECT_EQ(summary(window({{"dilations", Ints{2}}}, {3}, {5})), "[0] | [0] | [1]");
  EXPECT_EQ(summary(window({{"dilations", Ints{2}}}, {3}, {7})), "[0] | [0] | [3]");
  EXPECT_EQ(summary(window({{"dilations", Ints{3}}}, {3}, {6})),
            "window of 7 along spatial axis 0 is larger than the padded input of 6");
}

TEST(Window, SamePaddingPutsTheOddElementUpperOrLower) {
  const Ints stride = {2};
  // 4 windows from 0, 2, 4, 6 reach to 8, one beyond the 8 elements.
  EXPECT_EQ(summary(window({{"auto_pad", "SAME_UPPER"}, {"strides", stride}}, {3}, {8})),
            "[0] | [1] | [4]");
  EXPECT_EQ(summary(window({{"auto_pad", "SAME_LOWER"}, {"strides", stride}}, {3}, {8})),
            "[1] | [0] | [4]");
  EXPECT_EQ(summary(window({{"auto_pad", "SAME_UPPER"}}, {4}, {10})), "[1] | [2] | [10]");
  EXPECT_EQ(summary(window({{"auto_pad", "SAME_LOWER"}}, {4}, {10})), "[2] | [1] | [10]");
  // A stride over the kernel needs no padding.
  EXPECT_EQ(summary(window({{"auto_pad", "SAME_UPPER"}, {"strides", Ints{3}}}, {1}, {7})),
            "[0] | [0] | [3]");
  EXPECT_EQ(summary(window({{"auto_pad", "SAME_UPPER"}, {"dilations", Ints{2}}}, {3}, {7})),
            "[2] | [2] | [7]");
}

TEST(Window, ValidIsNoPadding) {
  EXPECT_EQ(summary(window({{"auto_pad", "VALID"}}, {3}, {8})), "[0] | [0] | [6]");
  EXPECT_EQ(
      summary(window({{"auto_pad", "VALID"}, {"ceil_mode", std::int64_t{1}}, {"strides", Ints{2}}},
                     {3}, {8})),
      "[0] | [0] | [3]");
}

TEST(Window, CeilModeKeepsAPartialWindowThatBeginsInTheInput) {
  const auto ceil = [](std::int64_t stride, Ints pads) {
    return Attributes{
        {"ceil_mode", std::int64_t{1}}, {"strides", Ints{stride}}, {"pads", std::move(pads)}};
  };
  // Windows at 0, 2, 4, 6: the last holds elements 6 and 7 of 8.
  EXPECT_EQ(summary(pooling(ceil(2, {0, 0}), 3, 8)), "[0] | [0] | [4]");
  // Exactly filled: as without.
  EXPECT_EQ(summary(pooling(ceil(2, {0, 0}), 3, 7)), "[0] | [0] | [3]");
  // Windows at -1, 2, 5 and, dropped, 8, which would lie in the padding.
  EXPECT_EQ(summary(pooling(ceil(3, {1, 1}), 2, 8)), "[1] | [1] | [3]");
  EXPECT_EQ(summary(pooling(ceil(2, {1, 1}), 2, 3)), "[1] | [1] | [2]");
}

TEST(Window, PoolingNeedsAnElementInEveryWindow) {
  EXPECT_EQ(summary(pooling({{"pads", Ints{2, 2}}}, 2, 8)),
            "padding 2 is not smaller than the window of 2");
  // Places -1 and 1 around an input of one element.
  EXPECT_EQ(summary(pooling({{"pads", Ints{1, 1}}, {"dilations", Ints{2}}}, 2, 1)),
            "dilation 2 steps over the whole input of 1");
  EXPECT_EQ(summary(pooling({{"pads", Ints{1, 1}}, {"dilations", Ints{2}}}, 2, 2)),
            "[1] | [1] | [2]");
}

TEST(Window, FaultsNameTheAttribute) {
  EXPECT_EQ(summary(window({{"strides", Ints{1}}}, {3, 3}, {8, 8})),
            "attribute 'strides' has 1 items; expected 2");
  EXPECT_EQ(summary(window({{"strides", Ints{0}}}, {3}, {8})),
            "attribute 'strides' holds 0; expected 1 to 2^30");
  EXPECT_EQ(summary(window({{"pads", Ints{0, -1}}}, {3}, {8})),
            "attribute 'pads' holds -1; expected 0 to 2^30");
  EXPECT_EQ(summary(window({{"dilations", Ints{INT64_MAX}}}, {3}, {8})),
            "attribute 'dilations' holds 9223372036854775807; expected 1 to 2^30");
  EXPECT_EQ(summary(window({{"auto_pad", "SAME_UPER"}}, {3}, {8})),
            "attribute 'auto_pad' has no choice 'SAME_UPER'; did you mean 'SAME_UPPER'?");
  EXPECT_EQ(summary(window({{"auto_pad", "VALID"}, {"pads", Ints{1, 1}}}, {3}, {8})),
            "attributes 'pads' and 'auto_pad' = VALID exclude each other; drop one");
  EXPECT_EQ(summary(window({}, {0}, {8})), "kernel [0] has an extent outside 1 to 2^30");
  EXPECT_EQ(summary(window({}, {3}, {8, 8})), "kernel [3] does not fit spatial extents [8, 8]");
}

}  // namespace
}  // namespace gradstone
