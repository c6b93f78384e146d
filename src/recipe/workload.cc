// SPDX-License-Identifier: Apache-2.0
#include "recipe/workload.h"

#include <algorithm>

namespace gradstone {

const WorkloadSize* find_size(const Workload& workload, std::string_view name) {
  for (const WorkloadSize& size : workload.sizes) {
    if (size.name == name) return &size;
  }
  const bool is_usual =
      std::find(kUsualSizes.begin(), kUsualSizes.end(), name) != kUsualSizes.end();
  return is_usual && workload.sizes.size() == 1 ? &workload.sizes[0] : nullptr;
}

}  // namespace gradstone
