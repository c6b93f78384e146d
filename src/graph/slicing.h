// SPDX-License-Identifier: Apache-2.0
// Slice and Pad with their constant inputs resolved, by ONNX's rules. Shared by shape rules,
// kernels and engines.
#pragma once

#include "graph/op_table.h"

namespace gradstone {

// For each axis of the input: element i of the output is element start + i * step of the input.
struct Slicing {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> steps;  // not 0; may be negative
  Shape extents;                    // of the output
};
// Of a Slice node: negative places count from the end, places outside are clamped, axes not named
// stay whole.
Result<Slicing> slicing_of(const NodeContext& context);

// Elements added before and after each axis.
struct Padding {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  double value = 0;
};
// Of a Pad node in mode "constant". Unsupported for other modes; negative pads are an error (use
// Slice).
Result<Padding> padding_of(const NodeContext& context);

}  // namespace gradstone
