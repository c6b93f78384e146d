// SPDX-License-Identifier: Apache-2.0
// The operators that graph/differentiate.h writes backward passes with, so that a differentiated
// graph can be run, and differentiated once more by autograd.
#include <limits>

#include "engines/torch/aten.h"
#include "engines/torch/lowering.h"
#include "engines/torch/pooling.h"
#include "engines/torch/support.h"

namespace gradstone::torch_engine {
namespace {

Shape shape_attribute(const LoweringContext& context, std::string_view name) {
  return attribute_or(context.node(), name, Shape{});
}

Shape negated(Shape pads) {
  for (std::int64_t& pad : pads) pad = -pad;
  return pads;
}

// Extents after padding by ATen's pads (last axis first).
Shape padded(Shape extents, const Shape& pads) {
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::size_t last_first = 2 * (extents.size() - 1 - i);
    extents[i] += pads[last_first] + pads[last_first + 1];
  }
  return extents;
}

// --- Convolution. The operand whose gradient is taken enters by its shape only.

struct ConvGradient {
  Window window;
  Shape input, weight;  // shapes; the input's before padding
  Shape pads;
  std::int64_t groups = 1;

  // Index 0: of the padded input, 1: of the weight.
  at::Tensor operator()(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& w,
                        std::array<bool, 3> wanted) const {
    const Shape none(window.kernel.size(), 0);
    const auto both = at::convolution_backward(dy, x, w, at::OptionalIntArrayRef(), window.strides,
                                               none, window.dilations, false, none, groups, wanted);
    return wanted[0] ? std::get<0>(both) : std::get<1>(both);
  }
};

Result<ConvGradient> conv_gradient(const LoweringContext& context, const Shape& input,
                                   const Shape& weight) {
  ConvGradient gradient;
  gradient.window = TRY(window_of(context.node(), spatial(weight), spatial(input)));
  gradient.input = input;
  gradient.weight = weight;
  gradient.pads = aten_pads(gradient.window.pads_begin, gradient.window.pads_end);
  gradient.groups = attribute_or(context.node(), "group", std::int64_t{1});
  return gradient;
}

Result<Step> lower_conv_grad_input(const LoweringContext& context) {
  const Shape input = shape_attribute(context, "input_shape");
  const ConvGradient gradient = TRY(conv_gradient(context, input, context.input_shape(0)));
  Shape extents = {input[0], input[1]};
  const Shape spatial_padded = padded(spatial(input), gradient.pads);
  extents.insert(extents.end(), spatial_padded.begin(), spatial_padded.end());
  const Slot w = context.input(0), dy = context.input(1), y = context.output(0);
  return Step([=](at::Tensor* v) {
    const at::Tensor x = at::zeros(extents, v[dy].options());
    v[y] =
        at::constant_pad_nd(gradient(v[dy], x, v[w], {true, false, false}), negated(gradient.pads));
  });
}

Result<Step> lower_conv_grad_weight(const LoweringContext& context) {
  const Shape weight = shape_attribute(context, "weight_shape");
  const ConvGradient gradient = TRY(conv_gradient(context, context.input_shape(0), weight));
  const Slot x = context.input(0), dy = context.input(1), y = context.output(0);
  return Step([=](at::Tensor* v) {
    const at::Tensor w = at::zeros(weight, v[dy].options());
    v[y] = gradient(v[dy], at::constant_pad_nd(v[x], gradient.pads), w, {false, true, false});
  });
}

// --- Pooling, always over explicitly padded extents

// Places of the maxima in the flattened extents of the padded input, [batch, channels, windows].
at::Tensor maxima(const at::Tensor& x, const Pooling& p) {
  const Window& w = p.window;
  const at::Tensor in = at::constant_pad_nd(p.one_axis ? x.unsqueeze(2) : x, p.pads,
                                            -std::numeric_limits<double>::infinity())
                            .detach();
  const Shape none(w.kernel.size(), 0);
  const auto both =
      w.kernel.size() == 3
          ? at::max_pool3d_with_indices(in, w.kernel, w.strides, none, w.dilations, false)
          : at::max_pool2d_with_indices(in, w.kernel, w.strides, none, w.dilations, false);
  return std::get<1>(both).flatten(2);
}

Result<Step> lower_max_pool_grad(const LoweringContext& context) {
  const Pooling pooling = TRY(pooling_of(context.node(), context.input_shape(0)));
  const Shape input = context.input_shape(0);
  Shape extents = {input[0], input[1]};
  const Shape windows = padded(pooling.input, pooling.pads);
  extents.insert(extents.end(), windows.begin(), windows.end());
  const Slot x = context.input(0), dy = context.input(1), y = context.output(0);
  return Step([=](at::Tensor* v) {
    const at::Tensor zeros = at::zeros(extents, v[dy].options()).flatten(2);
    const at::Tensor sums = zeros.scatter_add(2, maxima(v[x], pooling), v[dy].flatten(2));
    v[y] = at::constant_pad_nd(sums.reshape(extents), negated(pooling.pads)).reshape(input);
  });
}

Result<Step> lower_max_pool_gather(const LoweringContext& context) {
  const Pooling pooling = TRY(pooling_of(context.node(), context.input_shape(0)));
  const Shape output = context.output_shape();
  const Slot x = context.input(0), values = context.input(1), y = context.output(0);
  return Step([=](at::Tensor* v) {
    const at::Tensor in = pooling.one_axis ? v[values].unsqueeze(2) : v[values];
    const at::Tensor flat = at::constant_pad_nd(in, pooling.pads).flatten(2);
    v[y] = flat.gather(2, maxima(v[x], pooling)).reshape(output);
  });
}

Result<Step> lower_average_pool_grad(const LoweringContext& context) {
  const Shape input = shape_attribute(context, "input_shape");
  const Pooling p = TRY(pooling_of(context.node(), input));
  const bool count_padding =
      attribute_or(context.node(), "count_include_pad", std::int64_t{0}) != 0;
  const at::Tensor divisor = divisors(p, count_padding, scalar_type(context.input_type(0).dtype));
  Shape extents = {input[0], input[1]};
  const Shape windows = padded(p.input, p.pads);
  extents.insert(extents.end(), windows.begin(), windows.end());
  const Slot dy = context.input(0), y = context.output(0);
  return Step([=](at::Tensor* v) {
    const Window& w = p.window;
    const Shape none(w.kernel.size(), 0);
    const at::Tensor x = at::zeros(extents, v[dy].options());
    const at::Tensor shares = (p.one_axis ? v[dy].unsqueeze(2) : v[dy]) / divisor;
    const at::Tensor sums = w.kernel.size() == 3
                                ? at::avg_pool3d_backward(shares, x, w.kernel, w.strides, none,
                                                          false, true, std::int64_t{1})
                                : at::avg_pool2d_backward(shares, x, w.kernel, w.strides, none,
                                                          false, true, std::int64_t{1});
    v[y] = at::constant_pad_nd(sums, negated(p.pads)).reshape(input);
  });
}

Result<Step> lower_channel_window_sum(const LoweringContext& context) {
  const Shape& shape = context.input_shape(0);
  const std::int64_t size = attribute_or(context.node(), "size", std::int64_t{1});
  const bool transposed = attribute_or(context.node(), "transposed", std::int64_t{0}) != 0;
  const std::int64_t before = transposed ? size / 2 : (size - 1) / 2;
  const Shape rows = {shape[0], 1, shape[1], 1, element_count(spatial(shape))};
  const Shape pads = {0, 0, 0, 0, before, size - 1 - before};
  const Slot x = context.input(0), y = context.output(0);
  return Step([=](at::Tensor* v) {
    const at::Tensor around = at::constant_pad_nd(v[x].reshape(rows), pads);
    v[y] = at::avg_pool3d(around, {size, 1, 1}, 1, 0, false, true, std::int64_t{1})
               .reshape(v[x].sizes());
  });
}

// --- The others

Result<Step> lower_gather_grad(const LoweringContext& context) {
  const Shape input = shape_attribute(context, "input_shape");
  const std::int64_t given = attribute_or(context.node(), "axis", std::int64_t{0});
  const auto axis = given < 0 ? given + static_cast<std::int64_t>(input.size()) : given;
  const std::int64_t extent = input[static_cast<std::size_t>(axis)];
  Shape source = input;
  source[static_cast<std::size_t>(axis)] = context.input_type(0).elements();
  const Slot indices = context.input(0), dy = context.input(1), y = context.output(0);
  return Step([=](at::Tensor* v) {
    const at::Tensor wide = v[indices].to(at::kLong).flatten();
    const at::Tensor places = at::where(wide.lt(0), wide.add(extent), wide);
    v[y] = at::zeros(input, v[dy].options()).index_add(axis, places, v[dy].reshape(source));
  });
}

Result<Step> lower_negative_log_likelihood_grad(const LoweringContext& context) {
  const Shape input = shape_attribute(context, "input_shape");
  const bool mean = attribute_or(context.node(), "reduction", "mean") == "mean";
  const std::int64_t ignored =
      attribute_or(context.node(), "ignore_index", std::numeric_limits<std::int64_t>::min());
  const Slot labels = context.input(0), weight = context.input(1), dy = context.input(2);
  const Slot y = context.output(0);
  return Step([=](at::Tensor* v) {
    const at::Tensor given = v[labels].to(at::kLong);
    const at::Tensor counted = given.ne(ignored);
    const at::Tensor classes = given.mul(counted);
    at::Tensor shares = counted.to(v[dy].scalar_type());
    if (v[weight].defined()) {
      shares = shares * v[weight].index_select(0, classes.flatten()).reshape(classes.sizes());
    }
    if (mean) shares = shares / shares.sum();
    const at::Tensor gradients = (v[dy] * shares).neg();
    v[y] = at::zeros(input, v[dy].options())
               .scatter_add(1, classes.unsqueeze(1), gradients.unsqueeze(1));
  });
}

Result<Step> lower_heaviside_step(const LoweringContext& context) {
  const Slot x = context.input(0), y = context.output(0);
  return Step([=](at::Tensor* v) { v[y] = v[x].gt(0).to(v[x].scalar_type()); });
}

Result<Step> lower_sum_to(const LoweringContext& context) {
  const Shape shape = shape_attribute(context, "shape");
  const Slot x = context.input(0), y = context.output(0);
  return Step([=](at::Tensor* v) { v[y] = v[x].sum_to_size(shape); });
}

Result<Step> lower_fill(const LoweringContext& context) {
  const at::Tensor filled =
      at::full(context.output_shape(), attribute_or(context.node(), "value", 0.0),
               at::TensorOptions().dtype(scalar_type(context.output_types[0].dtype)));
  const Slot y = context.output(0);
  return Step([=](at::Tensor* v) { v[y] = filled; });
}

}  // namespace

const std::vector<Lowering>& gradient_lowerings() {
  static const std::vector<Lowering> rows = {
      {"ConvGradInput", lower_conv_grad_input},
      {"ConvGradWeight", lower_conv_grad_weight},
      {"MaxPoolGrad", lower_max_pool_grad},
      {"MaxPoolGather", lower_max_pool_gather},
      {"AveragePoolGrad", lower_average_pool_grad},
      {"ChannelWindowSum", lower_channel_window_sum},
      {"GatherGrad", lower_gather_grad},
      {"NegativeLogLikelihoodGrad", lower_negative_log_likelihood_grad},
      {"HeavisideStep", lower_heaviside_step},
      {"SumTo", lower_sum_to},
      {"Fill", lower_fill},
  };
  return rows;
}

}  // namespace gradstone::torch_engine
