// SPDX-License-Identifier: Apache-2.0
// How much memory there is, and how much a process group holds: the resident set. Address space is
// never limited, since frameworks reserve far more than they touch.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gradstone {

// Where the kernel tells these things; other folders in tests.
struct KernelFolders {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

// Bytes this process may still take: the smaller of MemAvailable and what every memory cgroup above
// it leaves (version 1 and 2; clean page cache counts as free). 0 if nothing can be read.
std::int64_t available_memory(const KernelFolders& folders = {});

// 90 % of available_memory.
std::int64_t default_memory_limit();

// Processes killed for lack of memory since the boot, or 0 if the kernel does not count them.
std::int64_t out_of_memory_kills(const KernelFolders& folders = {});

// Looks at the memory of a process group again and again, cheaply: the leader each time, the list
// of members at most once a second.
class GroupMemory {
 public:
  explicit GroupMemory(pid_t group, KernelFolders folders = {});
  // Resident bytes of the group now. Pages shared between members are counted once (proportional
  // set size) if that matters, that is if the sum of their resident sets exceeds `limit`: the exact
  // figure costs a walk over page tables.
  std::int64_t resident_bytes(std::int64_t limit);

 private:
  void find_members();

  pid_t group_;
  KernelFolders folders_;
  std::vector<pid_t> members_;
  std::int64_t next_search_ns_ = 0;
};

}  // namespace gradstone
