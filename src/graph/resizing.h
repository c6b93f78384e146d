// SPDX-License-Identifier: Apache-2.0
// How Resize samples each axis: it is separable, and along one axis every output element is a
// weighted sum of a few input elements. Shared by the shape rule, the expansion and engines.
#pragma once

#include <string>
#include <vector>

#include "graph/op_table.h"

namespace gradstone {

struct Resizing {
  std::string mode;        // nearest, linear or cubic
  std::string coordinate;  // coordinate_transformation_mode
  Shape extents;           // of the output
  std::vector<double> scales;
};
// Of a Resize node: from scales (extents are rounded down) or from sizes, both constants.
// Unsupported: coordinate_transformation_mode tf_crop_and_resize, and linear or cubic of integers.
Result<Resizing> resizing_of(const NodeContext& context);

// Taps of one axis. Output element i is the sum over t of weights[t][i] * input[places[t][i]].
struct AxisTaps {
  std::vector<std::vector<std::int64_t>> places;
  std::vector<std::vector<double>> weights;  // empty: a single tap of weight 1
};
// Of axis `axis` with `extent` input elements. No taps: the axis stays as it is.
AxisTaps axis_taps(const Node& node, const Resizing& resizing, std::size_t axis,
                   std::int64_t extent);

}  // namespace gradstone
