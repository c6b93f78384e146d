// SPDX-License-Identifier: Apache-2.0
#include "record/machine.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"

namespace gradstone {
namespace {

class Machine : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = root_.path() + path;
    std::filesystem::create_directories(whole.parent_path());
    ASSERT_TRUE(write_file(whole.string(), text).ok());
  }
  MachineFacts read() const { return read_machine(root_.path()); }
  TemporaryFolder root_ = TemporaryFolder::create().value();
};

TEST_F(Machine, ReadsProcessors) {
  file("/proc/cpuinfo",
       "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nphysical id\t: 0\ncore id\t\t: 0\n"
       "flags\t\t: fpu hypervisor avx\n\n"
       "processor\t: 1\nmodel name\t: Some CPU @ 2 GHz\nphysical id\t: 0\ncore id\t\t: 0\n");
  const std::string cpu0 = "/sys/devices/system/cpu/cpu0/";
  file(cpu0 + "cache/index0/level", "1\n");
  file(cpu0 + "cache/index0/type", "Data\n");
  file(cpu0 + "cache/index0/size", "32K\n");
  file(cpu0 + "cache/index3/level", "3\n");
  file(cpu0 + "cache/index3/type", "Unified\n");
  file(cpu0 + "cache/index3/size", "16M\n");
  file(cpu0 + "cpufreq/scaling_governor", "powersave\n");
  const MachineFacts facts = read();
  EXPECT_EQ(facts.cpu_model, "Some CPU @ 2 GHz");
  EXPECT_EQ(facts.logical_cpus, 2);
  EXPECT_EQ(facts.physical_cores, 1);
  EXPECT_TRUE(facts.hypervisor);
  EXPECT_EQ(facts.caches, (std::vector<CpuCache>{{1, "Data", 32 << 10}, {3, "Unified", 16 << 20}}));
  EXPECT_EQ(facts.governors, std::vector<std::string>{"powersave"});
}

TEST_F(Machine, ReadsMemoryLoadAndNames) {
  file("/proc/meminfo",
       "MemTotal:  8000 kB\nMemAvailable: 5000 kB\nSwapTotal: 2000 kB\nSwapFree: 500 kB\n");
  file("/proc/loadavg", "1.50 0.20 0.10 1/100 42\n");
  file("/proc/stat", "cpu  10 20 30 40 5 1 2 7 100 100\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
  file("/proc/sys/kernel/osrelease", "6.1.0\n");
  file("/etc/os-release", "NAME=\"X\"\nPRETTY_NAME=\"X Linux 12\"\n");
  file("/sys/class/dmi/id/product_name", "KVM\n");
  file("/etc/alternatives/README", "");
  std::filesystem::create_symlink("/usr/lib/x/blas/libblas.so.3",
                                  root_.path() + "/etc/alternatives/libblas.so.3-x");
  const MachineFacts facts = read();
  EXPECT_EQ(facts.memory_bytes, 8000 * 1024);
  EXPECT_EQ(facts.available_bytes, 5000 * 1024);
  EXPECT_EQ(facts.swap_used_bytes, 1500 * 1024);
  EXPECT_EQ(facts.load_1m, 1.5);
  EXPECT_EQ(facts.cpu_times.total, 115);
  EXPECT_EQ(facts.cpu_times.steal, 7);
  EXPECT_EQ(facts.kernel, "6.1.0");
  EXPECT_EQ(facts.system, "X Linux 12");
  EXPECT_EQ(facts.product, "KVM");
  EXPECT_EQ(facts.blas, "/usr/lib/x/blas/libblas.so.3");
  EXPECT_EQ(to_json(facts)["load_1m"], 1.5);
  EXPECT_TRUE(to_json(facts)["cgroup_cpus"].is_null());
}

TEST_F(Machine, TakesTheSmallestQuotaOnTheWayUp) {
  EXPECT_FALSE(read().cgroup_cpus.has_value());
  file("/proc/self/cgroup", "0::/a/b\n");
  file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_FALSE(read().cgroup_cpus.has_value());
  file("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(read().cgroup_cpus, 1.5);
  file("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(read().cgroup_cpus, 0.5);
}

TEST_F(Machine, ReadsQuotasOfTheOldHierarchy) {
  file("/proc/self/cgroup", "4:memory:/m\n2:cpu,cpuacct:/job\n0::/\n");
  file("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  file("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(read().cgroup_cpus.has_value());
  file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read().cgroup_cpus, 2.0);
}

TEST_F(Machine, AnEmptyTreeIsNoError) {
  const MachineFacts facts = read();
  EXPECT_EQ(facts.logical_cpus, 0);
  EXPECT_FALSE(facts.load_1m.has_value());
  EXPECT_FALSE(facts.compiler.empty());
  EXPECT_FALSE(free_disk_bytes(root_.path() + "/none").has_value());
  EXPECT_GT(free_disk_bytes(root_.path()).value(), 0);
}

TEST(StealShare, IsOfTheTimeBetween) {
  EXPECT_DOUBLE_EQ(steal_share({100, 10}, {200, 35}), 0.25);
  EXPECT_DOUBLE_EQ(steal_share({100, 10}, {100, 10}), 0);
}

}  // namespace
}  // namespace gradstone
