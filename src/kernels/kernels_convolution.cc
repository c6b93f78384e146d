// SPDX-License-Identifier: Apache-2.0
// Convolution as matrix product, sample by sample and group by group. The columns of an image are
// a matrix [channels * taps, windows] that holds what each window sees; then
//   y  = w columns(x)      dw = sum over samples of dy columns(x)'      columns(dx) = w' dy
#include <algorithm>

#include "kernels/gemm.h"
#include "kernels/kernel.h"
#include "kernels/window_table.h"

namespace gradstone::kernels {
namespace {

// Extents of one convolution. Channels are those of one group.
struct Convolution {
  WindowTable windows;
  std::int64_t samples = 0, groups = 1;
  std::int64_t in_channels = 0, out_channels = 0;

  std::int64_t column_rows() const { return in_channels * windows.taps; }
  std::int64_t input_size() const { return in_channels * windows.area; }
  std::int64_t output_size() const { return out_channels * windows.positions; }
  std::int64_t weight_size() const { return out_channels * column_rows(); }
};

Result<Convolution> convolution_of(const Node& node, const Shape& input, const Shape& weight) {
  const Shape area(input.begin() + 2, input.end());
  const Shape kernel(weight.begin() + 2, weight.end());
  Convolution conv;
  conv.windows = window_table(TRY(window_of(node, kernel, area)), area);
  conv.samples = input[0];
  conv.groups = attribute_or(node, "group", std::int64_t{1});
  conv.in_channels = input[1] / conv.groups;
  conv.out_channels = weight[0] / conv.groups;
  return conv;
}

// The columns of one image of one group: a rearranged copy in `buffer`, or the image itself.
template <class T>
const T* columns_of(const Convolution& conv, const T* image, std::vector<T>& buffer) {
  const WindowTable& windows = conv.windows;
  if (windows.identity) return image;
  buffer.resize(static_cast<std::size_t>(conv.column_rows() * windows.positions));
  T* out = buffer.data();
  for (std::int64_t channel = 0; channel < conv.in_channels; ++channel) {
    for (const std::int32_t place : windows.places) *out++ = place < 0 ? T(0) : image[place];
    image += windows.area;
  }
  return buffer.data();
}

// The adjoint: adds columns back to the image they were taken from.
template <class T>
void add_columns(const Convolution& conv, const std::vector<T>& columns, T* image) {
  const T* in = columns.data();
  for (std::int64_t channel = 0; channel < conv.in_channels; ++channel) {
    for (const std::int32_t place : conv.windows.places) {
      if (place >= 0) image[place] += *in;
      ++in;
    }
    image += conv.windows.area;
  }
}

// Calls visit(group, image of input, image of output) with the numbers of each.
template <class Visit>
void for_each_image(const Convolution& conv, Visit visit) {
  for (std::int64_t sample = 0; sample < conv.samples; ++sample) {
    for (std::int64_t group = 0; group < conv.groups; ++group) {
      visit(group, sample * conv.groups + group);
    }
  }
}

// The output starts as the bias, one value a channel, or as zero.
template <class T>
void start_with_bias(const KernelCall& call, std::span<T> y) {
  const auto channels = static_cast<std::size_t>(call.output_shape(0)[1]);
  const std::size_t planes = static_cast<std::size_t>(call.output_shape(0)[0]) * channels;
  const std::size_t area = planes == 0 ? 0 : y.size() / planes;
  for (std::size_t plane = 0; plane < planes; ++plane) {
    const T bias = call.has_input(2) ? call.input<T>(2)[plane % channels] : T(0);
    std::fill_n(y.begin() + static_cast<std::ptrdiff_t>(plane * area), area, bias);
  }
}

template <class T>
Status convolve(const KernelCall& call) {
  const Convolution conv = TRY(convolution_of(call.node, call.input_shape(0), call.input_shape(1)));
  const T* x = call.input<T>(0).data();
  const T* w = call.input<T>(1).data();
  const std::span<T> y = call.output<T>(0);
  start_with_bias(call, y);
  std::vector<T> buffer;
  for_each_image(conv, [&](std::int64_t group, std::int64_t image) {
    const T* columns = columns_of(conv, x + image * conv.input_size(), buffer);
    add_product<T>({conv.out_channels, conv.windows.positions, conv.column_rows()},
                   {w + group * conv.weight_size(), conv.column_rows(), 1},
                   {columns, conv.windows.positions, 1}, y.data() + image * conv.output_size());
  });
  return {};
}

// Inputs: w, dy.
template <class T>
Status convolution_grad_input(const KernelCall& call) {
  const Convolution conv =
      TRY(convolution_of(call.node, call.output_shape(0), call.input_shape(0)));
  const T* w = call.input<T>(0).data();
  const T* dy = call.input<T>(1).data();
  const std::span<T> dx = call.output<T>(0);
  std::fill(dx.begin(), dx.end(), T(0));
  std::vector<T> columns(static_cast<std::size_t>(conv.column_rows() * conv.windows.positions));
  for_each_image(conv, [&](std::int64_t group, std::int64_t image) {
    std::fill(columns.begin(), columns.end(), T(0));
    const MatrixRef<T> weight{w + group * conv.weight_size(), conv.column_rows(), 1};
    add_product<T>({conv.column_rows(), conv.windows.positions, conv.out_channels},
                   weight.transposed(),
                   {dy + image * conv.output_size(), conv.windows.positions, 1}, columns.data());
    add_columns(conv, columns, dx.data() + image * conv.input_size());
  });
  return {};
}

// Inputs: x, dy.
template <class T>
Status convolution_grad_weight(const KernelCall& call) {
  const Convolution conv =
      TRY(convolution_of(call.node, call.input_shape(0), call.output_shape(0)));
  const T* x = call.input<T>(0).data();
  const T* dy = call.input<T>(1).data();
  const std::span<T> dw = call.output<T>(0);
  std::fill(dw.begin(), dw.end(), T(0));
  std::vector<T> buffer;
  for_each_image(conv, [&](std::int64_t group, std::int64_t image) {
    const MatrixRef<T> columns{columns_of(conv, x + image * conv.input_size(), buffer),
                               conv.windows.positions, 1};
    add_product<T>({conv.out_channels, conv.column_rows(), conv.windows.positions},
                   {dy + image * conv.output_size(), conv.windows.positions, 1},
                   columns.transposed(), dw.data() + group * conv.weight_size());
  });
  return {};
}

}  // namespace

std::vector<KernelRow> convolution_kernels() {
  return {{"", "Conv", convolve<float>, convolve<double>},
          {kGradstoneDomain, "ConvGradInput", convolution_grad_input<float>,
           convolution_grad_input<double>},
          {kGradstoneDomain, "ConvGradWeight", convolution_grad_weight<float>,
           convolution_grad_weight<double>}};
}

}  // namespace gradstone::kernels
