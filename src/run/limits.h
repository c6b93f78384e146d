// SPDX-License-Identifier: Apache-2.0
// What a worker may use, and how it is watched: the resident set of its process group. Address
// space is never limited, since frameworks reserve far more than they touch.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace gradstone {

// 90 % of the memory that is available now: the smaller of /proc/meminfo's MemAvailable and what
// the cgroups above this process leave.
std::int64_t default_memory_limit();

// Bytes resident in all processes of a group, shared pages counted once (proportional set size).
// Where the kernel does not tell that, resident set size. 0 for an empty group.
std::int64_t resident_bytes_of_group(pid_t group);

}  // namespace gradstone
