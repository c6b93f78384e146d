// SPDX-License-Identifier: Apache-2.0
#include "graph/slicing.h"

#include <algorithm>
#include <numeric>

#include "graph/shape_rules.h"

namespace gradstone {
namespace {

struct SliceArguments {
  std::vector<std::int64_t> starts, ends, axes, steps;
};

Result<SliceArguments> slice_arguments(const NodeContext& context) {
  SliceArguments arguments;
  arguments.starts = TRY(constant_integers(context, 1, "starts"));
  arguments.ends = TRY(constant_integers(context, 2, "ends"));
  const std::size_t count = arguments.starts.size();
  arguments.axes.resize(count);
  std::iota(arguments.axes.begin(), arguments.axes.end(), 0);
  if (context.inputs[3] != nullptr) arguments.axes = TRY(constant_integers(context, 3, "axes"));
  arguments.steps.assign(count, 1);
  if (context.inputs[4] != nullptr) arguments.steps = TRY(constant_integers(context, 4, "steps"));
  if (arguments.ends.size() != count || arguments.axes.size() != count ||
      arguments.steps.size() != count) {
    return unreadable("starts, ends, axes and steps differ in length");
  }
  return arguments;
}

// A place counted from the end if negative, then clamped to [low, high].
std::int64_t clamped(std::int64_t place, std::int64_t extent, std::int64_t low, std::int64_t high) {
  return std::clamp(place < 0 ? place + extent : place, low, high);
}

void slice_axis(Slicing& slicing, std::size_t axis, std::int64_t start, std::int64_t end) {
  const std::int64_t extent = slicing.extents[axis];
  const std::int64_t step = slicing.steps[axis];
  std::int64_t span = 0;
  if (step > 0) {
    slicing.starts[axis] = clamped(start, extent, 0, extent);
    span = clamped(end, extent, 0, extent) - slicing.starts[axis];
  } else {
    slicing.starts[axis] = clamped(start, extent, 0, extent - 1);
    span = slicing.starts[axis] - clamped(end, extent, -1, extent - 1);
  }
  // Not (span + |step| - 1) / |step|, which overflows for a step near the limits of int64.
  const std::int64_t stride = step > 0 ? step : -std::max(step, -kMaxElements);
  slicing.extents[axis] = span <= 0 ? 0 : (span - 1) / stride + 1;
}

// First element that negative pads leave of an axis, and how many they leave.
std::pair<std::int64_t, std::int64_t> kept_range(const Pads& pads, std::size_t axis,
                                                 std::int64_t extent) {
  const std::int64_t first = std::max<std::int64_t>(-pads.begin[axis], 0);
  return {first, extent - first + std::min<std::int64_t>(pads.end[axis], 0)};
}

}  // namespace

Result<Slicing> slicing_of(const NodeContext& context) {
  const Shape& input = context.inputs[0]->shape;
  const SliceArguments arguments = TRY(slice_arguments(context));
  TRY(resolved_axes(arguments.axes, input.size()));
  Slicing slicing;
  slicing.starts.assign(input.size(), 0);
  slicing.steps.assign(input.size(), 1);
  slicing.extents = input;
  for (std::size_t i = 0; i < arguments.axes.size(); ++i) {
    const std::size_t axis = TRY(resolved_axis(arguments.axes[i], input.size()));
    if (arguments.steps[i] == 0) return unreadable("a step is 0");
    slicing.steps[axis] = arguments.steps[i];
    slice_axis(slicing, axis, arguments.starts[i], arguments.ends[i]);
  }
  return slicing;
}

Result<Pads> pads_of(const NodeContext& context) {
  const std::string mode = TRY(chosen(context.node, "mode", {"constant", "reflect", "edge"}));
  const std::vector<std::int64_t> pads = TRY(constant_integers(context, 1, "pads"));
  const Shape& shape = context.inputs[0]->shape;
  if (pads.size() != 2 * shape.size()) {
    return unreadable("pads has " + std::to_string(pads.size()) + " items; expected " +
                      std::to_string(2 * shape.size()));
  }
  for (const std::int64_t pad : pads) {
    if (pad < -kMaxElements || pad > kMaxElements) {
      return unreadable("pads holds " + std::to_string(pad) + "; expected at most 2^40");
    }
  }
  Pads result;
  result.mode = mode == "constant"  ? PadMode::kConstant
                : mode == "reflect" ? PadMode::kReflect
                                    : PadMode::kEdge;
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(shape.size());
  result.begin.assign(pads.begin(), middle);
  result.end.assign(middle, pads.end());
  for (std::size_t axis = 0; axis < shape.size() && mode != "constant"; ++axis) {
    if (kept_range(result, axis, shape[axis]).second <= 0) {
      return unreadable("pads " + to_string(pads) + " take away all of axis " +
                        std::to_string(axis));
    }
  }
  return result;
}

std::vector<std::int64_t> padded_places(const Pads& pads, std::size_t axis, std::int64_t extent) {
  const auto [first, kept] = kept_range(pads, axis, extent);
  const std::int64_t period = std::max<std::int64_t>(2 * (kept - 1), 1);
  std::vector<std::int64_t> places;
  const std::int64_t before = std::max<std::int64_t>(pads.begin[axis], 0);
  const std::int64_t after = std::max<std::int64_t>(pads.end[axis], 0);
  for (std::int64_t i = -before; i < kept + after; ++i) {
    if (pads.mode == PadMode::kEdge) {
      places.push_back(first + std::clamp<std::int64_t>(i, 0, kept - 1));
    } else {
      const std::int64_t phase = ((i % period) + period) % period;
      places.push_back(first + std::min(phase, period - phase));
    }
  }
  return places;
}

Result<Padding> padding_of(const NodeContext& context) {
  Pads pads = TRY(pads_of(context));
  if (pads.mode != PadMode::kConstant) {
    return unsupported("modes reflect and edge; only 'constant' is supported");
  }
  Padding padding{std::move(pads.begin), std::move(pads.end), 0};
  if (context.inputs[2] != nullptr) {
    padding.value = TRY(constant_number(context, 2, "constant_value"));
  }
  return padding;
}

}  // namespace gradstone
