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

enum class PadMode { kConstant, kReflect, kEdge };

// Elements added before and after each axis; a negative number takes elements away.
struct Pads {
  PadMode mode = PadMode::kConstant;
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
};
// Of a Pad node. Unreadable where reflect or edge have no element left to repeat.
Result<Pads> pads_of(const NodeContext& context);

// For each place of axis `axis` of the output the place of the input, of `extent`, that it shows.
// Not for mode constant. Reflect mirrors without repeating the border, as often as need be.
std::vector<std::int64_t> padded_places(const Pads& pads, std::size_t axis, std::int64_t extent);

struct Padding {
  std::vector<std::int64_t> begin;  // as in Pads
  std::vector<std::int64_t> end;
  double value = 0;
};
// Of a Pad node in mode "constant"; unsupported for other modes.
Result<Padding> padding_of(const NodeContext& context);

}  // namespace gradstone
