// SPDX-License-Identifier: Apache-2.0
// The two clocks: one for durations, one for dates. Not for sleeping.
#pragma once

#include <chrono>
#include <cstdint>

namespace gradstone {

// Never goes back; means nothing outside this boot of the machine.
inline std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Milliseconds since 1970 in UTC; may be set back by the administrator.
inline std::int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace gradstone
