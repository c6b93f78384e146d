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

TEST(Units, WholeNumbersAreNeverCutToWhatFits) {
  EXPECT_EQ(parse_integer<std::int64_t>("010").value(), 10);
  EXPECT_EQ(parse_integer<std::int64_t>("9223372036854775807").value(), INT64_MAX);
  EXPECT_EQ(parse_integer<std::uint64_t>("18446744073709551615").value(), UINT64_MAX);
  EXPECT_EQ(parse_integer<int>("-3", -3).value(), -3);
  const auto message = [](auto result) { return result.error().message; };
  EXPECT_EQ(message(parse_integer<std::int64_t>("9223372036854775808")),
            "'9223372036854775808' is too large; the most is 9223372036854775807");
  EXPECT_EQ(message(parse_integer<std::int64_t>("7", 1, 6)), "'7' is too large; the most is 6");
  EXPECT_EQ(message(parse_integer<std::uint64_t>("18446744073709551616")),
            "'18446744073709551616' is too large; the most is 18446744073709551615");
  EXPECT_EQ(message(parse_integer<std::uint64_t>("-1")), "'-1' is too small; the least is 0");
  EXPECT_EQ(message(parse_integer<int>("-99999999999", 1)),
            "'-99999999999' is too small; the least is 1");
  EXPECT_EQ(message(parse_integer<int>("0", 1)), "'0' is too small; the least is 1");
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1.5", "1e3", "0x10", "three", "--1"}) {
    EXPECT_EQ(message(parse_integer<int>(text)),
              "'" + std::string(text) + "' is not a whole number");
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
  EXPECT_EQ(parse_seconds("1e308d").error().kind, ErrorKind::kUsage);
}

}  // namespace
}  // namespace gradstone
