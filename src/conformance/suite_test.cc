// SPDX-License-Identifier: Apache-2.0
// The suite on real engines, with some of ONNX's data sets.
#include "conformance/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "conformance/data_sets.h"

namespace gradstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SuiteTest : public testing::Test {
 protected:
  void SetUp() override {
    request.suites = {default_suites()[0]};
    if (!path_exists(request.suites[0])) GTEST_SKIP() << "libonnx-testdata is not installed";
  }
  std::vector<CaseResult> run(const std::string& engine, const std::string& filter) {
    const std::string bin = environment_or("GRADSTONE_BIN", executable_folder() + "/../bin");
    request.session.engine = EngineCatalogue::read({bin}).choose(engine).value().at(0);
    request.session.hello.argument = request.session.engine.argument;
    request.filter = filter;
    std::vector<std::string> heard;
    auto results = run_suite(
        request,
        [&](const CaseResult& result) {
          heard.push_back(result.name);
          if (result.name == stop_after) stop = true;
        },
        stop);
    EXPECT_TRUE(results.ok()) << results.error().message;
    EXPECT_EQ(heard, names(*results));
    return *results;
  }
  static std::vector<std::string> names(const std::vector<CaseResult>& results) {
    std::vector<std::string> names;
    for (const CaseResult& result : results) names.push_back(result.name);
    return names;
  }

  SuiteRequest request;
  std::atomic<bool> stop{false};
  std::string stop_after;
};

TEST_F(SuiteTest, TheReferencePasses) {
  const auto results =
      run("reference", "node/test_relu*,node/test_equal,node/test_gemm_alpha*,optimizer/sgd*");
  EXPECT_THAT(names(results), testing::IsSupersetOf({"node/test_relu", "node/test_relu/gradient",
                                                     "node/test_gemm_alpha/gradient",
                                                     "optimizer/sgd", "optimizer/sgd/float64"}));
  for (const CaseResult& result : results) {
    if (result.name == "node/test_equal/gradient") ADD_FAILURE() << "nothing floats there";
    if (result.name != "node/test_equal") {
      EXPECT_EQ(result.verdict, Verdict::kPassed) << result.name << ": " << result.message;
    }
  }
}

TEST_F(SuiteTest, SaysWhereTheEngineHasNothingToDo) {
  EXPECT_EQ(run("reference", "node/test_shape").at(0).message, "the import computes all of it");
  EXPECT_EQ(run("reference", "node/test_relu").at(0).message, "");
}

TEST_F(SuiteTest, AnEngineThatComputesZerosIsWrong) {
  const auto results = run("null", "node/test_sigmoid*,optimizer/sgd");
  ASSERT_THAT(names(results), ElementsAre("node/test_sigmoid", "node/test_sigmoid/gradient",
                                          "node/test_sigmoid_example",
                                          "node/test_sigmoid_example/gradient", "optimizer/sgd"));
  for (const CaseResult& result : results) EXPECT_EQ(result.verdict, Verdict::kWrong);
  EXPECT_THAT(results[0].message, StartsWith("output 'y': 60 of 60 elements are off, most at ["));
  EXPECT_THAT(results[1].message, StartsWith("gradient of 'x': "));
  EXPECT_THAT(results[4].message, StartsWith("step 1: 'gradient/a' at [1]: 0, the formula says"));
}

TEST_F(SuiteTest, AfterACrashTheSuiteGoesOn) {
  const auto results = run("null:crash", "node/test_sigmoid,optimizer/sgd,optimizer/adam*");
  ASSERT_GT(results.size(), 5u);
  EXPECT_EQ(results[0].verdict, Verdict::kWrong);
  for (std::size_t i = 1; i < results.size(); ++i) {
    EXPECT_EQ(results[i].verdict, Verdict::kCrashed);
    EXPECT_THAT(results[i].message, HasSubstr("died of SIGSEGV in run of program 0"));
  }
}

TEST_F(SuiteTest, AHangIsACrash) {
  request.session.seconds_per_request = 1;
  const auto results = run("null:hang", "optimizer/sgd,optimizer/momentum");
  ASSERT_EQ(results.size(), 2u);
  for (const CaseResult& result : results) {
    EXPECT_EQ(result.verdict, Verdict::kCrashed);
    EXPECT_THAT(result.message, HasSubstr("passed the time limit of 1 s"));
  }
}

TEST_F(SuiteTest, UnsupportedIsHeldAgainstTheList) {
  request.expected =
      ExpectedUnsupported::parse("optimizer/sgd  told so\nnode/test_sigmoid  no\n", "list").value();
  const auto results = run("null:unsupported", "optimizer/sgd,optimizer/adam");
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].verdict, Verdict::kUnsupported);
  EXPECT_EQ(results[0].message, "null: unsupported as told");
  EXPECT_EQ(results[0].surprise, "");
  EXPECT_NE(results[1].surprise, "");
  EXPECT_NE(run("reference", "node/test_sigmoid").at(0).surprise, "");
}

TEST_F(SuiteTest, AStopKeepsWhatHasFinished) {
  stop_after = "optimizer/adam";
  EXPECT_THAT(names(run("reference", "optimizer/*")).back(), "optimizer/adam");
}

TEST_F(SuiteTest, AnEngineThatRefusesToStartIsAnError) {
  request.session.engine.engine.executable = "/nowhere/engine";
  EXPECT_THAT(run_suite(
                  request, [](const CaseResult&) {}, stop)
                  .error()
                  .message,
              HasSubstr("cannot start '/nowhere/engine'"));
}

TEST_F(SuiteTest, ListsWithoutAnEngine) {
  request.filter = "node/test_relu*,node/test_equal*,optimizer/sgd";
  EXPECT_THAT(list_cases(request).value(),
              testing::IsSupersetOf({"node/test_relu", "node/test_relu/gradient", "node/test_equal",
                                     "optimizer/sgd"}));
}

}  // namespace
}  // namespace gradstone
