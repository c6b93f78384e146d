// SPDX-License-Identifier: Apache-2.0
// Pooling and its adjoints, channel by channel. Of several equal maxima the first in row-major
// order counts; a NaN counts as a maximum.
#include <algorithm>

#include "kernels/element_type.h"
#include "kernels/kernel.h"
#include "kernels/window_table.h"

namespace gradstone::kernels {
namespace {

Result<WindowTable> pooling_windows(const Node& node, const Shape& input) {
  const Shape area(input.begin() + 2, input.end());
  return window_table(TRY(pooling_window_of(node, area)), area);
}

// Calls visit(image, windows) with the number of each channel of each sample.
template <class Visit>
void for_each_channel(const Shape& shape, Visit visit) {
  for (std::int64_t image = 0; image < shape[0] * shape[1]; ++image) visit(image);
}

// Place within the channel of the first maximum of each window.
template <class T>
void find_maxima(const WindowTable& windows, const T* channel, std::vector<std::int32_t>& maxima) {
  maxima.assign(static_cast<std::size_t>(windows.positions), WindowTable::kPadding);
  for (std::int64_t tap = 0; tap < windows.taps; ++tap) {
    const std::int32_t* places = windows.places.data() + tap * windows.positions;
    for (std::size_t i = 0; i < maxima.size(); ++i) {
      const std::int32_t place = places[i];
      if (place < 0) continue;
      const bool first = maxima[i] < 0;
      if (first || channel[place] > channel[maxima[i]] ||
          (channel[place] != channel[place] && channel[maxima[i]] == channel[maxima[i]])) {
        maxima[i] = place;
      }
    }
  }
}

// y is read from `values` at the maxima of x.
template <class T>
Status gather_at_maxima(const KernelCall& call, std::size_t values) {
  const WindowTable windows = TRY(pooling_windows(call.node, call.input_shape(0)));
  const T* x = call.input<T>(0).data();
  const T* from = call.input<T>(values).data();
  T* y = call.output<T>(0).data();
  std::vector<std::int32_t> maxima;
  for_each_channel(call.input_shape(0), [&](std::int64_t image) {
    find_maxima(windows, x + image * windows.area, maxima);
    for (const std::int32_t place : maxima) *y++ = from[image * windows.area + place];
  });
  return {};
}

// `place` of a channel of the given spatial extents, counted with the first axis fastest.
std::int64_t first_axis_fastest(std::int64_t place, const Shape& area) {
  std::int64_t result = 0;
  std::int64_t stride = element_count(area);
  for (std::size_t axis = area.size(); axis-- > 0;) {
    stride /= area[axis];
    result += place % area[axis] * stride;
    place /= area[axis];
  }
  return result;
}

// Places of the maxima in the whole input.
template <class T>
Status write_indices(const KernelCall& call) {
  const Shape& shape = call.input_shape(0);
  const WindowTable windows = TRY(pooling_windows(call.node, shape));
  const Shape area(shape.begin() + 2, shape.end());
  const bool row_major = attribute_or(call.node, "storage_order", std::int64_t{0}) == 0;
  const T* x = call.input<T>(0).data();
  std::int64_t* indices = call.output<std::int64_t>(1).data();
  std::vector<std::int32_t> maxima;
  for_each_channel(shape, [&](std::int64_t image) {
    find_maxima(windows, x + image * windows.area, maxima);
    for (const std::int32_t place : maxima) {
      *indices++ = image * windows.area + (row_major ? place : first_axis_fastest(place, area));
    }
  });
  return {};
}

Status max_pool(const KernelCall& call) {
  return with_element_type(call.inputs[0].type.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    TRY(gather_at_maxima<T>(call, 0));
    return call.wants_output(1) ? write_indices<T>(call) : Status();
  });
}

template <class T>
Status max_pool_gather(const KernelCall& call) {
  return gather_at_maxima<T>(call, 1);
}

// Inputs: x, dy.
template <class T>
Status max_pool_grad(const KernelCall& call) {
  const WindowTable windows = TRY(pooling_windows(call.node, call.input_shape(0)));
  const T* x = call.input<T>(0).data();
  const T* dy = call.input<T>(1).data();
  const std::span<T> dx = call.output<T>(0);
  std::fill(dx.begin(), dx.end(), T(0));
  std::vector<std::int32_t> maxima;
  for_each_channel(call.input_shape(0), [&](std::int64_t image) {
    find_maxima(windows, x + image * windows.area, maxima);
    for (const std::int32_t place : maxima) dx[image * windows.area + place] += *dy++;
  });
  return {};
}

// By how much the sum of each window is divided: the elements inside the input, or, with
// count_include_pad, those inside the padded input.
template <class T>
std::vector<T> window_divisors(const Node& node, const WindowTable& windows) {
  const bool with_padding = attribute_or(node, "count_include_pad", std::int64_t{0}) != 0;
  const std::int32_t least = with_padding ? WindowTable::kPadding : 0;
  std::vector<T> divisors(static_cast<std::size_t>(windows.positions), T(0));
  for (std::int64_t tap = 0; tap < windows.taps; ++tap) {
    for (std::int64_t i = 0; i < windows.positions; ++i) {
      if (windows.place(tap, i) >= least) divisors[static_cast<std::size_t>(i)] += 1;
    }
  }
  return divisors;
}

template <class T>
Status average_pool(const KernelCall& call) {
  const WindowTable windows = TRY(pooling_windows(call.node, call.input_shape(0)));
  const std::vector<T> divisors = window_divisors<T>(call.node, windows);
  const T* x = call.input<T>(0).data();
  const std::span<T> y = call.output<T>(0);
  std::fill(y.begin(), y.end(), T(0));
  for_each_channel(call.input_shape(0), [&](std::int64_t image) {
    T* out = y.data() + image * windows.positions;
    for (std::int64_t tap = 0; tap < windows.taps; ++tap) {
      for (std::int64_t i = 0; i < windows.positions; ++i) {
        const std::int32_t place = windows.place(tap, i);
        if (place >= 0) out[i] += x[image * windows.area + place];
      }
    }
    for (std::size_t i = 0; i < divisors.size(); ++i) out[i] /= divisors[i];
  });
  return {};
}

template <class T>
Status average_pool_grad(const KernelCall& call) {
  const WindowTable windows = TRY(pooling_windows(call.node, call.output_shape(0)));
  const std::vector<T> divisors = window_divisors<T>(call.node, windows);
  const T* dy = call.input<T>(0).data();
  const std::span<T> dx = call.output<T>(0);
  std::fill(dx.begin(), dx.end(), T(0));
  for_each_channel(call.output_shape(0), [&](std::int64_t image) {
    const T* in = dy + image * windows.positions;
    for (std::int64_t tap = 0; tap < windows.taps; ++tap) {
      for (std::int64_t i = 0; i < windows.positions; ++i) {
        const std::int32_t place = windows.place(tap, i);
        if (place >= 0) {
          dx[image * windows.area + place] += in[i] / divisors[static_cast<std::size_t>(i)];
        }
      }
    }
  });
  return {};
}

}  // namespace

std::vector<KernelRow> pooling_kernels() {
  return {
      {"", "MaxPool", max_pool, max_pool},
      {"", "AveragePool", average_pool<float>, average_pool<double>},
      {kGradstoneDomain, "MaxPoolGrad", max_pool_grad<float>, max_pool_grad<double>},
      {kGradstoneDomain, "MaxPoolGather", max_pool_gather<float>, max_pool_gather<double>},
      {kGradstoneDomain, "AveragePoolGrad", average_pool_grad<float>, average_pool_grad<double>}};
}

}  // namespace gradstone::kernels
