// SPDX-License-Identifier: Apache-2.0
// Where events are collected between begin_profile and end_profile.
#pragma once

#include <optional>
#include <vector>

#include "worker/engine.h"

namespace gradstone::reference {

// Shared by an engine and its bundles. `events` is empty while nobody profiles.
struct Profile {
  std::optional<std::vector<ProfileEvent>> events;
};

}  // namespace gradstone::reference
