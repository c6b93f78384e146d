// SPDX-License-Identifier: Apache-2.0
#include "graph/window.h"

#include <algorithm>

#include "graph/shape_rules.h"

namespace gradstone {
namespace {

// Keeps products of two window parameters inside int64.
constexpr std::int64_t kLargestParameter = std::int64_t{1} << 30;

// A list attribute with one item an axis, or `fallback` for every axis.
Result<Shape> axis_list(const Node& node, std::string_view name, std::size_t axes,
                        std::int64_t fallback, std::int64_t least) {
  Shape list = attribute_or(node, name, Shape(axes, fallback));
  if (list.size() != axes) {
    return unreadable("attribute '" + std::string(name) + "' has " + std::to_string(list.size()) +
                      " items; expected " + std::to_string(axes));
  }
  for (const std::int64_t item : list) {
    if (item < least || item > kLargestParameter) {
      return unreadable("attribute '" + std::string(name) + "' holds " + std::to_string(item) +
                        "; expected " + std::to_string(least) + " to 2^30");
    }
  }
  return list;
}

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Elements from the first to the last that a window covers.
std::int64_t reach(const Window& window, std::size_t axis) {
  return (window.kernel[axis] - 1) * window.dilations[axis] + 1;
}

void pad_to_same_extent(Window& window, std::size_t axis, std::int64_t input, bool upper) {
  const std::int64_t stride = window.strides[axis];
  const std::int64_t output = ceil_divide(input, stride);
  const std::int64_t total =
      std::max<std::int64_t>((output - 1) * stride + reach(window, axis) - input, 0);
  const std::int64_t lesser = total / 2;
  window.pads_begin[axis] = upper ? lesser : total - lesser;
  window.pads_end[axis] = upper ? total - lesser : lesser;
}

Result<std::int64_t> window_count(const Window& window, std::size_t axis, std::int64_t input,
                                  bool ceil_mode) {
  const std::int64_t padded = input + window.pads_begin[axis] + window.pads_end[axis];
  const std::int64_t room = padded - reach(window, axis);
  if (room < 0) {
    return unreadable("window of " + std::to_string(reach(window, axis)) + " along spatial axis " +
                      std::to_string(axis) + " is larger than the padded input of " +
                      std::to_string(padded));
  }
  const std::int64_t stride = window.strides[axis];
  if (!ceil_mode) return room / stride + 1;
  const std::int64_t count = ceil_divide(room, stride) + 1;
  const bool begins_in_padding = (count - 1) * stride >= input + window.pads_begin[axis];
  return begins_in_padding ? count - 1 : count;
}

Status read_pads(const Node& node, const std::string& auto_pad, const Shape& input,
                 Window& window) {
  const std::size_t axes = input.size();
  window.pads_begin.assign(axes, 0);
  window.pads_end.assign(axes, 0);
  if (auto_pad != "NOTSET") {
    if (node.attributes.count("pads") > 0) {
      return unreadable("attributes 'pads' and 'auto_pad' = " + auto_pad +
                        " exclude each other; drop one");
    }
    for (std::size_t i = 0; i < axes && auto_pad != "VALID"; ++i) {
      pad_to_same_extent(window, i, input[i], auto_pad == "SAME_UPPER");
    }
    return {};
  }
  const Shape pads = TRY(axis_list(node, "pads", 2 * axes, 0, 0));
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(axes);
  window.pads_begin.assign(pads.begin(), middle);
  window.pads_end.assign(middle, pads.end());
  return {};
}

}  // namespace

Result<Window> window_of(const Node& node, const Shape& kernel, const Shape& input) {
  Window window;
  window.kernel = kernel;
  if (kernel.size() != input.size()) {
    return unreadable("kernel " + to_string(kernel) + " does not fit spatial extents " +
                      to_string(input));
  }
  for (const std::int64_t extent : kernel) {
    if (extent < 1 || extent > kLargestParameter) {
      return unreadable("kernel " + to_string(kernel) + " has an extent outside 1 to 2^30");
    }
  }
  window.strides = TRY(axis_list(node, "strides", input.size(), 1, 1));
  window.dilations = TRY(axis_list(node, "dilations", input.size(), 1, 1));
  const std::string auto_pad =
      TRY(chosen(node, "auto_pad", {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}));
  TRY(read_pads(node, auto_pad, input, window));
  const bool ceil_mode =
      auto_pad == "NOTSET" && attribute_or(node, "ceil_mode", std::int64_t{0}) != 0;
  for (std::size_t i = 0; i < input.size(); ++i) {
    window.output.push_back(TRY(window_count(window, i, input[i], ceil_mode)));
  }
  return window;
}

Result<Window> pooling_window_of(const Node& node, const Shape& input) {
  const Shape kernel = attribute_or(node, "kernel_shape", Shape{});
  Window window = TRY(window_of(node, kernel, input));
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::int64_t pad = std::max(window.pads_begin[i], window.pads_end[i]);
    if (pad == 0) continue;
    if (pad >= reach(window, i)) {
      return unreadable("padding " + std::to_string(pad) + " is not smaller than the window of " +
                        std::to_string(reach(window, i)));
    }
    if (window.dilations[i] > input[i]) {
      return unreadable("dilation " + std::to_string(window.dilations[i]) +
                        " steps over the whole input of " + std::to_string(input[i]));
    }
  }
  return window;
}

namespace {

// What one axis has too much (or, negative, too little), and the elements behind its last window.
struct Excess {
  std::int64_t total = 0;
  std::int64_t behind = 0;
};

// Splits the excess into pads. The convolution sees at most stride - 1 elements behind its last
// window; what is more is cut from the far padding or becomes zeros.
void set_transposed_axis(TransposedWindow& window, std::size_t axis, Excess excess, bool upper) {
  std::int64_t& begin = window.pads_begin[axis];
  std::int64_t& end = window.pads_end[axis];
  if (excess.total > 0) {
    begin += upper ? excess.total / 2 : excess.total - excess.total / 2;
    end += upper ? excess.total - excess.total / 2 : excess.total / 2;
  } else {
    excess.behind -= excess.total;
  }
  const std::int64_t seen = std::min(excess.behind, window.strides[axis] - 1);
  const std::int64_t unseen = excess.behind - seen;
  const std::int64_t cut = std::min(end, unseen);
  end -= cut;
  window.zeros[axis] = unseen - cut;
  window.output[axis] += seen - begin - end;
}

}  // namespace

Result<TransposedWindow> transposed_window_of(const Node& node, const Shape& kernel,
                                              const Shape& input) {
  const std::size_t axes = input.size();
  Window conv;
  conv.kernel = kernel;
  conv.strides = TRY(axis_list(node, "strides", axes, 1, 1));
  conv.dilations = TRY(axis_list(node, "dilations", axes, 1, 1));
  const Shape output_padding = TRY(axis_list(node, "output_padding", axes, 0, 0));
  const std::string auto_pad =
      TRY(chosen(node, "auto_pad", {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}));
  const bool sized = node.attributes.count("output_shape") > 0;
  const Shape sizes = TRY(axis_list(node, "output_shape", axes, 1, 1));
  conv.pads_begin = conv.pads_end = Shape(axes, 0);
  if (auto_pad == "NOTSET" && !sized) TRY(read_pads(node, auto_pad, input, conv));
  TransposedWindow window{conv.strides,  conv.dilations, conv.pads_begin,
                          conv.pads_end, Shape(axes, 0), Shape(axes, 0)};
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t stride = conv.strides[i];
    const std::int64_t full =
        saturating_sum(saturating_product({input[i] - 1, stride}), reach(conv, i));
    if (full > kMaxElements) return unreadable("an output extent is above 2^40");
    window.output[i] = full;
    Excess excess{0, output_padding[i]};
    if (sized) {
      excess.total = full + output_padding[i] - sizes[i];
    } else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      excess.total = full + output_padding[i] - input[i] * stride;
    }
    set_transposed_axis(window, i, excess, auto_pad == "SAME_UPPER");
    if (window.output[i] < 1) {
      return unreadable("pads take away all of spatial axis " + std::to_string(i));
    }
  }
  return window;
}

}  // namespace gradstone
