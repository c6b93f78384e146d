// SPDX-License-Identifier: Apache-2.0
#include "recipe/workload.h"

namespace gradstone {

const WorkloadSize* find_size(const Workload& workload, std::string_view name) {
  for (const WorkloadSize& size : workload.sizes) {
    if (size.name == name) return &size;
  }
  return nullptr;
}

}  // namespace gradstone
