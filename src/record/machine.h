// SPDX-License-Identifier: Apache-2.0
// The machine a run is made on, as the kernel tells it. Reads files below one root folder, so that
// tests give a tree of their own. What of it spoils a measurement is judged elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace gradstone {

struct CpuCache {
  int level = 0;
  std::string type;  // "Data", "Instruction", "Unified"
  std::int64_t bytes = 0;
  bool operator==(const CpuCache&) const = default;
};

// Ticks since boot, over all processors.
struct CpuTimes {
  std::int64_t total = 0, steal = 0;
};
// Share of the time between two readings that the hypervisor gave to others; 0 for no time.
double steal_share(const CpuTimes& before, const CpuTimes& after);

// "" and nullopt: the kernel does not say.
struct MachineFacts {
  std::string cpu_model;
  int logical_cpus = 0;                // online
  int physical_cores = 0;              // 0: not told
  std::vector<CpuCache> caches;        // of the first processor
  std::vector<std::string> governors;  // each one once; empty where there is no frequency scaling
  std::optional<double> load_1m;
  CpuTimes cpu_times;
  std::optional<double> cgroup_cpus;  // quota, the smallest on the way up
  bool hypervisor = false;
  std::string product;  // "KVM", "VMware7,1", "ThinkPad ..."
  std::string kernel, system, compiler;
  std::int64_t memory_bytes = 0, available_bytes = 0;
  std::int64_t swap_bytes = 0, swap_used_bytes = 0;
  std::string blas;  // what the system's libblas.so.3 points to
};

// `root` "" is the machine itself.
MachineFacts read_machine(const std::string& root = "");
CpuTimes read_cpu_times(const std::string& root = "");
// Bytes that a file in the folder could still take; nullopt where the folder does not exist.
std::optional<std::int64_t> free_disk_bytes(const std::string& folder);

Json to_json(const MachineFacts& facts);  // RunRecord::context["machine"]

}  // namespace gradstone
