// SPDX-License-Identifier: Apache-2.0
// Sliding windows of convolution and pooling: paddings resolved and output extents, by ONNX's
// formulas. Pure arithmetic on one list an item for each spatial axis; shared by shape rules,
// kernels and engines.
#pragma once

#include "graph/graph.h"

namespace gradstone {

// Window `o` of an axis covers input positions o * stride - pad_begin + k * dilation, k in
// [0, kernel). Positions outside [0, input) are padding.
struct Window {
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape pads_begin;
  // Padding at the far end, as count_include_pad counts it. With ceil_mode the last window may
  // reach beyond it; what lies there is neither read nor counted.
  Shape pads_end;
  Shape output;  // number of windows, >= 1
};

// Reads strides, dilations, auto_pad, pads and ceil_mode of Conv, MaxPool, AveragePool and their
// gradients. With auto_pad NOTSET: floor or ceil of (input + pads - reach) / stride, plus 1, where
// reach = (kernel - 1) * dilation + 1. With ceil_mode a last window that would begin beyond input
// and begin padding is dropped, as PyTorch does (ONNX left it open until opset 22). With SAME_*:
// ceil(input / stride) windows, the odd element of padding at the end (UPPER) or the beginning
// (LOWER); ceil_mode changes nothing there, nor with VALID.
// Errors: lists of another length, extents below 1, a window larger than the padded input.
Result<Window> window_of(const Node& node, const Shape& kernel, const Shape& input);

// As window_of, and every window holds at least one element of the input: a maximum or an average
// over padding alone is undefined.
Result<Window> pooling_window_of(const Node& node, const Shape& input);

// ConvTranspose as the adjoint of a convolution from `output` to its input, with zeros behind it.
struct TransposedWindow {
  Shape strides;
  Shape dilations;
  Shape pads_begin;  // of the convolution
  Shape pads_end;
  Shape output;  // spatial extents that the adjoint makes
  Shape zeros;   // behind each axis: output_padding that no window reaches
};
// Reads strides, dilations, auto_pad, pads, output_padding and output_shape of a ConvTranspose. Of
// the full extent stride * (input - 1) + output_padding + reach, output_shape or SAME_* (which means
// input * stride) takes away the excess: half at the beginning, rounded down for SAME_UPPER and up
// otherwise; what is missing is zeros at the end. Errors: as for window_of, and extents below 1.
Result<TransposedWindow> transposed_window_of(const Node& node, const Shape& kernel,
                                              const Shape& input);

}  // namespace gradstone
