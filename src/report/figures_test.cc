// SPDX-License-Identifier: Apache-2.0
#include "report/figures.h"

#include <gtest/gtest.h>

namespace gradstone {
namespace {

TEST(Figures, SpreadHasTwoDigitsAndNoExponent) {
  const auto spread = [](double half) { return spread_text({1, "", 1 - half, 1 + half}); };
  EXPECT_EQ(spread(0.01234), " ±1.2%");
  EXPECT_EQ(spread(0.994), " ±99%");
  EXPECT_EQ(spread(1.24), " ±120%");
  EXPECT_EQ(spread(7.14), " ±710%");
  EXPECT_EQ(spread(81.6), " ±8200%");
  EXPECT_EQ(spread(1e300), " ±1e+302%");
  EXPECT_EQ(spread_text({1, "", {}, 2.0}), "");
}

TEST(Figures, HugeFiguresStayShort) {
  for (const char* unit : {"1", "s", "B", "FLOP/s", "samples/s"}) {
    EXPECT_LT(figure_text(1.7e308, unit).size(), 20u) << unit;
    EXPECT_LT(figure_text(-1.7e308, unit).size(), 20u) << unit;
  }
  EXPECT_EQ(figure_text(123456.7, "1"), "123457");
}

}  // namespace
}  // namespace gradstone
