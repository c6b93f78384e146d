// SPDX-License-Identifier: Apache-2.0
// Pooling windows as ATen can run them; shared by pooling and its gradients.
#pragma once

#include "engines/torch/aten.h"
#include "graph/window.h"

namespace gradstone::torch_engine {

// The spatial extents of [batch, channels, spatial...].
inline Shape spatial(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

// A pooling window over two or three spatial axes: ATen's pooling over one axis lacks what it has
// over two, so that one axis is run as two of which the first has extent 1.
struct Pooling {
  Window window;
  Shape input;               // spatial extents
  bool one_axis = false;     // x needs unsqueeze(2), y squeeze(2)
  bool native_pads = false;  // ATen's own padding can express it
  bool ceil_mode = false;    // with native_pads
  Shape pads;                // without: aten_pads that make every window fit
};

// Of MaxPool, AveragePool and their gradients, from the shape of the pooled input. Unsupported over
// more than three spatial axes.
Result<Pooling> pooling_of(const Node& node, const Shape& input_shape);

// What each window's sum is divided by: the elements of the input in it, with `count_padding` those
// of the padded input; shape [1, 1, output...].
at::Tensor divisors(const Pooling& pooling, bool count_padding, at::ScalarType dtype);

}  // namespace gradstone::torch_engine
