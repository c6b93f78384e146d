// SPDX-License-Identifier: Apache-2.0
// Convolution, pooling and normalisation over windows.
#include <algorithm>
#include <limits>

#include "engines/torch/aten.h"
#include "engines/torch/lowering.h"
#include "engines/torch/pooling.h"
#include "engines/torch/support.h"

namespace gradstone::torch_engine {

Result<Pooling> pooling_of(const Node& node, const Shape& input_shape) {
  Pooling pooling;
  pooling.input = spatial(input_shape);
  Window& window = pooling.window;
  window = TRY(pooling_window_of(node, pooling.input));
  if (pooling.input.size() == 1) {
    pooling.one_axis = true;
    for (Shape* list :
         {&window.kernel, &window.strides, &window.dilations, &window.output, &pooling.input}) {
      list->insert(list->begin(), 1);
    }
    window.pads_begin.insert(window.pads_begin.begin(), 0);
    window.pads_end.insert(window.pads_end.begin(), 0);
  }
  if (pooling.input.size() > 3) return unsupported("pooling over more than 3 spatial axes");
  pooling.native_pads = window.pads_begin == window.pads_end;
  Shape fit_end;
  for (std::size_t i = 0; i < pooling.input.size(); ++i) {
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const std::int64_t before = window.pads_begin[i] + pooling.input[i];
    const std::int64_t floor_count = (before + window.pads_end[i] - reach) / window.strides[i] + 1;
    pooling.native_pads &= 2 * window.pads_begin[i] <= window.kernel[i];  // ATen's limit
    pooling.ceil_mode |= window.output[i] != floor_count;
    const std::int64_t last_end = (window.output[i] - 1) * window.strides[i] + reach;
    fit_end.push_back(std::max<std::int64_t>(last_end - before, 0));
  }
  pooling.pads = aten_pads(window.pads_begin, fit_end);
  return pooling;
}

namespace {

// Sums over windows that lie wholly inside `x`.
at::Tensor sum_pool(const at::Tensor& x, const Window& w) {
  return w.kernel.size() == 3
             ? at::avg_pool3d(x, w.kernel, w.strides, 0, false, true, std::int64_t{1})
             : at::avg_pool2d(x, w.kernel, w.strides, 0, false, true, std::int64_t{1});
}

}  // namespace

at::Tensor divisors(const Pooling& pooling, bool count_padding, at::ScalarType dtype) {
  const at::NoGradGuard no_grad;
  Shape ones = {1, 1};
  ones.insert(ones.end(), pooling.input.begin(), pooling.input.end());
  at::Tensor counted = at::ones(ones, at::TensorOptions().dtype(dtype));
  Shape rest = pooling.pads;
  if (count_padding) {
    const Window& w = pooling.window;
    const Shape counted_pads = aten_pads(w.pads_begin, w.pads_end);
    counted = at::constant_pad_nd(counted, counted_pads, 1);
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= counted_pads[i];
  }
  return sum_pool(at::constant_pad_nd(counted, rest), pooling.window);
}

namespace {

Result<Step> lower_conv(const LoweringContext& context) {
  const Window window = TRY(
      window_of(context.node(), spatial(context.input_shape(1)), spatial(context.input_shape(0))));
  const std::int64_t groups = attribute_or(context.node(), "group", std::int64_t{1});
  const Slot x = context.input(0), w = context.input(1), b = context.input(2);
  const Slot y = context.output(0);
  if (window.pads_begin == window.pads_end) {
    return Step([=](at::Tensor* v) {
      v[y] = at::convolution(v[x], v[w], v[b], window.strides, window.pads_begin, window.dilations,
                             false, {0}, groups);
    });
  }
  const Shape pads = aten_pads(window.pads_begin, window.pads_end);
  return Step([=](at::Tensor* v) {
    v[y] = at::convolution(at::constant_pad_nd(v[x], pads), v[w], v[b], window.strides, {0},
                           window.dilations, false, {0}, groups);
  });
}

at::Tensor max_pool(const at::Tensor& x, const Pooling& p, const Shape& pads, bool ceil_mode) {
  const Window& w = p.window;
  return w.kernel.size() == 3
             ? at::max_pool3d(x, w.kernel, w.strides, pads, w.dilations, ceil_mode)
             : at::max_pool2d(x, w.kernel, w.strides, pads, w.dilations, ceil_mode);
}

Result<Step> lower_max_pool(const LoweringContext& context) {
  if (context.output(1) != kAbsent) return unsupported("output Indices");
  const Pooling pooling = TRY(pooling_of(context.node(), context.input_shape(0)));
  const Slot x = context.input(0), y = context.output(0);
  return Step([=](at::Tensor* v) {
    at::Tensor in = pooling.one_axis ? v[x].unsqueeze(2) : v[x];
    at::Tensor out = pooling.native_pads
                         ? max_pool(in, pooling, pooling.window.pads_begin, pooling.ceil_mode)
                         : max_pool(at::constant_pad_nd(in, pooling.pads,
                                                        -std::numeric_limits<double>::infinity()),
                                    pooling, Shape(pooling.input.size(), 0), false);
    v[y] = pooling.one_axis ? out.squeeze(2) : out;
  });
}

at::Tensor average_pool(const at::Tensor& x, const Pooling& p, bool count_padding) {
  const Window& w = p.window;
  return w.kernel.size() == 3
             ? at::avg_pool3d(x, w.kernel, w.strides, w.pads_begin, p.ceil_mode, count_padding)
             : at::avg_pool2d(x, w.kernel, w.strides, w.pads_begin, p.ceil_mode, count_padding);
}

Result<Step> lower_average_pool(const LoweringContext& context) {
  const Pooling pooling = TRY(pooling_of(context.node(), context.input_shape(0)));
  const bool dilated = std::any_of(pooling.window.dilations.begin(), pooling.window.dilations.end(),
                                   [](std::int64_t d) { return d != 1; });
  if (dilated) return unsupported("dilations");
  const bool count_padding =
      attribute_or(context.node(), "count_include_pad", std::int64_t{0}) != 0;
  const Slot x = context.input(0), y = context.output(0);
  if (pooling.native_pads) {
    // ATen divides as ONNX does: with count_include_pad by what lies inside the padded input.
    return Step([=](at::Tensor* v) {
      at::Tensor in = pooling.one_axis ? v[x].unsqueeze(2) : v[x];
      at::Tensor out = average_pool(in, pooling, count_padding);
      v[y] = pooling.one_axis ? out.squeeze(2) : out;
    });
  }
  const at::Tensor divisor =
      divisors(pooling, count_padding, scalar_type(context.input_type(0).dtype));
  return Step([=](at::Tensor* v) {
    at::Tensor in = pooling.one_axis ? v[x].unsqueeze(2) : v[x];
    at::Tensor out = sum_pool(at::constant_pad_nd(in, pooling.pads), pooling.window) / divisor;
    v[y] = pooling.one_axis ? out.squeeze(2) : out;
  });
}

Result<Step> lower_global_average_pool(const LoweringContext& context) {
  Shape axes;
  for (std::size_t i = 2; i < context.input_shape(0).size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  const Slot x = context.input(0), y = context.output(0);
  return Step([=](at::Tensor* v) { v[y] = at::mean(v[x], axes, true); });
}

// As torch.nn.functional.local_response_norm: the mean of the squares over `size` channels, by
// average pooling with zeros around. ONNX puts the odd channel of an even size after, Torch before.
Result<Step> lower_lrn(const LoweringContext& context) {
  const Shape& shape = context.input_shape(0);
  const std::int64_t size = attribute_or(context.node(), "size", std::int64_t{1});
  const double alpha = attribute_or(context.node(), "alpha", 0.0001);
  const double beta = attribute_or(context.node(), "beta", 0.75);
  const double bias = attribute_or(context.node(), "bias", 1.0);
  const Shape rows = {shape[0], 1, shape[1], 1, element_count(spatial(shape))};
  const Shape pads = {0, 0, 0, 0, (size - 1) / 2, size / 2};
  const Slot x = context.input(0), y = context.output(0);
  return Step([=](at::Tensor* v) {
    const at::Tensor squares = at::constant_pad_nd((v[x] * v[x]).reshape(rows), pads);
    const at::Tensor mean = at::avg_pool3d(squares, {size, 1, 1}, 1);
    v[y] = v[x] / mean.reshape(v[x].sizes()).mul(alpha).add(bias).pow(beta);
  });
}

}  // namespace

const std::vector<Lowering>& window_lowerings() {
  static const std::vector<Lowering> rows = {
      {"Conv", lower_conv, true},
      {"MaxPool", lower_max_pool},
      {"AveragePool", lower_average_pool},
      {"GlobalAveragePool", lower_global_average_pool},
      {"LRN", lower_lrn},
  };
  return rows;
}

}  // namespace gradstone::torch_engine
