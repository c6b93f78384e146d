// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gradstone {
namespace {

Table example() {
  Table table;
  table.columns = {{"name"}, {"big number", true, 2}, {"x", true, 1}};
  table.rows = {{"a|b", 1234567, 0.123456}, {"µ, \"q\"\n", nullptr, std::nan("")}};
  return table;
}

TEST(Table, WholeNumbersOf64BitsAreTold) {
  Table table;
  table.columns = {{"n", true}};
  for (const Json& cell : {Json(18446744073709551615ull), Json(-1234567)}) {
    table.rows.emplace_back(1, cell);
  }
  EXPECT_EQ(table_csv(table), "n\n18446744073709551615\n-1234567\n");
  const std::string text = table_text(table, {});
  EXPECT_NE(text.find("18,446,744,073,709,551,615"), std::string::npos) << text;
  EXPECT_NE(text.find("-1,234,567"), std::string::npos) << text;
}

TEST(Printable, LeavesTextAndTakesWhatPlaysWithTheTerminal) {
  EXPECT_EQ(printable("na\u00efve \u20ac \U0001F600"), "na\u00efve \u20ac \U0001F600");
  EXPECT_EQ(printable("a\x1b[2Jb\nc\x7f"
                      "d\xc2\x9b"
                      "1m"),
            "a [2Jb c d 1m");
  // RFC 3629: stray and missing continuations, overlong forms, surrogates, beyond U+10FFFF.
  EXPECT_EQ(printable("\xff"
                      "a\x80"
                      "b\xc3"),
            "?a?b?");
  EXPECT_EQ(printable("\xc0\xaf"), "??");
  EXPECT_EQ(printable("\xed\xa0\x80"), "???");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????");
  EXPECT_EQ(wrapped("died: \x1b[31mred\xff", 80, 2), "died:  [31mred?");
}

TEST(Table, TextAlignsAndDropsWhatDoesNotFit) {
  EXPECT_EQ(table_text(example(), {80, false}),
            "name     big number       x\n"
            "a|b       1,234,567  0.1235\n"
            "µ, \"q\"            -     nan\n");
  EXPECT_EQ(table_text(example(), {20, false}),
            "name          x\n"
            "a|b      0.1235\n"
            "µ, \"q\"      nan\n");
  EXPECT_EQ(table_text(example(), {3, false}), "name\na|b\nµ, \"q\" \n");
}

TEST(Table, ColorOnlyWhereAllowed) {
  Table table = example();
  table.columns[0].color = [](std::string_view cell) -> std::string_view {
    return cell == "a|b" ? "\x1b[32m" : "";
  };
  EXPECT_EQ(table_text(table, {80, false}).find('\x1b'), std::string::npos);
  EXPECT_NE(table_text(table, {80, true}).find("\x1b[32ma|b"), std::string::npos);
}

TEST(Table, MachineFormatsKeepEveryDigit) {
  EXPECT_EQ(table_csv(example()),
            "name,big number,x\n"
            "a|b,1234567,0.123456\n"
            "\"µ, \"\"q\"\"\n\",,nan\n");
  EXPECT_EQ(write_json(table_json(example())),
            "[{\"name\":\"a|b\",\"big_number\":1234567,\"x\":0.123456},"
            "{\"name\":\"µ, \\\"q\\\"\\n\",\"big_number\":null,\"x\":null}]");
  EXPECT_EQ(table_markdown(example()),
            "| name | big number | x |\n"
            "|---|---:|---:|\n"
            "| a\\|b | 1,234,567 | 0.1235 |\n"
            "| µ, \"q\"  | - | nan |\n");
}

TEST(Table, ForeignTextCannotPlayWithTheTerminal) {
  Table table;
  table.columns = {{"m"}};
  table.rows = {{"a\x1b[2Jb"}};
  EXPECT_EQ(table_text(table, {80, false}), "m\na [2Jb\n");
}

TEST(Table, WrapsAtSpaces) {
  EXPECT_EQ(wrapped("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(wrapped("unbreakable", 3, 2), "unbreakable");
  EXPECT_EQ(wrapped("", 3, 2), "");
  EXPECT_EQ(wrapped("one two", 9, 4, "  a "), "  a one\n    two");
}

}  // namespace
}  // namespace gradstone
