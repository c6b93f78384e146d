// SPDX-License-Identifier: Apache-2.0
// A hard memory limit by the kernel, where a cgroup of version 2 has been delegated to us. The
// limit that always works is the watchdog's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "run/limits.h"

namespace gradstone {

class MemoryCgroup {
 public:
  // A new cgroup with this limit and this process in it, below our own or beside it; nullopt where
  // we may not make one. Processes that it starts are in it too.
  static std::optional<MemoryCgroup> hold(pid_t process, std::int64_t limit_bytes,
                                          const KernelFolders& folders = {});
  MemoryCgroup(MemoryCgroup&& other) noexcept;
  MemoryCgroup& operator=(MemoryCgroup&&) = delete;
  ~MemoryCgroup();  // removes it; its processes must be gone

  // Whether the kernel has killed in it for lack of memory.
  bool has_killed() const;

 private:
  explicit MemoryCgroup(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

}  // namespace gradstone
