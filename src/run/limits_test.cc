// SPDX-License-Identifier: Apache-2.0
#include "run/limits.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "base/subprocess.h"
#include "run/memory_cgroup.h"

namespace gradstone {
namespace {

constexpr std::int64_t kMi = 1 << 20;

// Folders like the kernel's, with contents of our choice.
class FakeKernel : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    const std::string whole = folder.file(path);
    ASSERT_TRUE(make_folders(whole.substr(0, whole.rfind('/'))).ok());
    ASSERT_TRUE(write_file(whole, text).ok());
  }
  std::string text(const std::string& path) { return read_file(folder.file(path)).value(); }
  TemporaryFolder folder = TemporaryFolder::create().value();
  KernelFolders folders{folder.file("proc"), folder.file("cgroup")};
};

TEST_F(FakeKernel, WithoutCgroupsMemoryIsWhatTheMachineHas) {
  EXPECT_EQ(available_memory(folders), 0);
  put("proc/meminfo", "MemTotal:  999999 kB\nMemAvailable:   2048 kB\n");
  EXPECT_EQ(available_memory(folders), 2 * kMi);
}

TEST_F(FakeKernel, EveryCgroupAboveCounts) {
  put("proc/meminfo", "MemAvailable:   1048576 kB\n");
  put("proc/self/cgroup", "0::/a/b\n");
  put("cgroup/a/b/memory.max", "max\n");
  put("cgroup/a/b/memory.current", "5\n");
  EXPECT_EQ(available_memory(folders), 1024 * kMi);
  put("cgroup/a/memory.max", std::to_string(100 * kMi) + "\n");
  put("cgroup/a/memory.current", std::to_string(70 * kMi) + "\n");
  EXPECT_EQ(available_memory(folders), 30 * kMi);
  put("cgroup/a/memory.stat", "anon 7\ninactive_file " + std::to_string(20 * kMi) + "\nfile 1\n");
  EXPECT_EQ(available_memory(folders), 50 * kMi);
  put("cgroup/a/b/memory.max", std::to_string(4) + "\n");
  EXPECT_EQ(available_memory(folders), 0);
}

TEST_F(FakeKernel, VersionOneCountsToo) {
  put("proc/meminfo", "MemAvailable:   1048576 kB\n");
  put("proc/self/cgroup", "9:name=systemd:/\n4:memory:/job/x\n0::/\n");
  put("cgroup/memory/job/x/memory.limit_in_bytes", "9223372036854771712\n");
  put("cgroup/memory/job/x/memory.usage_in_bytes", "4096\n");
  EXPECT_EQ(available_memory(folders), 1024 * kMi);
  put("cgroup/memory/job/memory.limit_in_bytes", std::to_string(10 * kMi) + "\n");
  put("cgroup/memory/job/memory.usage_in_bytes", std::to_string(3 * kMi) + "\n");
  put("cgroup/memory/job/memory.stat", "total_inactive_file 1048576\n");
  EXPECT_EQ(available_memory(folders), 8 * kMi);
}

TEST_F(FakeKernel, KillsAreCounted) {
  EXPECT_EQ(out_of_memory_kills(folders), 0);
  put("proc/vmstat", "nr_free_pages 5\noom_kill 3\n");
  EXPECT_EQ(out_of_memory_kills(folders), 3);
}

TEST_F(FakeKernel, SharedPagesCountOnceWhereItMatters) {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  // A command may hold anything.
  put("proc/10/stat", "10 (a) b (c) S 1 10 10 0");
  put("proc/11/stat", "11 (x) S 10 10 10 0");
  put("proc/12/stat", "12 (x) S 10 12 10 0");
  for (const char* process : {"10", "11", "12"}) {
    put(std::string("proc/") + process + "/statm", "9999 100 5 0 0 0 0\n");
    put(std::string("proc/") + process + "/smaps_rollup", "Rss: 400 kB\nPss:   200 kB\n");
  }
  GroupMemory memory(10, folders);
  EXPECT_EQ(memory.resident_bytes(1000 * page), 200 * page);
  EXPECT_EQ(memory.resident_bytes(199 * page), 400 * 1024);
  std::filesystem::remove(folder.file("proc/11/smaps_rollup"));
  EXPECT_EQ(memory.resident_bytes(0), 200 * 1024 + 100 * page);
}

TEST_F(FakeKernel, ACgroupIsMadeOnlyWhereMemoryIsPassedOn) {
  put("proc/self/cgroup", "0::/user/session\n");
  put("cgroup/user/session/cgroup.subtree_control", "cpu\n");
  put("cgroup/user/cgroup.subtree_control", "cpu memoryless\n");
  EXPECT_FALSE(MemoryCgroup::hold(42, 1000, folders).has_value());
  put("cgroup/user/cgroup.subtree_control", "cpu memory pids\n");
  const auto cgroup = MemoryCgroup::hold(42, 1000, folders);
  ASSERT_TRUE(cgroup.has_value());
  EXPECT_EQ(text("cgroup/user/gradstone-42/memory.max"), "1000");
  EXPECT_EQ(text("cgroup/user/gradstone-42/cgroup.procs"), "42");
  EXPECT_FALSE(cgroup->has_killed());
  put("cgroup/user/gradstone-42/memory.events", "max 9\noom 1\noom_kill 0\n");
  EXPECT_FALSE(cgroup->has_killed());
  put("cgroup/user/gradstone-42/memory.events", "max 9\noom 1\noom_kill 1\n");
  EXPECT_TRUE(cgroup->has_killed());
}

TEST(Memory, ThisMachineHasSome) {
  EXPECT_GT(available_memory(), kMi);
  EXPECT_EQ(default_memory_limit() % 9, 0);
}

TEST(Memory, WhatAChildTouchesIsSeen) {
  GroupMemory own(::getpgrp());
  const std::int64_t before = own.resident_bytes(1ll << 50);
  EXPECT_GT(before, 0);
  const std::size_t size = 64 * kMi;
  void* block = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  EXPECT_LT(own.resident_bytes(1ll << 50), before + 32 * kMi);  // reserved is not resident
  std::memset(block, 1, size);
  EXPECT_GT(own.resident_bytes(1ll << 50), before + 48 * kMi);
  ::munmap(block, size);
}

}  // namespace
}  // namespace gradstone
