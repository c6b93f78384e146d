// SPDX-License-Identifier: Apache-2.0
// What a RoiAlign node asks for. Shared by shape rules, kernels and engines.
#pragma once

#include "graph/graph.h"

namespace gradstone {

struct RegionPooling {
  bool maximum = false;    // of the samples of a bin, else their average
  bool half_pixel = true;  // coordinates are shifted by half a pixel; else extents are at least 1
  std::int64_t output_height = 1;
  std::int64_t output_width = 1;
  std::int64_t sampling_ratio = 0;  // samples along each side of a bin; 0: one a pixel, rounded up
  double spatial_scale = 1;
};
// Unreadable: unknown modes, extents below 1.
Result<RegionPooling> region_pooling_of(const Node& node);

}  // namespace gradstone
