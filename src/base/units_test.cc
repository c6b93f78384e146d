// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <gtest/gtest.h>

namespace gradstone {
namespace {

TEST(Units, Sizes) {
  EXPECT_EQ(parse_bytes("512").value(), 512);
  EXPECT_EQ(parse_bytes("10GiB").value(), 10737418240);
  EXPECT_EQ(parse_bytes("1.5G").value(), 1610612736);
  EXPECT_EQ(parse_bytes("200MB").value(), 200'000'000);
  EXPECT_EQ(parse_bytes("10 GiB").error().message,
            "'10 GiB' is not a size such as 512MiB or 10GiB");
  for (const char* text : {"", "GiB", "-1", "nan", "inf", "1e300", "9e18"}) {
    EXPECT_EQ(parse_bytes(text).error().kind, ErrorKind::kUsage) << text;
  }
}

TEST(Units, Durations) {
  EXPECT_EQ(parse_seconds("90").value(), 90);
  EXPECT_EQ(parse_seconds("250ms").value(), 0.25);
  EXPECT_EQ(parse_seconds("1.5h").value(), 5400);
  EXPECT_EQ(parse_seconds("10m").value(), parse_seconds("10min").value());
  EXPECT_EQ(parse_seconds("2d").value(), 172800);
  EXPECT_EQ(parse_seconds("soon").error().message,
            "'soon' is not a duration such as 90s, 10min or 1h");
}

}  // namespace
}  // namespace gradstone
