// SPDX-License-Identifier: Apache-2.0
#include "run/intake.h"

#include <gtest/gtest.h>

namespace gradstone {
namespace {

const IntakeLimits kSmall = {.samples = 5,
                             .series = 2,
                             .facts = 3,
                             .fact_bytes = 20,
                             .name_bytes = 8,
                             .message_bytes = 10,
                             .levels = 2};

class IntakeTest : public testing::Test {
 protected:
  Status samples(const std::string& name, std::size_t count) {
    return intake.take(SamplesEvent{name, std::vector<double>(count, 1.0)});
  }
  Status fact(const std::string& section, const std::string& key, Json value) {
    return intake.take(FactEvent{section, key, std::move(value)});
  }
  RunRecord record;
  Intake intake{record, kSmall};
};

TEST_F(IntakeTest, SamplesAreBoundedInAll) {
  EXPECT_TRUE(samples("a", 3).ok());
  EXPECT_TRUE(samples("b", 2).ok());
  const Status over = samples("a", 1);
  EXPECT_EQ(over.error().message, "more than 5 samples");
  EXPECT_EQ(over.error().kind, ErrorKind::kOutOfMemory);
  EXPECT_EQ(record.samples.at("a").size(), 3u);
}

TEST_F(IntakeTest, SeriesAreBounded) {
  EXPECT_TRUE(samples("a", 1).ok());
  EXPECT_TRUE(samples("b", 1).ok());
  EXPECT_TRUE(samples("a", 1).ok());
  EXPECT_EQ(samples("c", 1).error().message, "more than 2 series of samples");
  EXPECT_EQ(record.samples.size(), 2u);
  EXPECT_EQ(samples("too long a name", 1).error().kind, ErrorKind::kUnreadable);
}

TEST_F(IntakeTest, FactsAreBoundedInNumberSizeAndDepth) {
  EXPECT_TRUE(fact("data", "a", 1).ok());
  EXPECT_EQ(fact("data", "b", std::string(30, 'x')).error().message,
            "fact 'data.b': facts of more than 20 bytes");
  IntakeLimits few = kSmall;
  few.fact_bytes = 1000;
  Intake other(record, few);
  for (const char* key : {"a", "b", "c"}) EXPECT_TRUE(other.take(FactEvent{"x", key, 1}).ok());
  EXPECT_EQ(other.take(FactEvent{"x", "d", 1}).error().message, "more than 3 facts");
  EXPECT_TRUE(Intake(record, few).take(FactEvent{"x", "y", parse_json("[[1]]").value()}).ok());
  EXPECT_FALSE(Intake(record, few).take(FactEvent{"x", "y", parse_json("[[[1]]]").value()}).ok());
  EXPECT_FALSE(intake.describe({{"name", std::string(40, 'x')}}).ok());
}

TEST_F(IntakeTest, MessagesAreCutAndNeverMissing) {
  EXPECT_EQ(intake.end({Outcome::kCrashed, "0123456789abc"}).message, "0123456789... (cut)");
  EXPECT_EQ(intake.end({Outcome::kTimedOut, ""}).message, "the engine gave no reason");
  EXPECT_EQ(intake.end({Outcome::kOk, ""}).message, "");
}

}  // namespace
}  // namespace gradstone
