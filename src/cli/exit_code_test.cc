// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.h"

#include <gtest/gtest.h>

namespace gradstone {
namespace {

constexpr bool kNamed = true, kByAll = false;

TEST(ExitCode, OfErrors) {
  EXPECT_EQ(exit_code_of(ErrorKind::kFailed), 1);
  EXPECT_EQ(exit_code_of(ErrorKind::kUsage), 2);
  EXPECT_EQ(exit_code_of(ErrorKind::kUnreadable), 3);
  EXPECT_EQ(exit_code_of(ErrorKind::kUnsupported), 1);
}

TEST(ExitCode, UnsupportedAndDivergedAreResults) {
  EXPECT_EQ(exit_code_of({{Outcome::kOk, kNamed}, {Outcome::kDiverged, kNamed}}, false), 0);
  EXPECT_EQ(exit_code_of({{Outcome::kUnsupported, kByAll}}, false), 0);
  EXPECT_EQ(exit_code_of({{Outcome::kUnsupported, kNamed}}, false), 4);
  EXPECT_EQ(exit_code_of({{Outcome::kUnsupported, kByAll}}, true), 4);
  EXPECT_EQ(exit_code_of({{Outcome::kDiverged, kByAll}}, true), 4);
}

TEST(ExitCode, EveryOtherOutcomeIsAPartOfThePlanThatFailed) {
  for (const Outcome outcome :
       {Outcome::kOutOfMemory, Outcome::kCrashed, Outcome::kWrongResult, Outcome::kInvalid}) {
    EXPECT_EQ(exit_code_of({{Outcome::kOk, kNamed}, {outcome, kNamed}}, false), 4);
  }
}

TEST(ExitCode, TimeoutOnlyWhereNothingElseFailed) {
  EXPECT_EQ(exit_code_of({{Outcome::kTimedOut, kNamed}, {Outcome::kOk, kNamed}}, false), 124);
  EXPECT_EQ(exit_code_of({{Outcome::kTimedOut, kNamed}, {Outcome::kCrashed, kNamed}}, false), 4);
  EXPECT_EQ(exit_code_of(std::vector<FinishedRun>{}, true), 0);
}

}  // namespace
}  // namespace gradstone
