// SPDX-License-Identifier: Apache-2.0
#include "report/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "report/figures.h"

namespace gradstone {
namespace {

using testing::HasSubstr;
using testing::Not;

RunRecord example() {
  RunRecord record;
  record.id = "20261130-093512-3fa9c1";
  record.workload = "lenet";
  record.size = "small";
  record.engine = "engine@1.13.1";
  record.outcome = Outcome::kOk;
  record.metrics["throughput"] = {5000, "samples/s", 4950, 5040};
  record.metrics["step_time"] = {0.0125, "s", {}, {}};
  record.metrics["final_loss"] = {std::nan(""), "1", {}, {}};
  record.metrics["own_figure"] = {2, "1", {}, {}};
  record.samples["loss"] = {2.5, std::nan("")};
  record.context["settings"] = {{"batch", 64}, {"threads", 2}};
  record.context["machine"] = {{"cpu", "Some CPU"},      {"logical_cpus", 2},
                               {"hypervisor", true},     {"memory_bytes", 8589934592},
                               {"system", "X Linux 12"}, {"kernel", "6.1"}};
  record.context["warnings"] = {"busy machine"};
  return record;
}

RunRecord failed_example() {
  RunRecord record = example();
  record.id = "20261130-093600-000000";
  record.outcome = Outcome::kTimedOut;
  record.message = "no end, after \"3\" s";
  record.metrics.clear();
  record.samples.clear();
  return record;
}

std::string written(const char* format, const std::vector<RunRecord>& records, int width = 120) {
  return (*find_report_format(format))->write(records, {width, false});
}

TEST(Formats, TableComparesRunsAndSaysWhy) {
  const std::string text = written("table", {example(), failed_example()}, 160);
  EXPECT_THAT(text, HasSubstr("2 x Some CPU (virtual machine), 8 GiB, X Linux 12, kernel 6.1\n"));
  EXPECT_THAT(text, HasSubstr("5,000 ±1%"));
  EXPECT_THAT(text, HasSubstr("12.5 ms"));
  EXPECT_THAT(text, HasSubstr("timed_out: no end, after \"3\" s"));
  // Once, though both runs have it.
  EXPECT_EQ(text.find("warning: busy machine"), text.rfind("warning: busy machine"));
  EXPECT_THAT(text, Not(HasSubstr("95% interval")));
}

TEST(Formats, OneRunShowsEveryFigure) {
  const std::string text = written("table", {example()});
  EXPECT_THAT(text, HasSubstr("[4,950, 5,040]"));
  EXPECT_THAT(text, HasSubstr("own_figure"));
}

TEST(Formats, TableFitsTheTerminal) {
  for (const int width : {80, 100, 120}) {
    const std::string text = written("table", {example(), failed_example()}, width);
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos;
         end = text.find('\n', begin)) {
      EXPECT_LE(text_width(std::string_view(text).substr(begin, end - begin)),
                static_cast<std::size_t>(width));
      begin = end + 1;
    }
    EXPECT_THAT(text, HasSubstr("timed_out"));
  }
}

TEST(Formats, JsonReadsBackAndNonFiniteIsNull) {
  const std::string text = written("json", {example(), failed_example()});
  const auto read = records_from_json(parse_json(text).value()).value();
  EXPECT_EQ(to_json(read[0]), to_json(example()));
  EXPECT_EQ(read[1].message, failed_example().message);
  EXPECT_TRUE(parse_json(text).value()["records"][0]["samples"]["loss"][1].is_null());
}

TEST(Formats, JsonLinesHoldOneRecordEach) {
  const std::string text = written("jsonl", {example(), failed_example()});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  const Json first = parse_json(text.substr(0, text.find('\n'))).value();
  EXPECT_EQ(first.begin().key(), "schema");
  EXPECT_EQ(record_from_json(first).value().id, example().id);
}

TEST(Formats, CsvHasOneLineAFigure) {
  const std::string text = written("csv", {example(), failed_example()});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 4 + 1);
  EXPECT_THAT(text, HasSubstr("throughput,5000,4950,5040,samples/s\n"));
  EXPECT_THAT(text, HasSubstr("final_loss,,,,1\n"));
  EXPECT_THAT(text, HasSubstr("timed_out,\"no end, after \"\"3\"\" s\",,,,,\n"));
}

TEST(Formats, MarkdownIsATable) {
  const std::string text = written("md", {example(), failed_example()});
  EXPECT_THAT(text, HasSubstr("|---|"));
  EXPECT_THAT(text, HasSubstr("\n* warning: busy machine\n"));
}

TEST(Formats, UnknownOnesAreSuggested) {
  EXPECT_EQ(find_report_format("jsn").error().message,
            "--format: unknown format 'jsn'; did you mean 'json'? (table, md, json, jsonl, csv)");
}

TEST(Figures, AreScaledToTheirUnit) {
  EXPECT_EQ(figure_text(0.0123, "s"), "12.3 ms");
  EXPECT_EQ(figure_text(90, "s"), "90 s");
  EXPECT_EQ(figure_text(2.5e-7, "s"), "250 ns");
  EXPECT_EQ(figure_text(0, "s"), "0 s");
  EXPECT_EQ(figure_text(1.5 * 1073741824, "B"), "1.5 GiB");
  EXPECT_EQ(figure_text(4.2139e9, "FLOP/s"), "4.214 GFLOP/s");
  EXPECT_EQ(figure_text(8178368512.0, "FLOP"), "8.178 GFLOP");
  EXPECT_EQ(figure_text(5123.4, "samples/s"), "5123 samples/s");
  EXPECT_EQ(figure_text(431080, "1"), "431,080");
  EXPECT_EQ(figure_text(0.87346, "1"), "0.8735");
  EXPECT_EQ(figure_text(std::nan(""), "s"), "-");
  EXPECT_EQ(time_text(1796030112123), "2026-11-30 09:15:12");
  EXPECT_EQ(time_text(0), "");
}

}  // namespace
}  // namespace gradstone
