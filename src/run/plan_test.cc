// SPDX-License-Identifier: Apache-2.0
#include "run/plan.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "run/test_workload.h"

namespace gradstone {
namespace {

class PlanTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file(folder.file("x"), "").ok());
    ASSERT_EQ(::chmod(folder.file("x").c_str(), 0755), 0);
    for (const char* name : {"a", "b"}) {
      const std::string text = std::string(R"({"name": ")") + name +
                               R"(", "version": "", "kind": "framework", "executable": "x",)" +
                               R"( "summary": ""})";
      ASSERT_TRUE(write_file(folder.file(std::string("engine-") + name + ".json"), text).ok());
    }
    engines = EngineCatalogue::read({folder.path()});
    workloads = {tiny_workload(), tiny_workload()};
    workloads[1].name = "other";
    workloads[1].sizes[0].recipe.batch = 6;
    request.workloads = {"tiny"};
    request.engines = {"a"};
  }
  std::vector<std::string> lines() {
    const std::vector<RunSpec> plan = make_plan(request, engines, workloads).value();
    std::vector<std::string> lines;
    for (const RunSpec& spec : plan) {
      lines.push_back(spec.workload + " " + to_string(spec.engine) + " " +
                      std::to_string(spec.batch) + " " + std::to_string(spec.threads));
    }
    return lines;
  }
  std::string fault() { return make_plan(request, engines, workloads).error().message; }

  TemporaryFolder folder = TemporaryFolder::create().value();
  EngineCatalogue engines;
  std::vector<Workload> workloads;
  PlanRequest request;
};

using Lines = std::vector<std::string>;

TEST_F(PlanTest, IsTheProductInAStableOrder) {
  request.workloads = {"tiny", "other"};
  request.engines = {"b", "a:x"};
  request.batches = {8, 2};
  request.threads = {1, 2};
  EXPECT_EQ(lines(), (Lines{"tiny b 8 1", "tiny b 8 2", "tiny b 2 1", "tiny b 2 2", "tiny a:x 8 1",
                            "tiny a:x 8 2", "tiny a:x 2 1", "tiny a:x 2 2", "other b 8 1",
                            "other b 8 2", "other b 2 1", "other b 2 2", "other a:x 8 1",
                            "other a:x 8 2", "other a:x 2 1", "other a:x 2 2"}));
}

TEST_F(PlanTest, DefaultsComeFromEachWorkload) {
  request.workloads = {"tiny", "other"};
  request.threads = {1};
  EXPECT_EQ(lines(), (Lines{"tiny a 4 1", "other a 6 1"}));
}

TEST_F(PlanTest, RepetitionsAreLost) {
  request.workloads = {"tiny", "tiny"};
  request.engines = {"a", "all", "b"};
  request.batches = {2, 2};
  request.threads = {1};
  EXPECT_EQ(lines(), (Lines{"tiny a 2 1", "tiny b 2 1"}));
}

TEST_F(PlanTest, OneIdForAll) {
  request.engines = {"all"};
  const std::vector<RunSpec> plan = make_plan(request, engines, workloads).value();
  EXPECT_FALSE(plan[0].plan.empty());
  EXPECT_EQ(plan[0].plan, plan[1].plan);
  request.common.plan = "mine";
  EXPECT_EQ(make_plan(request, engines, workloads).value()[0].plan, "mine");
}

TEST_F(PlanTest, FaultsAreUsageErrors) {
  request.workloads = {"tny"};
  EXPECT_EQ(fault(), "unknown workload 'tny'; did you mean 'tiny'?; there are tiny, other");
  request.workloads = {};
  EXPECT_EQ(fault(), "no workload; name one with --workload");
  request.workloads = {"tiny"};
  request.batches = {0};
  EXPECT_EQ(fault(), "--batch must be at least 1");
  request.batches = {1, std::int64_t{1} << 37};
  EXPECT_TRUE(fault().starts_with("--batch 137438953472: ")) << fault();
  request.batches = {1};
  request.common.measure.steps = request.common.measure.epochs = 1;
  EXPECT_EQ(fault(), "--steps and --epochs exclude each other; give one");
  request.engines = {};
  EXPECT_EQ(fault(), "no engine; name one with --engine");
}

TEST(NewId, BeginsWithTheTimeAndDiffers) {
  EXPECT_EQ(new_id(0).substr(0, 16), "19700101-000000-");
  EXPECT_EQ(new_id(1796031312999).substr(0, 16), "20261130-093512-");
  EXPECT_EQ(new_id(0).size(), 22u);
  EXPECT_NE(new_id(0), new_id(0));
}

}  // namespace
}  // namespace gradstone
