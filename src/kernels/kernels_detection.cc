// SPDX-License-Identifier: Apache-2.0
// RoiAlign (He et al., Mask R-CNN, 2017) and its adjoints, and greedy non-maximum suppression, as
// ONNX defines both. RoiAlign's maximum is that of the interpolated samples, as its text has it (and
// not of their weighted corners, as some implementations take it).
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "graph/region_pooling.h"
#include "kernels/kernel.h"

namespace gradstone::kernels {
namespace {

// One bilinear sample: four places in a channel and their weights.
struct Sample {
  std::array<std::int64_t, 4> places{};
  std::array<double, 4> weights{};
};

// Neighbours of a coordinate along one axis and the weight of the upper one. A coordinate more than
// one pixel outside has none.
struct Neighbours {
  bool inside = false;
  std::int64_t low = 0, high = 0;
  double weight = 0;
};

Neighbours neighbours_of(double place, std::int64_t extent) {
  if (!(place >= -1 && place <= static_cast<double>(extent))) return {};
  const double last = static_cast<double>(extent - 1);
  const double clamped = std::clamp(place, 0.0, last);
  const auto low = static_cast<std::int64_t>(clamped);
  return {true, low, std::min(low + 1, extent - 1), clamped - static_cast<double>(low)};
}

Sample sample_at(double y, double x, std::int64_t height, std::int64_t width) {
  const Neighbours rows = neighbours_of(y, height), columns = neighbours_of(x, width);
  if (!rows.inside || !columns.inside) return {};
  const double wy = rows.weight, wx = columns.weight;
  return {{rows.low * width + columns.low, rows.low * width + columns.high,
           rows.high * width + columns.low, rows.high * width + columns.high},
          {(1 - wy) * (1 - wx), (1 - wy) * wx, wy * (1 - wx), wy * wx}};
}

template <class T>
double value_at(const Sample& sample, const T* channel) {
  double value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value += sample.weights[i] * static_cast<double>(channel[sample.places[i]]);
  }
  return value;
}

// Of one region. Whole images in detection have about 2^20.
constexpr std::int64_t kMostSamples = std::int64_t{1} << 24;

// One axis of a region: where it begins, how long each bin is, and samples in each bin.
struct RegionAxis {
  double start = 0, bin = 0;
  std::int64_t samples = 0;
};

Result<RegionAxis> region_axis(const RegionPooling& pooling, double begin, double end,
                               std::int64_t bins) {
  const double shift = pooling.half_pixel ? 0.5 : 0.0;
  RegionAxis axis;
  axis.start = begin * pooling.spatial_scale - shift;
  double length = end * pooling.spatial_scale - shift - axis.start;
  if (!pooling.half_pixel) length = std::max(length, 1.0);
  axis.bin = length / static_cast<double>(bins);
  const double samples = pooling.sampling_ratio > 0 ? static_cast<double>(pooling.sampling_ratio)
                                                    : std::ceil(axis.bin);
  if (!(samples <= kMostSamples)) return failed("a region is too large to sample, or no number");
  axis.samples = static_cast<std::int64_t>(std::max(samples, 0.0));
  return axis;
}

// The bins of one region: bin after bin, each with the same number of samples.
struct Region {
  std::int64_t batch = 0;
  std::int64_t samples_a_bin = 0;
  std::vector<Sample> samples;
};

template <class T>
Result<Region> region_of(const KernelCall& call, const RegionPooling& pooling, std::int64_t index) {
  const Shape& shape = call.input_shape(0);
  const T* roi = call.input<T>(1).data() + index * 4;  // x1, y1, x2, y2
  const RegionAxis y = TRY(region_axis(pooling, roi[1], roi[3], pooling.output_height));
  const RegionAxis x = TRY(region_axis(pooling, roi[0], roi[2], pooling.output_width));
  Region region{
      call.input<std::int64_t>(2)[static_cast<std::size_t>(index)], y.samples * x.samples, {}};
  if (region.batch < 0 || region.batch >= shape[0]) {
    return failed("batch index " + std::to_string(region.batch) + " is outside a batch of " +
                  std::to_string(shape[0]));
  }
  const std::int64_t bins = pooling.output_height * pooling.output_width;
  if (region.samples_a_bin > kMostSamples / bins) return failed("a region is too large to sample");
  const auto along = [](const RegionAxis& axis, std::int64_t bin, std::int64_t sample) {
    return axis.start +
           axis.bin * (static_cast<double>(bin) +
                       (static_cast<double>(sample) + 0.5) / static_cast<double>(axis.samples));
  };
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    const std::int64_t row = bin / pooling.output_width, column = bin % pooling.output_width;
    for (std::int64_t sample = 0; sample < region.samples_a_bin; ++sample) {
      region.samples.push_back(sample_at(along(y, row, sample / x.samples),
                                         along(x, column, sample % x.samples), shape[2], shape[3]));
    }
  }
  return region;
}

// Calls visit(element, channel, samples) for each element of RoiAlign's output, with the number of
// its channel in X and those samples that count: all of its bin, or the one that is the maximum.
template <class T, class Visit>
Status for_each_bin(const KernelCall& call, Visit visit) {
  const RegionPooling pooling = TRY(region_pooling_of(call.node));
  const Shape& shape = call.input_shape(0);
  const T* x = call.input<T>(0).data();
  const std::int64_t bins = pooling.output_height * pooling.output_width;
  std::int64_t element = 0;
  for (std::int64_t index = 0; index < call.input_shape(1)[0]; ++index) {
    const Region region = TRY(region_of<T>(call, pooling, index));
    const auto count = static_cast<std::size_t>(region.samples_a_bin);
    for (std::int64_t c = 0; c < shape[1]; ++c) {
      const std::int64_t channel = region.batch * shape[1] + c;
      const T* values = x + channel * shape[2] * shape[3];
      for (std::int64_t bin = 0; bin < bins; ++bin) {
        std::span<const Sample> samples(
            region.samples.data() + static_cast<std::size_t>(bin) * count, count);
        if (pooling.maximum && count > 0) {
          const auto largest = std::max_element(samples.begin(), samples.end(),
                                                [&](const Sample& a, const Sample& b) {
                                                  return value_at(a, values) < value_at(b, values);
                                                });
          samples = samples.subspan(static_cast<std::size_t>(largest - samples.begin()), 1);
        }
        visit(element++, channel, samples);
      }
    }
  }
  return {};
}

// y is read from input `from` where RoiAlign reads X. A bin without samples is 0.
template <class T>
Status read_regions(const KernelCall& call, std::size_t from) {
  const std::int64_t area = call.input_shape(0)[2] * call.input_shape(0)[3];
  const T* values = call.input<T>(from).data();
  const std::span<T> y = call.output<T>(0);
  return for_each_bin<T>(
      call, [&](std::int64_t element, std::int64_t channel, std::span<const Sample> samples) {
        double sum = 0;
        for (const Sample& sample : samples) sum += value_at(sample, values + channel * area);
        const double count = samples.empty() ? 1 : static_cast<double>(samples.size());
        y[static_cast<std::size_t>(element)] = static_cast<T>(sum / count);
      });
}

template <class T>
Status roi_align(const KernelCall& call) {
  return read_regions<T>(call, 0);
}

template <class T>
Status roi_align_gather(const KernelCall& call) {
  return read_regions<T>(call, 3);
}

// Inputs: X, rois, batch indices, dy.
template <class T>
Status roi_align_grad(const KernelCall& call) {
  const std::int64_t area = call.input_shape(0)[2] * call.input_shape(0)[3];
  const std::span<const T> dy = call.input<T>(3);
  const std::span<T> dx = call.output<T>(0);
  std::vector<double> sums(dx.size(), 0.0);
  TRY(for_each_bin<T>(
      call, [&](std::int64_t element, std::int64_t channel, std::span<const Sample> samples) {
        const double share = static_cast<double>(dy[static_cast<std::size_t>(element)]) /
                             static_cast<double>(samples.size());
        for (const Sample& sample : samples) {
          for (std::size_t i = 0; i < 4; ++i) {
            sums[static_cast<std::size_t>(channel * area + sample.places[i])] +=
                share * sample.weights[i];
          }
        }
      }));
  std::transform(sums.begin(), sums.end(), dx.begin(), [](double sum) { return T(sum); });
  return {};
}

struct Box {
  double y1 = 0, x1 = 0, y2 = 0, x2 = 0;
  double area() const { return (y2 - y1) * (x2 - x1); }
};

// Corners come in any order; with center_point_box the numbers are x, y, width, height.
template <class T>
Box box_at(const T* numbers, bool center) {
  const double a = numbers[0], b = numbers[1], c = numbers[2], d = numbers[3];
  if (center) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

// Intersection over union; 0 where a box has no area.
double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return 0;
  return height * width / (a.area() + b.area() - height * width);
}

struct Suppression {
  std::size_t most = 0;  // boxes kept for each class
  double overlap = 0;    // more than this suppresses
  std::optional<double> least_score;
};

// Boxes by falling score, each kept if it overlaps no kept one too much; of equal scores the first.
template <class T>
std::vector<std::int64_t> kept_boxes(std::span<const Box> boxes, const T* scores,
                                     const Suppression& limits) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!limits.least_score || scores[i] > *limits.least_score) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool a_nan = std::isnan(scores[a]), b_nan = std::isnan(scores[b]);
    return a_nan || b_nan ? !a_nan && b_nan : scores[a] > scores[b];
  });
  std::vector<std::int64_t> kept;
  for (const std::size_t i : order) {
    if (kept.size() == limits.most) break;
    const bool suppressed = std::any_of(kept.begin(), kept.end(), [&](std::int64_t k) {
      return overlap(boxes[i], boxes[static_cast<std::size_t>(k)]) > limits.overlap;
    });
    if (!suppressed) kept.push_back(static_cast<std::int64_t>(i));
  }
  return kept;
}

template <class T>
Status non_max_suppression(const KernelCall& call) {
  const Shape& shape = call.input_shape(1);  // batch, classes, boxes
  const bool center = attribute_or(call.node, "center_point_box", std::int64_t{0}) != 0;
  const std::span<std::int64_t> rows = call.output<std::int64_t>(0);
  Suppression limits;
  limits.most = rows.size() / 3 / static_cast<std::size_t>(shape[0] * shape[1]);
  if (call.has_input(3)) limits.overlap = element_as_double(call.inputs[3], 0);
  if (call.has_input(4)) limits.least_score = element_as_double(call.inputs[4], 0);
  const T* scores = call.input<T>(1).data();
  const T* numbers = call.input<T>(0).data();
  std::fill(rows.begin(), rows.end(), -1);
  auto row = rows.begin();
  for (std::int64_t batch = 0; batch < shape[0]; ++batch) {
    std::vector<Box> boxes;
    for (std::int64_t i = 0; i < shape[2]; ++i, numbers += 4) {
      boxes.push_back(box_at(numbers, center));
    }
    for (std::int64_t label = 0; label < shape[1]; ++label, scores += shape[2]) {
      for (const std::int64_t box : kept_boxes(std::span<const Box>(boxes), scores, limits)) {
        for (const std::int64_t number : {batch, label, box}) *row++ = number;
      }
    }
  }
  return {};
}

}  // namespace

std::vector<KernelRow> detection_kernels() {
  return {{"", "RoiAlign", roi_align<float>, roi_align<double>},
          {"", "NonMaxSuppression", non_max_suppression<float>, non_max_suppression<double>},
          {kGradstoneDomain, "RoiAlignGrad", roi_align_grad<float>, roi_align_grad<double>},
          {kGradstoneDomain, "RoiAlignGather", roi_align_gather<float>, roi_align_gather<double>}};
}

}  // namespace gradstone::kernels
