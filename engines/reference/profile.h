// SPDX-License-Identifier: Apache-2.0
// Where events are collected between begin_profile and end_profile.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "worker/engine.h"

namespace gradstone::reference {

// Shared by an engine and its bundles. `events` is empty while nobody profiles.
struct Profile {
  std::optional<std::vector<ProfileEvent>> events;
};

// Nanoseconds on the monotonic clock.
inline std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace gradstone::reference
