// SPDX-License-Identifier: Apache-2.0
#include "data/batches.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/random.h"

namespace gradstone {
namespace {

constexpr std::size_t kByteValues = 256;

double of_channel(const std::vector<double>& values, std::int64_t channel, double fallback) {
  if (values.empty()) return fallback;
  return values.size() == 1 ? values[0] : values[static_cast<std::size_t>(channel)];
}

bool fits_channels(const std::vector<double>& values, std::int64_t channels) {
  return values.size() <= 1 || static_cast<std::int64_t>(values.size()) == channels;
}

// One axis of padding or cropping around the middle.
struct Placement {
  std::int64_t from = 0, to = 0, length = 0;  // first place in the file's image, in the network's
};
Placement placement(std::int64_t source, std::int64_t target) {
  if (source >= target) return {(source - target) / 2, 0, target};
  return {0, (target - source) / 2, source};
}

template <class T>
void fill_labels(const DataSet& data, Split split, std::span<const std::uint32_t> samples,
                 T* target) {
  for (const std::uint32_t sample : samples) *target++ = static_cast<T>(data.label(split, sample));
}

}  // namespace

Result<BatchOrder> BatchOrder::make(std::int64_t count, std::int64_t batch, LastBatch last,
                                    std::uint64_t seed) {
  if (batch < 1) return usage_error("batch " + std::to_string(batch) + ": choose at least 1");
  if (count < 1 || count > std::numeric_limits<std::uint32_t>::max()) {
    return usage_error("cannot train on " + std::to_string(count) + " samples");
  }
  if (last == LastBatch::kDrop && count < batch) {
    return usage_error("batch " + std::to_string(batch) + " is larger than the " +
                       std::to_string(count) + " training samples; choose a smaller batch");
  }
  BatchOrder order;
  order.count_ = count;
  order.batch_ = batch;
  order.last_ = last;
  order.seed_ = seed;
  order.batches_per_epoch_ = last == LastBatch::kDrop ? count / batch : (count + batch - 1) / batch;
  return order;
}

std::int64_t BatchOrder::batch_size(std::int64_t index) const {
  if (last_ != LastBatch::kSmaller) return batch_;
  return std::min(batch_, count_ - index * batch_);
}

std::int64_t BatchOrder::samples_per_epoch() const {
  return last_ == LastBatch::kSmaller ? count_ : batches_per_epoch_ * batch_;
}

std::span<const std::uint32_t> BatchOrder::samples(std::int64_t step) {
  const std::int64_t epoch = step / batches_per_epoch_;
  if (epoch != epoch_) {
    const CounterRandom random(seed_, stream_of("order/" + std::to_string(epoch)));
    order_ = permutation(random, static_cast<std::size_t>(count_));
    epoch_ = epoch;
  }
  const std::int64_t begin = step % batches_per_epoch_ * batch_;
  if (last_ == LastBatch::kWrap && begin + batch_ > count_) {
    wrapped_.clear();
    for (std::int64_t i = begin; i < begin + batch_; ++i) {
      wrapped_.push_back(order_[static_cast<std::size_t>(i % count_)]);
    }
    return wrapped_;
  }
  const std::int64_t size = std::min(batch_, count_ - begin);
  return std::span<const std::uint32_t>(order_).subspan(static_cast<std::size_t>(begin),
                                                        static_cast<std::size_t>(size));
}

std::int64_t evaluation_batches(std::int64_t count, std::int64_t batch) {
  return (count + batch - 1) / batch;
}

EvaluationBatch evaluation_batch(std::int64_t count, std::int64_t batch, std::int64_t index) {
  EvaluationBatch result;
  const std::int64_t begin = index * batch;
  result.valid = std::min(batch, count - begin);
  for (std::int64_t i = begin; i < begin + batch; ++i) {
    result.samples.push_back(static_cast<std::uint32_t>(std::min(i, count - 1)));
  }
  return result;
}

Result<BatchFiller> BatchFiller::make(const DataSet& data, const Preprocess& preprocess,
                                      const TensorType& image, std::int64_t classes) {
  const Shape& source = data.sample_shape();
  const Shape wanted = {source[0], preprocess.height > 0 ? preprocess.height : source[1],
                        preprocess.width > 0 ? preprocess.width : source[2]};
  if (image.shape.size() != 4 ||
      !std::equal(wanted.begin(), wanted.end(), image.shape.begin() + 1)) {
    return usage_error("images are " + to_string(wanted) +
                       " after preprocessing, the network takes " + to_string(image.shape) +
                       "; choose other data or another size");
  }
  if (!is_floating(image.dtype)) {
    return usage_error("images cannot be fed as " + std::string(name_of(image.dtype)));
  }
  if (data.classes() > classes) {
    return usage_error("the data has " + std::to_string(data.classes()) +
                       " classes, the network tells " + std::to_string(classes) + " apart");
  }
  if (!fits_channels(preprocess.mean, source[0]) ||
      !fits_channels(preprocess.deviation, source[0])) {
    return usage_error("preprocessing: mean and deviation need one value, or one for each of the " +
                       std::to_string(source[0]) + " channels");
  }
  BatchFiller filler(data);
  filler.channels_ = wanted[0];
  filler.height_ = wanted[1];
  filler.width_ = wanted[2];
  for (std::int64_t channel = 0; channel < filler.channels_; ++channel) {
    const double mean = of_channel(preprocess.mean, channel, 0);
    const double deviation = of_channel(preprocess.deviation, channel, 1);
    for (std::size_t byte = 0; byte < kByteValues; ++byte) {
      const double scaled = static_cast<double>(byte) * preprocess.scale;
      filler.value_of_byte_.push_back((scaled - mean) / deviation);
    }
  }
  return filler;
}

template <class T>
void BatchFiller::fill_images(Split split, std::span<const std::uint32_t> samples,
                              T* target) const {
  const Shape& source = data_->sample_shape();
  const Placement rows = placement(source[1], height_), columns = placement(source[2], width_);
  const auto sample_elements = static_cast<std::size_t>(channels_ * height_ * width_);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(element_count(source)));
  const bool padded = rows.length < height_ || columns.length < width_;
  for (const std::uint32_t sample : samples) {
    data_->read(split, sample, pixels);
    for (std::int64_t channel = 0; channel < channels_; ++channel) {
      const double* values = value_of_byte_.data() + channel * std::int64_t{kByteValues};
      T* plane = target + channel * height_ * width_;
      if (padded) std::fill_n(plane, height_ * width_, static_cast<T>(values[0]));
      for (std::int64_t row = 0; row < rows.length; ++row) {
        const std::uint8_t* from =
            pixels.data() + (channel * source[1] + rows.from + row) * source[2] + columns.from;
        T* to = plane + (rows.to + row) * width_ + columns.to;
        for (std::int64_t x = 0; x < columns.length; ++x) to[x] = static_cast<T>(values[from[x]]);
      }
    }
    target += sample_elements;
  }
}

void BatchFiller::fill(Split split, std::span<const std::uint32_t> samples, TensorSink images,
                       TensorSink labels) const {
  if (images.type.dtype == DType::kFloat64) {
    fill_images(split, samples, reinterpret_cast<double*>(images.data));
  } else {
    fill_images(split, samples, reinterpret_cast<float*>(images.data));
  }
  if (labels.type.dtype == DType::kInt64) {
    fill_labels(*data_, split, samples, reinterpret_cast<std::int64_t*>(labels.data));
  } else {
    fill_labels(*data_, split, samples, reinterpret_cast<std::int32_t*>(labels.data));
  }
}

}  // namespace gradstone
