// SPDX-License-Identifier: Apache-2.0
// Normalization over batches and over neighbouring channels. Tensors are [N, C, d...].
#include <algorithm>
#include <cmath>

#include "kernels/kernel.h"
#include "kernels/sums.h"

namespace gradstone::kernels {
namespace {

struct ChannelGeometry {
  std::size_t samples = 0, channels = 0, area = 1;
};

ChannelGeometry channels_of(const Shape& shape) {
  ChannelGeometry geometry{static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1]),
                           1};
  for (std::size_t i = 2; i < shape.size(); ++i)
    geometry.area *= static_cast<std::size_t>(shape[i]);
  return geometry;
}

// Mean and population variance of one channel over all samples, in two passes.
struct Moments {
  double mean = 0, variance = 0;
};

template <class T>
Moments moments_of(std::span<const T> x, const ChannelGeometry& geometry, std::size_t channel) {
  const double count = static_cast<double>(geometry.samples * geometry.area);
  const auto plane = [&](std::size_t sample) {
    return x.subspan((sample * geometry.channels + channel) * geometry.area, geometry.area);
  };
  Moments moments;
  for (std::size_t n = 0; n < geometry.samples; ++n) moments.mean += sum_of(plane(n));
  moments.mean /= count;
  for (std::size_t n = 0; n < geometry.samples; ++n) {
    moments.variance += sum_of(plane(n), [&](T value) {
      const double difference = static_cast<double>(value) - moments.mean;
      return difference * difference;
    });
  }
  moments.variance /= count;
  return moments;
}

// Outputs 1 and 2: running = running * momentum + batch * (1 - momentum). The attribute
// running_variance says which variance enters: "population" (ONNX) or "sample" (divided by n - 1).
template <class T>
Status update_running(const KernelCall& call, std::size_t channel, const Moments& moments,
                      double count) {
  const double momentum = attribute_or(call.node, "momentum", 0.9);
  const bool sample = attribute_or(call.node, "running_variance", "population") == "sample";
  const auto mixed = [&](std::size_t input, double batch) {
    const auto running = static_cast<double>(call.input<T>(input)[channel]);
    return static_cast<T>(running * momentum + batch * (1 - momentum));
  };
  if (call.wants_output(1)) call.output<T>(1)[channel] = mixed(3, moments.mean);
  if (!call.wants_output(2)) return {};
  if (sample && count == 1) return failed("a channel of one element has no sample variance");
  const double variance = sample ? moments.variance * count / (count - 1) : moments.variance;
  call.output<T>(2)[channel] = mixed(4, variance);
  return {};
}

template <class T>
Status batch_normalization(const KernelCall& call) {
  const ChannelGeometry geometry = channels_of(call.input_shape(0));
  const double epsilon = attribute_or(call.node, "epsilon", 1e-5);
  const bool training = attribute_or(call.node, "training_mode", std::int64_t{0}) != 0;
  const std::span<const T> x = call.input<T>(0);
  for (std::size_t channel = 0; channel < geometry.channels; ++channel) {
    Moments moments{static_cast<double>(call.input<T>(3)[channel]),
                    static_cast<double>(call.input<T>(4)[channel])};
    if (training) {
      moments = moments_of(x, geometry, channel);
      TRY(update_running<T>(call, channel, moments,
                            static_cast<double>(geometry.samples * geometry.area)));
    }
    if (!call.wants_output(0)) continue;
    const std::span<T> y = call.output<T>(0);
    const auto shift = static_cast<double>(call.input<T>(2)[channel]);
    const double scale =
        static_cast<double>(call.input<T>(1)[channel]) / std::sqrt(moments.variance + epsilon);
    for (std::size_t n = 0; n < geometry.samples; ++n) {
      const std::size_t first = (n * geometry.channels + channel) * geometry.area;
      for (std::size_t i = first; i < first + geometry.area; ++i) {
        y[i] = static_cast<T>((static_cast<double>(x[i]) - moments.mean) * scale + shift);
      }
    }
  }
  return {};
}

// Channels [first, last) that the window of LRN around channel `c` covers; the transposed window
// holds the channels whose own window covers `c`.
struct ChannelWindow {
  std::int64_t before = 0, after = 0;
};

ChannelWindow channel_window(std::int64_t size, bool transposed) {
  const std::int64_t before = (size - 1) / 2, after = size - 1 - before;
  return transposed ? ChannelWindow{after, before} : ChannelWindow{before, after};
}

// Calls store(place, sum) for every element, with the sum of transform(x) over the window.
template <class T, class Transform, class Store>
void for_each_window_sum(const KernelCall& call, const ChannelWindow& window, Transform transform,
                         Store store) {
  const ChannelGeometry geometry = channels_of(call.input_shape(0));
  const std::span<const T> x = call.input<T>(0);
  const auto channels = static_cast<std::int64_t>(geometry.channels);
  std::vector<double> sums(geometry.area);
  for (std::size_t n = 0; n < geometry.samples; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      std::fill(sums.begin(), sums.end(), 0.0);
      const std::int64_t last = std::min(c + window.after, channels - 1);
      for (std::int64_t k = std::max<std::int64_t>(c - window.before, 0); k <= last; ++k) {
        const std::size_t first =
            (n * geometry.channels + static_cast<std::size_t>(k)) * geometry.area;
        for (std::size_t i = 0; i < geometry.area; ++i) sums[i] += transform(x[first + i]);
      }
      const std::size_t first =
          (n * geometry.channels + static_cast<std::size_t>(c)) * geometry.area;
      for (std::size_t i = 0; i < geometry.area; ++i) store(first + i, sums[i]);
    }
  }
}

// y = x / (bias + alpha / size * sum of x^2 over the window) ^ beta.
template <class T>
Status local_response_normalization(const KernelCall& call) {
  const std::int64_t size = attribute_or(call.node, "size", std::int64_t{1});
  const double alpha = attribute_or(call.node, "alpha", 1e-4) / static_cast<double>(size);
  const double beta = attribute_or(call.node, "beta", 0.75);
  const double bias = attribute_or(call.node, "bias", 1.0);
  const std::span<const T> x = call.input<T>(0);
  const std::span<T> y = call.output<T>(0);
  for_each_window_sum<T>(
      call, channel_window(size, false),
      [](T value) { return static_cast<double>(value) * static_cast<double>(value); },
      [&](std::size_t at, double sum) {
        y[at] = static_cast<T>(static_cast<double>(x[at]) * std::pow(bias + alpha * sum, -beta));
      });
  return {};
}

template <class T>
Status channel_window_sum(const KernelCall& call) {
  const std::int64_t size = attribute_or(call.node, "size", std::int64_t{1});
  const bool transposed = attribute_or(call.node, "transposed", std::int64_t{0}) != 0;
  const std::span<T> y = call.output<T>(0);
  for_each_window_sum<T>(
      call, channel_window(size, transposed), [](T value) { return static_cast<double>(value); },
      [&](std::size_t at, double sum) { y[at] = static_cast<T>(sum); });
  return {};
}

}  // namespace

std::vector<KernelRow> normalization_kernels() {
  return {{"", "BatchNormalization", batch_normalization<float>, batch_normalization<double>},
          {"", "LRN", local_response_normalization<float>, local_response_normalization<double>},
          {kGradstoneDomain, "ChannelWindowSum", channel_window_sum<float>,
           channel_window_sum<double>}};
}

}  // namespace gradstone::kernels
