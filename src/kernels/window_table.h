// SPDX-License-Identifier: Apache-2.0
// The sliding window of a convolution or pooling, spelt out: for each element of the kernel and
// each window, which input element it meets. Any number of spatial axes.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/window.h"

namespace gradstone::kernels {

struct WindowTable {
  static constexpr std::int32_t kPadding = -1;  // inside the padding that counts
  static constexpr std::int32_t kBeyond = -2;   // beyond it (only with ceil_mode)

  std::int64_t taps = 0;       // elements of the kernel
  std::int64_t positions = 0;  // windows
  std::int64_t area = 0;       // elements of one channel of the input
  // [taps, positions]: place within one channel of the input, or one of the two above.
  std::vector<std::int32_t> places;
  bool identity = false;  // one tap, and window i is element i: nothing to rearrange

  std::int32_t place(std::int64_t tap, std::int64_t position) const {
    return places[static_cast<std::size_t>(tap * positions + position)];
  }
};

// `input` holds the spatial extents alone. They have fewer than 2^31 elements.
WindowTable window_table(const Window& window, const Shape& input);

}  // namespace gradstone::kernels
