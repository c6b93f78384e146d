// SPDX-License-Identifier: Apache-2.0
#include "kernels/window_table.h"

#include <algorithm>
#include <limits>

namespace gradstone::kernels {
namespace {

// Place along one axis of tap `tap` of window `position`.
std::int32_t place_on_axis(const Window& window, std::size_t axis, std::int64_t input,
                           std::int64_t tap, std::int64_t position) {
  const std::int64_t place =
      position * window.strides[axis] - window.pads_begin[axis] + tap * window.dilations[axis];
  if (place >= input + window.pads_end[axis]) return WindowTable::kBeyond;
  if (place < 0 || place >= input) return WindowTable::kPadding;
  return static_cast<std::int32_t>(place);
}

// A place on two axes from one on each. Beyond wins over padding.
std::int32_t joined(std::int32_t outer, std::int32_t inner, std::int64_t inner_extent) {
  if (outer < 0 || inner < 0) return std::min({outer, inner, std::int32_t{-1}});
  return static_cast<std::int32_t>(outer * inner_extent + inner);
}

WindowTable with_axis(const WindowTable& outer, const Window& window, std::size_t axis,
                      std::int64_t input) {
  const std::int64_t kernel = window.kernel[axis], output = window.output[axis];
  WindowTable table{outer.taps * kernel, outer.positions * output, outer.area * input, {}, false};
  table.places.reserve(static_cast<std::size_t>(table.taps * table.positions));
  for (std::int64_t tap = 0; tap < table.taps; ++tap) {
    for (std::int64_t position = 0; position < table.positions; ++position) {
      const std::int32_t inner =
          place_on_axis(window, axis, input, tap % kernel, position % output);
      table.places.push_back(joined(outer.place(tap / kernel, position / output), inner, input));
    }
  }
  return table;
}

}  // namespace

WindowTable window_table(const Window& window, const Shape& input) {
  CHECK(element_count(input) < std::numeric_limits<std::int32_t>::max(), "image too large");
  WindowTable table{1, 1, 1, {0}, false};
  for (std::size_t axis = 0; axis < input.size(); ++axis) {
    table = with_axis(table, window, axis, input[axis]);
  }
  table.identity = table.taps == 1 && table.positions == table.area;
  for (std::int64_t i = 0; i < table.positions && table.identity; ++i) {
    table.identity = table.places[static_cast<std::size_t>(i)] == i;
  }
  return table;
}

}  // namespace gradstone::kernels
