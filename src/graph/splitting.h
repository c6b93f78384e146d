// SPDX-License-Identifier: Apache-2.0
// How a Split node cuts its input. Shared by the shape rule, kernels and engines.
#pragma once

#include "graph/op_table.h"

namespace gradstone {

struct Splitting {
  std::size_t axis = 0;
  std::vector<std::int64_t> extents;  // of each output along the axis
};
// By ONNX: input split, a constant, or as many equal parts as the node has outputs. Unreadable where
// the extents do not add up.
Result<Splitting> splitting_of(const NodeContext& context);

}  // namespace gradstone
