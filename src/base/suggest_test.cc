// SPDX-License-Identifier: Apache-2.0
#include "base/suggest.h"

#include <gtest/gtest.h>

namespace gradstone {
namespace {

const std::vector<std::string_view> kWords = {"Concat", "Conv", "Relu", "strides", "Softmax"};

TEST(Suggest, NamesTheNearestWord) {
  EXPECT_EQ(did_you_mean("Conv3", kWords), "; did you mean 'Conv'?");
  EXPECT_EQ(did_you_mean("stride", kWords), "; did you mean 'strides'?");
  EXPECT_EQ(did_you_mean("SOFTMAX", kWords), "; did you mean 'Softmax'?");
}

TEST(Suggest, ASwapOfNeighboursIsOneEdit) {
  EXPECT_EQ(did_you_mean("Rleu", kWords), "; did you mean 'Relu'?");
  EXPECT_EQ(did_you_mean("leRu", kWords), "");  // two edits of a four-letter word
}

TEST(Suggest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(did_you_mean("Banana", kWords), "");
  EXPECT_EQ(did_you_mean("", kWords), "");
  EXPECT_EQ(did_you_mean("Conv", {}), "");
  EXPECT_EQ(did_you_mean(std::string(100000, 'R'), kWords), "");
}

TEST(Suggest, CaseDecidesThenTheFirst) {
  EXPECT_EQ(did_you_mean("relu", {"RELU", "Relu"}), "; did you mean 'Relu'?");
  EXPECT_EQ(did_you_mean("bat", {"cat", "hat"}), "; did you mean 'cat'?");
}

}  // namespace
}  // namespace gradstone
