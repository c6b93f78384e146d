// SPDX-License-Identifier: Apache-2.0
// Every workload that this build knows, one for each folder here; the list itself is made by CMake.
#pragma once

#include <vector>

#include "recipe/workload.h"

namespace gradstone {

std::vector<Workload> all_workloads();  // by name

}  // namespace gradstone
