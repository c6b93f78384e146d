// SPDX-License-Identifier: Apache-2.0
#include "graph/dtype.h"

#include <gtest/gtest.h>

#include <limits>

namespace gradstone {
namespace {

TEST(DType, NamesComeBack) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt8, DType::kInt32,
                            DType::kInt64, DType::kUInt8, DType::kBool}) {
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  }
  EXPECT_FALSE(dtype_from_name("float33").has_value());
}

TEST(DType, ElementsThatDoNotFitSaturate) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({kMost, 1}), kMost);
  EXPECT_EQ(element_count({kMost, 3, 224}), kMost);
  EXPECT_EQ(element_count({64, 0, 28}), 0);
}

}  // namespace
}  // namespace gradstone
