// SPDX-License-Identifier: Apache-2.0
#include "conformance/expected_unsupported.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace gradstone {
namespace {

std::string surprise(const ExpectedUnsupported& list, const std::string& name, Verdict verdict) {
  CaseResult result{name, verdict};
  list.judge(result);
  return result.surprise;
}

constexpr std::string_view kList =
    "# what we lack\n"
    "\n"
    "node/test_lrn*   there is no LRN\n"
    "optimizer/adam\twe are too old\n";

TEST(ExpectedUnsupported, OnlyWhatIsListedMayBeAndMustBe) {
  const ExpectedUnsupported list = ExpectedUnsupported::parse(kList, "list").value();
  EXPECT_EQ(surprise(list, "node/test_lrn_default", Verdict::kUnsupported), "");
  EXPECT_EQ(surprise(list, "node/test_lrn_default", Verdict::kPassed),
            "passes, but is listed as unsupported: list, line 3, pattern 'node/test_lrn*'");
  EXPECT_EQ(surprise(list, "optimizer/adam", Verdict::kUnsupported), "");
  EXPECT_NE(surprise(list, "optimizer/adamw", Verdict::kUnsupported), "");
  EXPECT_EQ(surprise(list, "optimizer/adamw", Verdict::kPassed), "");
  EXPECT_EQ(surprise(list, "node/test_lrn", Verdict::kWrong), "") << "fails anyway";
}

TEST(ExpectedUnsupported, WithoutAListNothingMayBe) {
  EXPECT_NE(surprise({}, "node/test_lrn", Verdict::kUnsupported), "");
  EXPECT_EQ(surprise({}, "node/test_lrn", Verdict::kPassed), "");
  EXPECT_EQ(surprise(ExpectedUnsupported::read("/nowhere").value(), "a", Verdict::kPassed), "");
}

TEST(ExpectedUnsupported, APatternNeedsAReasonAndStandsOnce) {
  EXPECT_EQ(ExpectedUnsupported::parse("node/a  why\nnode/b\n", "list").error().message,
            "list, line 2: pattern 'node/b' has no reason behind it");
  EXPECT_EQ(ExpectedUnsupported::parse("node/a  why\nnode/a  so\n", "list").error().message,
            "list, line 2: pattern 'node/a' stands in line 1 already");
}

TEST(ExpectedUnsupported, ADraftIsAListThatHolds) {
  const std::vector<CaseResult> results = {{"node/a", Verdict::kUnsupported, "no A"},
                                           {"node/b", Verdict::kPassed},
                                           {"node/c", Verdict::kUnsupported, "no C"}};
  const std::string draft = draft_of_list(results);
  const ExpectedUnsupported list = ExpectedUnsupported::parse(draft, "draft").value();
  for (const CaseResult& result : results) {
    EXPECT_EQ(surprise(list, result.name, result.verdict), "") << result.name;
  }
}

TEST(Results, AreCounted) {
  std::vector<CaseResult> results = {
      {"a"}, {"b", Verdict::kUnsupported}, {"c", Verdict::kWrong}, {"d", Verdict::kCrashed}, {"e"}};
  results[4].surprise = "passes";
  const CaseCounts counts = count_cases(results);
  EXPECT_EQ(to_string(counts), "tests: 5 passed: 2 unsupported: 1 wrong: 1 crashed: 1");
  EXPECT_EQ(counts.surprises, 1u);
  EXPECT_FALSE(results[0].failed());
  EXPECT_FALSE(results[1].failed());
  for (const std::size_t failed : {2, 3, 4}) EXPECT_TRUE(results[failed].failed());
}

}  // namespace
}  // namespace gradstone
