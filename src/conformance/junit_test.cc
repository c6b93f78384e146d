// SPDX-License-Identifier: Apache-2.0
#include "conformance/junit.h"

#include <gtest/gtest.h>

namespace gradstone {
namespace {

TEST(Junit, HasOneElementACase) {
  std::vector<CaseResult> results = {{"node/a/gradient", Verdict::kPassed, "2 elements at a kink"},
                                     {"node/b", Verdict::kUnsupported, "no \"B\" & co"},
                                     {"node/c", Verdict::kWrong, "1 < 2\n"},
                                     {"optimizer/d", Verdict::kCrashed, "died"},
                                     {"alone", Verdict::kPassed, "", "passes, but is listed"}};
  results[0].seconds = 0.25;
  results[3].seconds = 1.5;
  const std::string xml =
      junit_xml(results, "e:x", [](const std::string& name) { return "run '" + name + "' <"; });
  EXPECT_EQ(xml, R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
<testsuite name="conformance e:x" tests="5" failures="2" errors="1" skipped="1" time="1.750">
<testcase classname="node" name="a/gradient" time="0.250"/>
<testcase classname="node" name="b" time="0.000">
<skipped message="no &quot;B&quot; &amp; co"/>
</testcase>
<testcase classname="node" name="c" time="0.000">
<failure type="wrong" message="1 &lt; 2 ">
run 'node/c' &lt;
</failure>
</testcase>
<testcase classname="optimizer" name="d" time="1.500">
<error type="crashed" message="died">
run 'optimizer/d' &lt;
</error>
</testcase>
<testcase classname="" name="alone" time="0.000">
<failure type="passed" message="passes, but is listed: ">
run 'alone' &lt;
</failure>
</testcase>
</testsuite>
</testsuites>
)");
}

}  // namespace
}  // namespace gradstone
