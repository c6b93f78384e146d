// SPDX-License-Identifier: Apache-2.0
// Which axes a Reduce... operator reduces. Shared by shape rules, kernels and engines.
#pragma once

#include "graph/op_table.h"

namespace gradstone {

struct Reduction {
  std::vector<std::size_t> axes;  // ascending; empty: nothing is reduced
  bool keep_dims = true;          // reduced axes stay with extent 1
};
// Of a ReduceSum node (axes is an input, a constant) or another one (an attribute in opset 17). No
// axes: all, or none with noop_with_empty_axes.
Result<Reduction> reduction_of(const NodeContext& context);

}  // namespace gradstone
