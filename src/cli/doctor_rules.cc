// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace gradstone {
namespace {

using Found = std::optional<Finding>;

constexpr double kGibibyte = 1073741824.0;
constexpr double kBusyLoadPerCpu = 0.25;
constexpr double kMuchSteal = 0.01;
constexpr double kLowMemoryShare = 0.10;
constexpr std::int64_t kLowDisk = std::int64_t{1} << 30;
constexpr double kMuchSwapShare = 0.05;

// Debian keeps the reference implementation, whose matrix products are many times slower, in
// a folder of that plain name; the fast ones are in blas-openblas, openblas-pthread, atlas, ...
Found check_blas(const DoctorFacts& facts) {
  const std::string folder =
      std::filesystem::path(facts.machine.blas).parent_path().filename().string();
  if (folder != "blas") return {};
  return Finding{"the system's BLAS is the reference implementation (" + facts.machine.blas +
                     "), many times slower than others",
                 "apt install libopenblas0-pthread, or choose with: update-alternatives --config "
                 "libblas.so.3-$(uname -m)-linux-gnu"};
}

Found check_load(const DoctorFacts& facts) {
  const MachineFacts& machine = facts.machine;
  const double allowed = std::max(0.5, kBusyLoadPerCpu * machine.logical_cpus);
  if (!machine.load_1m || *machine.load_1m <= allowed) return {};
  return Finding{fmt::format("the machine is busy: load {:.2f} on {} CPUs in the last minute",
                             *machine.load_1m, machine.logical_cpus),
                 "stop other programs (top shows them) and wait a minute"};
}

Found check_steal(const DoctorFacts& facts) {
  if (facts.steal <= kMuchSteal) return {};
  return Finding{
      fmt::format("the hypervisor gave {:.1f}% of the CPU time to others", 100 * facts.steal),
      "use a machine with dedicated CPUs, or repeat at another hour and compare "
      "intervals"};
}

Found check_quota(const DoctorFacts& facts) {
  const MachineFacts& machine = facts.machine;
  if (!machine.cgroup_cpus || *machine.cgroup_cpus >= machine.logical_cpus) return {};
  return Finding{fmt::format("a cgroup quota allows {:.2f} of {} CPUs; more threads than that are "
                             "stopped in turns",
                             *machine.cgroup_cpus, machine.logical_cpus),
                 fmt::format("give --threads {}, or raise the quota (docker run --cpus, systemd "
                             "CPUQuota)",
                             std::max(1, static_cast<int>(*machine.cgroup_cpus)))};
}

Found check_governor(const DoctorFacts& facts) {
  const std::vector<std::string>& governors = facts.machine.governors;
  const auto is_right = [](const std::string& name) { return name == "performance"; };
  if (std::all_of(governors.begin(), governors.end(), is_right)) return {};
  return Finding{fmt::format("the CPU frequency governor is {}", fmt::join(governors, ", ")),
                 "cpupower frequency-set --governor performance (as root)"};
}

Found check_memory(const DoctorFacts& facts) {
  const MachineFacts& machine = facts.machine;
  if (machine.memory_bytes == 0) return {};
  const auto available = static_cast<double>(machine.available_bytes);
  if (available >= kGibibyte &&
      available >= kLowMemoryShare * static_cast<double>(machine.memory_bytes)) {
    return {};
  }
  return Finding{
      fmt::format("only {:.1f} of {:.1f} GiB of memory are available", available / kGibibyte,
                  static_cast<double>(machine.memory_bytes) / kGibibyte),
      "stop other programs, or choose a smaller --size or --batch"};
}

Found check_swap(const DoctorFacts& facts) {
  const MachineFacts& machine = facts.machine;
  const auto used = static_cast<double>(machine.swap_used_bytes);
  if (used <= kMuchSwapShare * static_cast<double>(machine.memory_bytes)) return {};
  return Finding{fmt::format("{:.1f} GiB are swapped out", used / kGibibyte),
                 "free memory, then swapoff -a && swapon -a (as root)"};
}

Found check_disk(const DoctorFacts& facts) {
  if (!facts.store_free_bytes || *facts.store_free_bytes >= kLowDisk) return {};
  return Finding{fmt::format("only {} MiB are free at {}, where records are kept",
                             *facts.store_free_bytes >> 20, facts.store_folder),
                 "free space, or name another place with --store"};
}

Found check_engines(const DoctorFacts& facts) {
  if (!facts.engine_problems.empty()) {
    return Finding{
        fmt::format("an engine cannot be used: {}", fmt::join(facts.engine_problems, "; ")),
        "build again, or remove that file"};
  }
  if (facts.framework_engines > 0) return {};
  return Finding{"no engine of a framework is installed: --engine all has nothing to run",
                 "install a framework's development package, then build again (README)"};
}

Found check_data(const DoctorFacts& facts) {
  if (facts.data_problem.empty()) return {};
  return Finding{"Fashion-MNIST cannot be read: " + facts.data_problem,
                 "apt install dataset-fashion-mnist, or use --data synthetic"};
}

constexpr std::array<DoctorRule, 10> kRules = {
    {{"blas", "which BLAS programs get", true, check_blas},
     {"load", "what else runs", true, check_load},
     {"steal", "CPU time that the hypervisor gives to others", true, check_steal},
     {"quota", "CPU quota of the cgroup", true, check_quota},
     {"governor", "CPU frequency governor", true, check_governor},
     {"memory", "available memory", true, check_memory},
     {"swap", "memory that is swapped out", true, check_swap},
     {"disk", "space for records", false, check_disk},
     {"engines", "frameworks found", false, check_engines},
     {"data", "data sets of the system", false, check_data}}};

}  // namespace

std::span<const DoctorRule> doctor_rules() { return kRules; }

std::vector<std::string> run_warnings(const DoctorFacts& facts) {
  std::vector<std::string> warnings;
  for (const DoctorRule& rule : kRules) {
    if (!rule.spoils_runs) continue;
    if (const Found found = rule.check(facts)) {
      warnings.push_back(std::string(rule.id) + ": " + found->text);
    }
  }
  return warnings;
}

}  // namespace gradstone
