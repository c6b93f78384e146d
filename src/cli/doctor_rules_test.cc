// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "base/files.h"

namespace gradstone {
namespace {

using testing::HasSubstr;

// Files of a machine on which nothing is wrong; a test changes what it is about.
std::map<std::string, std::string> healthy_files() {
  return {{"/proc/cpuinfo", "processor : 0\n\nprocessor : 1\n\nprocessor : 2\n\nprocessor : 3\n"},
          {"/proc/meminfo",
           "MemTotal: 16000000 kB\nMemAvailable: 12000000 kB\nSwapTotal: 8000000 kB\n"
           "SwapFree: 8000000 kB\n"},
          {"/proc/loadavg", "0.90 1 1 1/1 1\n"},
          {"/proc/self/cgroup", "0::/job\n"},
          {"/sys/fs/cgroup/job/cpu.max", "400000 100000\n"},
          {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"}};
}

DoctorFacts facts_of(const std::map<std::string, std::string>& files, const std::string& blas) {
  const TemporaryFolder root = TemporaryFolder::create().value();
  for (const auto& [path, text] : files) {
    const std::filesystem::path whole = root.path() + path;
    std::filesystem::create_directories(whole.parent_path());
    EXPECT_TRUE(write_file(whole.string(), text).ok());
  }
  std::filesystem::create_directories(root.path() + "/etc/alternatives");
  std::filesystem::create_symlink(blas, root.path() + "/etc/alternatives/libblas.so.3-x86_64");
  DoctorFacts facts;
  facts.machine = read_machine(root.path());
  facts.store_free_bytes = std::int64_t{5} << 30;
  return facts;
}

constexpr const char* kFastBlas = "/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3";

// Ids of the rules that find something.
std::set<std::string> found(const DoctorFacts& facts) {
  std::set<std::string> ids;
  for (const DoctorRule& rule : doctor_rules()) {
    const std::optional<Finding> finding = rule.check(facts);
    if (!finding) continue;
    ids.emplace(rule.id);
    EXPECT_FALSE(finding->text.empty());
    EXPECT_FALSE(finding->remedy.empty());
  }
  return ids;
}

using Ids = std::set<std::string>;

TEST(DoctorRules, NothingIsFoundOnAHealthyMachine) {
  EXPECT_EQ(found(facts_of(healthy_files(), kFastBlas)), Ids{});
  EXPECT_EQ(found(DoctorFacts{}), Ids{});  // a kernel that tells nothing
}

TEST(DoctorRules, EachFileSpoilsItsOwnRule) {
  const struct {
    const char* path;
    const char* text;
    const char* id;
  } cases[] = {{"/proc/loadavg", "1.10 1 1 1/1 1\n", "load"},
               {"/sys/fs/cgroup/job/cpu.max", "150000 100000\n", "quota"},
               {"/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n", "governor"},
               {"/proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 1500000 kB\n", "memory"},
               {"/proc/meminfo",
                "MemTotal: 16000000 kB\nMemAvailable: 12000000 kB\nSwapTotal: 8000000 kB\n"
                "SwapFree: 7000000 kB\n",
                "swap"}};
  for (const auto& each : cases) {
    auto files = healthy_files();
    files[each.path] = each.text;
    EXPECT_EQ(found(facts_of(files, kFastBlas)), Ids{each.id}) << each.path;
  }
}

TEST(DoctorRules, ReferenceBlas) {
  const DoctorFacts facts =
      facts_of(healthy_files(), "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3");
  EXPECT_EQ(found(facts), Ids{"blas"});
  EXPECT_THAT(run_warnings(facts), testing::ElementsAre(HasSubstr("blas: the system's BLAS")));
}

TEST(DoctorRules, WhatIsNotInFiles) {
  const DoctorFacts healthy = facts_of(healthy_files(), kFastBlas);
  DoctorFacts facts = healthy;
  facts.steal = 0.02;
  EXPECT_EQ(found(facts), Ids{"steal"});
  facts = healthy;
  facts.store_free_bytes = 100 << 20;
  EXPECT_EQ(found(facts), Ids{"disk"});
  facts = healthy;
  facts.framework_engines = 0;
  EXPECT_EQ(found(facts), Ids{"engines"});
  facts = healthy;
  facts.engine_problems = {"engine-x.json: not JSON"};
  EXPECT_EQ(found(facts), Ids{"engines"});
  facts = healthy;
  facts.data_problem = "no such folder";
  EXPECT_EQ(found(facts), Ids{"data"});
  EXPECT_TRUE(run_warnings(facts).empty());  // does not spoil a run
}

}  // namespace
}  // namespace gradstone
