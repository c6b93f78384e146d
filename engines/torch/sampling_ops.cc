// SPDX-License-Identifier: Apache-2.0
// Resize and RoiAlign: images read between their pixels.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "engines/torch/lowering_forms.h"
#include "engines/torch/pooling.h"
#include "engines/torch/support.h"
#include "graph/region_pooling.h"
#include "graph/resizing.h"

namespace gradstone::torch_engine {
namespace {

using Resize = std::function<at::Tensor(const at::Tensor&)>;

// --- Resize

// One axis as a weighted sum of elements taken along it.
struct ResizedAxis {
  std::int64_t axis = 0;
  std::vector<at::Tensor> places;
  std::vector<at::Tensor> weights;  // none: a single place of weight 1

  at::Tensor operator()(const at::Tensor& x) const {
    if (weights.empty()) return at::index_select(x, axis, places[0]);
    at::Tensor sum;
    for (std::size_t t = 0; t < places.size(); ++t) {
      const at::Tensor part = at::index_select(x, axis, places[t]) * weights[t];
      sum = sum.defined() ? sum + part : part;
    }
    return sum;
  }
};

std::vector<ResizedAxis> resized_axes(const LoweringContext& context, const Resizing& resizing) {
  const Shape& shape = context.input_shape(0);
  const at::ScalarType type = scalar_type(context.input_type(0).dtype);
  std::vector<ResizedAxis> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const AxisTaps taps = axis_taps(context.node(), resizing, i, shape[i]);
    if (taps.places.empty()) continue;
    ResizedAxis axis{static_cast<std::int64_t>(i), {}, {}};
    Shape along(shape.size(), 1);
    along[i] = resizing.extents[i];
    for (const auto& places : taps.places) axis.places.push_back(at::tensor(places, at::kLong));
    for (const auto& weights : taps.weights) {
      axis.weights.push_back(at::tensor(weights, at::kDouble).to(type).reshape(along));
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

// ATen's resizings of [batch, channels, one to three axes], whatever they compute.
std::vector<Resize> native_resizings(const Resizing& resizing) {
  const Shape to = spatial(resizing.extents);
  const std::vector<double>& s = resizing.scales;
  std::vector<Resize> all;
  const auto add = [&](Resize resize) { all.push_back(std::move(resize)); };
  if (resizing.mode == "nearest" && to.size() == 1) {
    add([=](const at::Tensor& x) { return at::upsample_nearest1d(x, at::IntArrayRef(to), s[2]); });
  } else if (resizing.mode == "nearest" && to.size() == 2) {
    add([=](const at::Tensor& x) { return at::upsample_nearest2d(x, to, s[2], s[3]); });
  } else if (resizing.mode == "nearest") {
    add([=](const at::Tensor& x) { return at::upsample_nearest3d(x, to, s[2], s[3], s[4]); });
  }
  for (const bool aligned : {false, true}) {
    if (resizing.mode == "linear" && to.size() == 1) {
      add([=](const at::Tensor& x) {
        return at::upsample_linear1d(x, at::IntArrayRef(to), aligned, s[2]);
      });
    } else if (resizing.mode == "linear" && to.size() == 2) {
      add([=](const at::Tensor& x) { return at::upsample_bilinear2d(x, to, aligned, s[2], s[3]); });
    } else if (resizing.mode == "linear") {
      add([=](const at::Tensor& x) {
        return at::upsample_trilinear3d(x, to, aligned, s[2], s[3], s[4]);
      });
    } else if (resizing.mode == "cubic" && to.size() == 2) {
      add([=](const at::Tensor& x) { return at::upsample_bicubic2d(x, to, aligned, s[2], s[3]); });
    }
  }
  return all;
}

// The one of ATen's that computes the same as `composed`. This is not read off the attributes but
// tried on an image, since ATen rounds places in its own ways.
std::optional<Resize> native_resizing(const LoweringContext& context, const Resizing& resizing,
                                      const Resize& composed) {
  const Shape& shape = context.input_shape(0);
  const bool fits = is_floating(context.input_type(0).dtype) && shape.size() >= 3 &&
                    shape.size() <= 5 && resizing.extents[0] == shape[0] &&
                    resizing.extents[1] == shape[1];
  if (!fits) return std::nullopt;
  const at::NoGradGuard no_grad;
  Shape image = shape;
  image[0] = image[1] = 1;
  const bool single = context.input_type(0).dtype == DType::kFloat32;
  const at::Tensor waves = at::arange(element_count(image), at::kDouble)
                               .mul(0.7)
                               .sin()
                               .to(single ? at::kFloat : at::kDouble)
                               .reshape(image);
  const at::Tensor expected = composed(waves);
  const double tolerance = single ? 1e-5 : 1e-12;
  for (const Resize& native : native_resizings(resizing)) {
    if (at::allclose(native(waves), expected, tolerance, tolerance)) return native;
  }
  return std::nullopt;
}

Result<Step> lower_resize(const LoweringContext& context) {
  const Resizing resizing = TRY(resizing_of(context.rules));
  const std::vector<ResizedAxis> axes = resized_axes(context, resizing);
  const Resize composed = [axes](at::Tensor x) {
    for (const ResizedAxis& axis : axes) x = axis(x);
    return x;
  };
  return unary(context, native_resizing(context, resizing, composed).value_or(composed));
}

// --- RoiAlign. ATen has none; torchvision's formulas, which are ONNX's.

// Places of an axis that the samples of a region's bins lie between, and the upper one's weight;
// nothing where a sample lies more than a pixel outside.
struct Between {
  std::int64_t low = 0, high = 0;
  double of_low = 0, of_high = 0;
};

Between between(double place, std::int64_t extent) {
  if (!(place >= -1 && place <= static_cast<double>(extent))) return {};
  const double inside = std::clamp(place, 0.0, static_cast<double>(extent - 1));
  const auto low = static_cast<std::int64_t>(inside);
  const double rest = inside - static_cast<double>(low);
  return {low, std::min(low + 1, extent - 1), 1 - rest, rest};
}

// The samples along one axis of a region, those of the first bin first.
struct RegionAxis {
  std::int64_t samples = 0;  // of a bin
  std::vector<Between> between;
};

// Far more than any detector takes.
constexpr double kMostSamples = 1 << 20;

Result<RegionAxis> region_axis(const RegionPooling& pooling, double begin, double end,
                               std::int64_t bins, std::int64_t extent) {
  const double shift = pooling.half_pixel ? 0.5 : 0.0;
  const double start = begin * pooling.spatial_scale - shift;
  double length = end * pooling.spatial_scale - shift - start;
  if (!pooling.half_pixel) length = std::max(length, 1.0);
  const double bin = length / static_cast<double>(bins);
  const double samples =
      pooling.sampling_ratio > 0 ? static_cast<double>(pooling.sampling_ratio) : std::ceil(bin);
  if (!(samples * static_cast<double>(bins) <= kMostSamples)) {
    return failed("a region is too large to sample, or no number");
  }
  RegionAxis axis;
  axis.samples = static_cast<std::int64_t>(std::max(samples, 0.0));
  for (std::int64_t i = 0; i < bins * axis.samples; ++i) {
    const std::int64_t whole = i / axis.samples, sample = i % axis.samples;
    const double within = (static_cast<double>(sample) + 0.5) / static_cast<double>(axis.samples);
    axis.between.push_back(between(start + bin * (static_cast<double>(whole) + within), extent));
  }
  return axis;
}

// What one region reads of its image: for every bin a weighted sum of pixels, which for the maximum
// differ from channel to channel.
struct Reading {
  std::int64_t image = 0;
  at::Tensor places;   // [channels or 1, bins, pixels]
  at::Tensor weights;  // the same

  // values [channels, image's pixels] -> [channels, bins]
  at::Tensor read(const at::Tensor& values) const {
    const std::int64_t channels = values.size(0), bins = places.size(1), pixels = places.size(2);
    const at::Tensor wide = places.expand({channels, bins, pixels}).flatten(1);
    return (values.gather(1, wide).reshape({channels, bins, pixels}) * weights).sum(2);
  }
  // The adjoint: adds [channels, bins] to `sums`.
  at::Tensor spread(const at::Tensor& sums, const at::Tensor& shares) const {
    const std::int64_t channels = sums.size(0), bins = places.size(1), pixels = places.size(2);
    const at::Tensor wide = places.expand({channels, bins, pixels}).flatten(1);
    const at::Tensor parts = (shares.unsqueeze(2) * weights).expand({channels, bins, pixels});
    return sums.scatter_add(1, wide, parts.flatten(1));
  }
};

struct RegionReader {
  RegionPooling pooling;
  std::int64_t images, channels, height, width, regions;

  // `pixels` is X as [images, channels, height * width], for the maximum.
  std::vector<Reading> operator()(const at::Tensor& pixels, const at::Tensor& rois,
                                  const at::Tensor& batch) const {
    const at::NoGradGuard no_grad;
    const at::Tensor corners = rois.to(at::kDouble).contiguous();
    const at::Tensor of_image = batch.contiguous();
    std::vector<Reading> all;
    for (std::int64_t i = 0; i < regions; ++i) {
      const auto image = of_image.data_ptr<std::int64_t>()[i];
      TORCH_CHECK(image >= 0 && image < images, "batch index ", image, " is outside a batch of ",
                  images);
      all.push_back(reading(pixels.select(0, image), corners.data_ptr<double>() + 4 * i));
      all.back().image = image;
    }
    return all;
  }

 private:
  Reading reading(const at::Tensor& pixels, const double* corners) const {
    const auto y = region_axis(pooling, corners[1], corners[3], pooling.output_height, height);
    const auto x = region_axis(pooling, corners[0], corners[2], pooling.output_width, width);
    TORCH_CHECK(y.ok() && x.ok(), "a region is too large to sample, or no number");
    const std::int64_t bins = pooling.output_height * pooling.output_width;
    const std::int64_t samples = y->samples * x->samples;
    std::vector<std::int64_t> places;
    std::vector<double> weights;
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      const std::int64_t row = bin / pooling.output_width, column = bin % pooling.output_width;
      for (std::int64_t sample = 0; sample < samples; ++sample) {
        add(y->between[static_cast<std::size_t>(row * y->samples + sample / x->samples)],
            x->between[static_cast<std::size_t>(column * x->samples + sample % x->samples)], places,
            weights);
      }
    }
    Reading reading{
        0, at::tensor(places, at::kLong).reshape({1, bins, samples, 4}),
        at::tensor(weights, at::kDouble).to(pixels.scalar_type()).reshape({1, bins, samples, 4})};
    return joined(std::move(reading), pixels, samples);
  }

  void add(const Between& row, const Between& column, std::vector<std::int64_t>& places,
           std::vector<double>& weights) const {
    for (const bool below : {false, true}) {
      for (const bool right : {false, true}) {
        places.push_back((below ? row.high : row.low) * width + (right ? column.high : column.low));
        weights.push_back((below ? row.of_high : row.of_low) *
                          (right ? column.of_high : column.of_low));
      }
    }
  }

  // All samples of a bin with equal weights, or the one that is its maximum in each channel.
  Reading joined(Reading samples, const at::Tensor& pixels, std::int64_t count) const {
    if (!pooling.maximum || count == 0) {
      return {0, samples.places.flatten(2),
              samples.weights.flatten(2) / static_cast<double>(std::max<std::int64_t>(count, 1))};
    }
    const Reading each{0, samples.places.flatten(1, 2), samples.weights.flatten(1, 2)};
    const std::int64_t bins = samples.places.size(1);
    const at::Tensor largest = each.read(pixels).reshape({channels, bins, count}).argmax(2);
    const at::Tensor chosen =
        largest.reshape({channels, bins, 1, 1}).expand({channels, bins, 1, 4});
    const Shape wide = {channels, bins, count, 4};
    return {0, samples.places.expand(wide).gather(2, chosen).squeeze(2),
            samples.weights.expand(wide).gather(2, chosen).squeeze(2)};
  }
};

Result<RegionReader> region_reader(const LoweringContext& context) {
  const Shape& x = context.input_shape(0);
  return RegionReader{
      TRY(region_pooling_of(context.node())), x[0], x[1], x[2], x[3], context.input_shape(1)[0]};
}

// RoiAlign reads X where X's maxima are; RoiAlignGather reads its fourth input there.
template <std::size_t kRead>
Result<Step> lower_roi_align(const LoweringContext& context) {
  const RegionReader reader = TRY(region_reader(context));
  const Shape shape = context.output_shape();
  const Slot x = context.input(0), rois = context.input(1), batch = context.input(2);
  const Slot from = context.input(kRead), y = context.output(0);
  return Step([=](at::Tensor* v) {
    const at::Tensor pixels = v[from].flatten(2);
    std::vector<at::Tensor> pooled;
    for (const Reading& reading : reader(v[x].flatten(2), v[rois], v[batch])) {
      pooled.push_back(reading.read(pixels.select(0, reading.image)));
    }
    v[y] = pooled.empty() ? at::zeros(shape, v[x].options()) : at::stack(pooled).reshape(shape);
  });
}

Result<Step> lower_roi_align_grad(const LoweringContext& context) {
  const RegionReader reader = TRY(region_reader(context));
  const Slot x = context.input(0), rois = context.input(1), batch = context.input(2);
  const Slot dy = context.input(3), y = context.output(0);
  return Step([=](at::Tensor* v) {
    const at::Tensor pixels = v[x].flatten(2);
    std::vector<at::Tensor> sums(static_cast<std::size_t>(reader.images),
                                 at::zeros({pixels.size(1), pixels.size(2)}, v[dy].options()));
    std::int64_t region = 0;
    for (const Reading& reading : reader(pixels, v[rois], v[batch])) {
      at::Tensor& sum = sums[static_cast<std::size_t>(reading.image)];
      sum = reading.spread(sum, v[dy].select(0, region++).flatten(1));
    }
    v[y] = at::stack(sums).reshape(v[x].sizes());
  });
}

}  // namespace

const std::vector<Lowering>& sampling_lowerings() {
  static const std::vector<Lowering> rows = {
      {"Resize", lower_resize},
      {"RoiAlign", lower_roi_align<0>},
  };
  return rows;
}

const std::vector<Lowering>& own_sampling_lowerings() {
  static const std::vector<Lowering> rows = {
      {"RoiAlignGather", lower_roi_align<3>},
      {"RoiAlignGrad", lower_roi_align_grad},
  };
  return rows;
}

}  // namespace gradstone::torch_engine
