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

// Through ATen's transposed convolution, whose pads are the same on both sides; others are cut off, or
// added, behind it.
Result<Step> lower_conv_transpose(const LoweringContext& context) {
  const TransposedWindow window = TRY(transposed_window_of(
      context.node(), spatial(context.input_shape(1)), spatial(context.input_shape(0))));
  const std::int64_t groups = attribute_or(context.node(), "group", std::int64_t{1});
  const Slot x = context.input(0), w = context.input(1), b = context.input(2);
  const Slot y = context.output(0);
  const Shape &in = context.input_shape(0), &kernel = context.input_shape(1);
  const std::size_t axes = in.size() - 2;
  bool native = true;
  Shape behind, begin, end;  // output padding; and what a transposed convolution without pads lacks
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t reach = (kernel[i + 2] - 1) * window.dilations[i] + 1;
    const std::int64_t full = (in[i + 2] - 1) * window.strides[i] + reach;
    const std::int64_t wanted = context.output_shape()[i + 2];
    behind.push_back(wanted - (full - 2 * window.pads_begin[i]));
    native &= behind[i] >= 0 && behind[i] < std::max(window.strides[i], window.dilations[i]);
    begin.push_back(-window.pads_begin[i]);
    end.push_back(wanted - (full - window.pads_begin[i]));
  }
  if (native) {
    return Step([=](at::Tensor* v) {
      v[y] = at::convolution(v[x], v[w], v[b], window.strides, window.pads_begin, window.dilations,
                             true, behind, groups);
    });
  }
  const Shape none(axes, 0), pads = aten_pads(begin, end);
  Shape channels(axes + 1, 1);
  channels[0] = context.output_shape()[1];
  return Step([=](at::Tensor* v) {
    const at::Tensor full =
        at::convolution(v[x], v[w], {}, window.strides, none, window.dilations, true, none, groups);
    const at::Tensor cut = at::constant_pad_nd(full, pads);
    v[y] = b == kAbsent ? cut : cut + v[b].reshape(channels);
  });
}

// ATen pools no integers; float32 holds all of 8 bits.
Step in_float32(const LoweringContext& context, const Step& step) {
  const at::ScalarType type = scalar_type(context.output_types[0].dtype);
  const Slot x = context.input(0), y = context.output(0);
  return [=](at::Tensor* v) {
    const at::Tensor integers = v[x];
    v[x] = integers.to(at::kFloat);
    step(v);
    v[x] = integers;
    if (y != kAbsent) v[y] = v[y].to(type);
  };
}

at::Tensor max_pool(const at::Tensor& x, const Pooling& p, const Shape& pads, bool ceil_mode) {
  const Window& w = p.window;
  return w.kernel.size() == 3
             ? at::max_pool3d(x, w.kernel, w.strides, pads, w.dilations, ceil_mode)
             : at::max_pool2d(x, w.kernel, w.strides, pads, w.dilations, ceil_mode);
}

// ATen's places are those of the pooled (and perhaps padded) channel in row-major order; ONNX's
// count over the whole tensor, and with storage_order 1 the first spatial axis fastest.
struct MaxPlaces {
  Shape pooled, pads_begin;  // extents that ATen sees, and what was padded before
  Shape strides;             // of ONNX's places along the spatial axes
  at::Tensor of_channel;     // first place of each channel, [batch, channels, 1...]

  at::Tensor operator()(at::Tensor places) const {
    at::Tensor result = of_channel;
    for (std::size_t i = pooled.size(); i-- > 0;) {
      const at::Tensor along = at::remainder(places, pooled[i]);
      places = at::div(places, pooled[i], c10::string_view("trunc"));
      result = result + (along - pads_begin[i]) * strides[i];
    }
    return result;
  }
};

MaxPlaces max_places(const LoweringContext& context, const Pooling& pooling) {
  const Shape& input = pooling.input;
  MaxPlaces places{input, Shape(input.size(), 0), Shape(input.size(), 1), {}};
  for (std::size_t i = 0; i < input.size() && !pooling.native_pads; ++i) {
    const std::size_t last_first = 2 * (input.size() - 1 - i);
    places.pads_begin[i] = pooling.pads[last_first];
    places.pooled[i] += pooling.pads[last_first] + pooling.pads[last_first + 1];
  }
  const bool column_major = attribute_or(context.node(), "storage_order", std::int64_t{0}) != 0;
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::size_t axis = column_major ? i : input.size() - 1 - i;
    places.strides[axis] = stride;
    stride *= input[axis];
  }
  const Shape& shape = context.input_shape(0);
  Shape channels(input.size() + 2, 1);
  std::copy_n(shape.begin(), 2, channels.begin());
  places.of_channel = at::arange(shape[0] * shape[1], at::TensorOptions().dtype(at::kLong))
                          .mul(stride)
                          .reshape(channels);
  return places;
}

Step max_pool_with_indices(const LoweringContext& context, const Pooling& pooling) {
  const MaxPlaces to_onnx = max_places(context, pooling);
  const Slot x = context.input(0), y = context.output(0), indices = context.output(1);
  const Shape none(pooling.input.size(), 0);
  return [=](at::Tensor* v) {
    const Window& w = pooling.window;
    at::Tensor in = pooling.one_axis ? v[x].unsqueeze(2) : v[x];
    if (!pooling.native_pads) {
      in = at::constant_pad_nd(in, pooling.pads, -std::numeric_limits<double>::infinity());
    }
    const Shape& pads = pooling.native_pads ? w.pads_begin : none;
    const bool ceil_mode = pooling.native_pads && pooling.ceil_mode;
    const auto [out, places] =
        w.kernel.size() == 3
            ? at::max_pool3d_with_indices(in, w.kernel, w.strides, pads, w.dilations, ceil_mode)
            : at::max_pool2d_with_indices(in, w.kernel, w.strides, pads, w.dilations, ceil_mode);
    const at::Tensor counted = to_onnx(places);
    if (y != kAbsent) v[y] = pooling.one_axis ? out.squeeze(2) : out;
    v[indices] = pooling.one_axis ? counted.squeeze(2) : counted;
  };
}

Result<Step> lower_max_pool(const LoweringContext& context) {
  const Pooling pooling = TRY(pooling_of(context.node(), context.input_shape(0)));
  if (context.output(1) != kAbsent) {
    const Step step = max_pool_with_indices(context, pooling);
    return is_floating(context.input_type(0).dtype) ? step : in_float32(context, step);
  }
  const Slot x = context.input(0), y = context.output(0);
  const Step step = [=](at::Tensor* v) {
    at::Tensor in = pooling.one_axis ? v[x].unsqueeze(2) : v[x];
    at::Tensor out = pooling.native_pads
                         ? max_pool(in, pooling, pooling.window.pads_begin, pooling.ceil_mode)
                         : max_pool(at::constant_pad_nd(in, pooling.pads,
                                                        -std::numeric_limits<double>::infinity()),
                                    pooling, Shape(pooling.input.size(), 0), false);
    v[y] = pooling.one_axis ? out.squeeze(2) : out;
  };
  return is_floating(context.input_type(0).dtype) ? step : in_float32(context, step);
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

// Of equal maxima the first gets the gradient, as with a pooling window.
Result<Step> lower_global_max_pool(const LoweringContext& context) {
  const Shape shape = context.output_shape();
  const Slot x = context.input(0), y = context.output(0);
  return Step(
      [=](at::Tensor* v) { v[y] = std::get<0>(at::max(v[x].flatten(2), 2)).reshape(shape); });
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
      {"ConvTranspose", lower_conv_transpose, true},
      {"MaxPool", lower_max_pool},
      {"AveragePool", lower_average_pool},
      {"GlobalAveragePool", lower_global_average_pool},
      {"GlobalMaxPool", lower_global_max_pool},
      {"LRN", lower_lrn},
  };
  return rows;
}

}  // namespace gradstone::torch_engine
