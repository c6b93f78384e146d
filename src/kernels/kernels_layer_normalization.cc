// SPDX-License-Identifier: Apache-2.0
// Normalizations by the statistics of each sample. Statistics are taken in double, in two passes.
#include <cmath>

#include "kernels/kernel.h"
#include "kernels/sums.h"

namespace gradstone::kernels {
namespace {

struct Moments {
  double mean = 0, variance = 0;  // of the population
};

template <class T>
Moments moments_of(std::span<const T> x) {
  const auto count = static_cast<double>(x.size());
  const double mean = sum_of(x) / count;
  const double squares = sum_of(x, [&](T value) {
    const double difference = static_cast<double>(value) - mean;
    return difference * difference;
  });
  return {mean, squares / count};
}

// An input repeated to `shape`; all `absent` if there is none.
template <class T>
std::vector<double> broadcast(const KernelCall& call, std::size_t input, const Shape& shape,
                              double absent) {
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)), absent);
  if (!call.has_input(input)) return values;
  const T* x = call.input<T>(input).data();
  for_each_run<2>(shape,
                  {row_major_strides(shape), broadcast_strides(call.input_shape(input), shape)},
                  [&](const Run<2>& run) {
                    for (std::int64_t i = 0; i < run.count; ++i) {
                      values[run.offset[0] + i * run.stride[0]] =
                          static_cast<double>(x[run.offset[1] + i * run.stride[1]]);
                    }
                  });
  return values;
}

// Ba et al. 2016: y = (x - mean) / sqrt(variance + epsilon) * scale + bias.
template <class T>
Status layer_normalization(const KernelCall& call) {
  const Shape& shape = call.input_shape(0);
  const std::size_t axis =
      resolved_axis(attribute_or(call.node, "axis", std::int64_t{-1}), shape.size());
  const double epsilon = attribute_or(call.node, "epsilon", 1e-5);
  const Shape inner(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end());
  const std::vector<double> scale = broadcast<T>(call, 1, inner, 1);
  const std::vector<double> bias = broadcast<T>(call, 2, inner, 0);
  const std::span<const T> x = call.input<T>(0);
  for (std::size_t first = 0; first < x.size(); first += scale.size()) {
    const std::span<const T> row = x.subspan(first, scale.size());
    const Moments moments = moments_of(row);
    const double inverse = 1 / std::sqrt(moments.variance + epsilon);
    const std::size_t sample = first / scale.size();
    if (call.wants_output(1)) call.output<T>(1)[sample] = static_cast<T>(moments.mean);
    if (call.wants_output(2)) call.output<T>(2)[sample] = static_cast<T>(inverse);
    if (!call.wants_output(0)) continue;
    T* y = call.output<T>(0).data() + first;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double centred = static_cast<double>(row[i]) - moments.mean;
      y[i] = static_cast<T>(centred * inverse * scale[i] + bias[i]);
    }
  }
  return {};
}

// Ulyanov et al. 2016: the same over the area of each channel of each sample.
template <class T>
Status instance_normalization(const KernelCall& call) {
  const Shape& shape = call.input_shape(0);
  const auto channels = static_cast<std::size_t>(shape[1]);
  const double epsilon = attribute_or(call.node, "epsilon", 1e-5);
  const std::span<const T> x = call.input<T>(0);
  const std::span<T> y = call.output<T>(0);
  const std::size_t planes = static_cast<std::size_t>(shape[0]) * channels;
  const std::size_t area = x.size() / planes;
  for (std::size_t plane = 0; plane < planes; ++plane) {
    const Moments moments = moments_of(x.subspan(plane * area, area));
    const double slope = static_cast<double>(call.input<T>(1)[plane % channels]) /
                         std::sqrt(moments.variance + epsilon);
    const auto shift = static_cast<double>(call.input<T>(2)[plane % channels]);
    for (std::size_t i = plane * area; i < (plane + 1) * area; ++i) {
      y[i] = static_cast<T>((static_cast<double>(x[i]) - moments.mean) * slope + shift);
    }
  }
  return {};
}

// (x - mean) / (deviation + 1e-9) over any axes.
template <class T>
Status mean_variance_normalization(const KernelCall& call) {
  const Shape& shape = call.input_shape(0);
  Shape kept = shape;
  double count = 1;
  for (const std::int64_t axis :
       attribute_or(call.node, "axes", std::vector<std::int64_t>{0, 2, 3})) {
    std::int64_t& extent = kept[resolved_axis(axis, shape.size())];
    count *= static_cast<double>(extent);
    extent = 1;
  }
  const std::span<const T> x = call.input<T>(0);
  std::vector<double> means = sum_to(x, shape, kept);
  for (double& mean : means) mean /= count;
  std::vector<double> centred(x.size());
  const Strides own = row_major_strides(shape), repeated = broadcast_strides(kept, shape);
  const auto for_each = [&](auto visit) {
    for_each_run<2>(shape, {own, repeated}, [&](const Run<2>& run) {
      for (std::int64_t i = 0; i < run.count; ++i) {
        visit(static_cast<std::size_t>(run.offset[0] + i * run.stride[0]),
              static_cast<std::size_t>(run.offset[1] + i * run.stride[1]));
      }
    });
  };
  std::vector<double> squares(means.size(), 0.0);
  for_each([&](std::size_t at, std::size_t group) {
    centred[at] = static_cast<double>(x[at]) - means[group];
    squares[group] += centred[at] * centred[at];
  });
  const std::span<T> y = call.output<T>(0);
  for_each([&](std::size_t at, std::size_t group) {
    y[at] = static_cast<T>(centred[at] / (std::sqrt(squares[group] / count) + 1e-9));
  });
  return {};
}

}  // namespace

std::vector<KernelRow> layer_normalization_kernels() {
  return {
      {"", "LayerNormalization", layer_normalization<float>, layer_normalization<double>},
      {"", "InstanceNormalization", instance_normalization<float>, instance_normalization<double>},
      {"", "MeanVarianceNormalization", mean_variance_normalization<float>,
       mean_variance_normalization<double>}};
}

}  // namespace gradstone::kernels
