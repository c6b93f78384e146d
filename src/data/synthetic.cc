// SPDX-License-Identifier: Apache-2.0
#include "data/synthetic.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/hash.h"
#include "base/random.h"

namespace gradstone {
namespace {

constexpr std::size_t kNoiseCount = std::size_t{1} << 20;
constexpr int kNoiseAmplitude = 48;
constexpr int kColourAmplitude = 24;
constexpr int kWaveShift = 9;      // product of two table entries to pixel units
constexpr double kWaveUnit = 128;  // 128 * 128 >> 9: waves of amplitude 32
constexpr double kMaxCycles = 3;   // over the image, so that neighbouring pixels go together
constexpr std::int64_t kMaxSampleElements = std::int64_t{1} << 26;
constexpr std::int64_t kMaxTableElements = std::int64_t{1} << 28;

// cos(2 pi (cycles * i / size) + phase) in units of 1 / kWaveUnit.
void append_wave(std::int64_t size, double cycles, double phase, std::vector<std::int16_t>& table) {
  for (std::int64_t i = 0; i < size; ++i) {
    const double turn = cycles * static_cast<double>(i) / static_cast<double>(size);
    const double value = std::cos(2 * std::numbers::pi * (turn + phase));
    table.push_back(static_cast<std::int16_t>(std::lround(kWaveUnit * value)));
  }
}

class SyntheticDataSet final : public DataSet {
 public:
  explicit SyntheticDataSet(const DataReference& reference)
      : reference_(reference),
        train_offsets_(reference.seed, stream_of("synthetic/train")),
        test_offsets_(reference.seed, stream_of("synthetic/test")) {
    draw_noise();
    draw_classes();
  }

  std::int64_t count(Split split) const override {
    return split == Split::kTrain ? reference_.train_count : reference_.test_count;
  }
  const Shape& sample_shape() const override { return reference_.shape; }
  std::int64_t classes() const override { return reference_.classes; }
  std::int64_t label(Split, std::int64_t index) const override {
    return index % reference_.classes;
  }

  void read(Split split, std::int64_t index, std::span<std::uint8_t> pixels) const override {
    const CounterRandom& offsets = split == Split::kTrain ? train_offsets_ : test_offsets_;
    std::size_t noise = offsets.below(static_cast<std::uint64_t>(index), kNoiseCount);
    std::uint8_t* row = pixels.data();
    for (std::int64_t channel = 0; channel < channels(); ++channel) {
      const auto wave = static_cast<std::size_t>(label(split, index) * channels() + channel);
      const std::int16_t* vertical = vertical_.data() + wave * height();
      const std::int16_t* horizontal = horizontal_.data() + wave * width();
      for (std::size_t y = 0; y < height(); ++y) {
        // Each row starts at a place of its own, so that a row never leaves the padded noise.
        fill_row({row, width()}, vertical[y], horizontal, 128 + colour_[wave], noise);
        noise = (noise + width()) % kNoiseCount;
        row += width();
      }
    }
  }

  // Everything that a pixel is computed from.
  std::string checksum() const override {
    const std::vector<std::int64_t> numbers = {channels(),
                                               static_cast<std::int64_t>(height()),
                                               static_cast<std::int64_t>(width()),
                                               reference_.classes,
                                               reference_.train_count,
                                               reference_.test_count,
                                               static_cast<std::int64_t>(reference_.seed)};
    Hasher hasher;
    hasher.update(std::as_bytes(std::span(numbers)));
    hasher.update(std::as_bytes(std::span(noise_)));
    hasher.update(std::as_bytes(std::span(vertical_)));
    hasher.update(std::as_bytes(std::span(horizontal_)));
    hasher.update(std::as_bytes(std::span(colour_)));
    return hasher.hex();
  }

 private:
  std::int64_t channels() const { return reference_.shape[0]; }
  std::size_t height() const { return static_cast<std::size_t>(reference_.shape[1]); }
  std::size_t width() const { return static_cast<std::size_t>(reference_.shape[2]); }

  void draw_noise() {
    const CounterRandom random(reference_.seed, stream_of("synthetic/noise"));
    noise_.resize(kNoiseCount + width());
    for (std::size_t i = 0; i < kNoiseCount; ++i) {
      const auto draw = static_cast<int>(random.below(i, 2 * kNoiseAmplitude + 1));
      noise_[i] = static_cast<std::int8_t>(draw - kNoiseAmplitude);
    }
    for (std::size_t i = 0; i < width(); ++i) noise_[kNoiseCount + i] = noise_[i % kNoiseCount];
  }

  void draw_classes() {
    const CounterRandom random(reference_.seed, stream_of("synthetic/classes"));
    std::uint64_t draw = 0;
    for (std::int64_t wave = 0; wave < reference_.classes * channels(); ++wave) {
      for (auto* table : {&vertical_, &horizontal_}) {
        const double cycles = kMaxCycles * random.uniform(draw++);
        const double phase = random.uniform(draw++);
        append_wave(reference_.shape[table == &vertical_ ? 1 : 2], cycles, phase, *table);
      }
      const auto colour = static_cast<int>(random.below(draw++, 2 * kColourAmplitude + 1));
      colour_.push_back(static_cast<std::int16_t>(colour - kColourAmplitude));
    }
  }

  void fill_row(std::span<std::uint8_t> row, int vertical, const std::int16_t* horizontal,
                int level, std::size_t noise) const {
    const std::int8_t* noises = noise_.data() + noise;
    for (std::size_t x = 0; x < row.size(); ++x) {
      const int value = level + ((vertical * horizontal[x]) >> kWaveShift) + noises[x];
      row[x] = static_cast<std::uint8_t>(std::clamp(value, 0, 255));
    }
  }

  DataReference reference_;
  CounterRandom train_offsets_, test_offsets_;
  std::vector<std::int8_t> noise_;
  std::vector<std::int16_t> vertical_, horizontal_;  // [classes, channels, height or width]
  std::vector<std::int16_t> colour_;                 // [classes, channels]
};

Status check(const DataReference& reference) {
  const Shape& shape = reference.shape;
  const bool positive = std::all_of(shape.begin(), shape.end(), [](std::int64_t extent) {
    return extent > 0 && extent <= kMaxSampleElements;
  });
  if (shape.size() != 3 || !positive || shape[0] * shape[1] > kMaxSampleElements ||
      shape[0] * shape[1] * shape[2] > kMaxSampleElements) {
    return usage_error("shape " + to_string(shape) +
                       ", expected three positive extents CxHxW of at most " +
                       std::to_string(kMaxSampleElements) + " pixels");
  }
  if (reference.classes < 1 ||
      reference.classes > kMaxTableElements / (shape[0] * (shape[1] + shape[2]))) {
    return usage_error(std::to_string(reference.classes) +
                       " classes of this shape; choose fewer, at least 1");
  }
  if (reference.train_count < 1 || reference.test_count < 1) {
    return usage_error("train and test need at least one sample each");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<DataSet>> open_synthetic(const DataReference& reference) {
  TRY(check(reference));
  return std::unique_ptr<DataSet>(std::make_unique<SyntheticDataSet>(reference));
}

}  // namespace gradstone
