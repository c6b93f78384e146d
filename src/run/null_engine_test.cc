// SPDX-License-Identifier: Apache-2.0
// The runner against the null engine: every fault it can be told to have, through the real worker.
#include <gtest/gtest.h>

#include "base/files.h"
#include "run/plan.h"
#include "run/runner.h"
#include "run/test_workload.h"

namespace gradstone {
namespace {

class NullEngineTest : public testing::Test {
 protected:
  RunRecord run(const std::string& argument, double time_limit = 120) {
    request.engines = {argument.empty() ? "null" : "null:" + argument};
    request.workloads = {"tiny"};
    request.threads = {1};
    request.common.measure.steps = 12;
    request.common.time_limit_seconds = time_limit;
    const std::vector<RunSpec> plan = make_plan(request, engines, {workload}).value();
    RunObserver nobody;
    const std::atomic<bool> stop{false};
    return run_one(plan.at(0), workload, nobody, stop);
  }
  static std::string bin() {
    return environment_or("GRADSTONE_BIN", executable_folder() + "/../bin");
  }

  Workload workload = tiny_workload();
  EngineCatalogue engines = EngineCatalogue::read({bin()});
  PlanRequest request;
};

TEST_F(NullEngineTest, TrainsWithoutComputing) {
  const RunRecord record = run("");
  EXPECT_EQ(record.outcome, Outcome::kOk) << record.message;
  ASSERT_EQ(record.samples.at("loss").size(), 12u);
  EXPECT_EQ(record.samples.at("loss")[0], 1);
  EXPECT_EQ(record.samples.at("loss")[3], 0.25);
  EXPECT_EQ(record.context["engine"]["name"], "null");
  EXPECT_EQ(record.samples.at("test_accuracy").size(), 1u);
}

TEST_F(NullEngineTest, Crashes) {
  const RunRecord record = run("crash=5");
  EXPECT_EQ(record.outcome, Outcome::kCrashed);
  EXPECT_NE(record.message.find("died of SIGSEGV"), std::string::npos) << record.message;
  EXPECT_NE(record.message.find("null: crashing as told"), std::string::npos) << record.message;
  EXPECT_EQ(run("exit=3").outcome, Outcome::kCrashed);
}

TEST_F(NullEngineTest, Hangs) { EXPECT_EQ(run("hang", 1.5).outcome, Outcome::kTimedOut); }

TEST_F(NullEngineTest, TakesTooMuchMemory) {
  request.common.memory_limit_bytes = 500 << 20;
  const RunRecord record = run("allocate=10GiB");
  EXPECT_EQ(record.outcome, Outcome::kOutOfMemory) << record.message;
  EXPECT_NE(record.message.find("passed the memory limit of 500 MiB"), std::string::npos);
}

TEST_F(NullEngineTest, SpeaksWrongly) {
  EXPECT_EQ(run("rubbish").outcome, Outcome::kCrashed);
  const RunRecord record = run("protocol=99");
  EXPECT_EQ(record.outcome, Outcome::kInvalid);
  EXPECT_NE(record.message.find("version 99"), std::string::npos) << record.message;
}

TEST_F(NullEngineTest, AnswersWithErrors) {
  EXPECT_EQ(run("unsupported").outcome, Outcome::kUnsupported);
  EXPECT_EQ(run("out-of-memory=2").outcome, Outcome::kOutOfMemory);
  EXPECT_EQ(run("nan=4").outcome, Outcome::kDiverged);
  for (const char* argument : {"fail", "fail-at-load", "fail=7"}) {
    const RunRecord record = run(argument);
    EXPECT_NE(record.outcome, Outcome::kOk);
    EXPECT_NE(record.message.find("null: failed as told"), std::string::npos) << record.message;
  }
}

TEST_F(NullEngineTest, ItsStderrIsKept) {
  const RunRecord record = run("stderr=mind the gap");
  EXPECT_EQ(record.outcome, Outcome::kOk) << record.message;
  EXPECT_EQ(record.context["worker"]["stderr"], "mind the gap\n");
}

TEST_F(NullEngineTest, AnUnknownActionNamesTheNearestAndAll) {
  const RunRecord record = run("crahs");
  EXPECT_NE(record.outcome, Outcome::kOk);
  EXPECT_NE(record.message.find("did you mean 'crash'?"), std::string::npos) << record.message;
  EXPECT_NE(record.message.find("allocate=SIZE"), std::string::npos) << record.message;
}

}  // namespace
}  // namespace gradstone
