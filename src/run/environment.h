// SPDX-License-Identifier: Apache-2.0
// Environment variables that change what a worker computes or how fast. Recorded, never changed.
#pragma once

#include "base/json.h"

namespace gradstone {

// Those of this process that matter, by name.
Json environment_that_matters();

}  // namespace gradstone
