// SPDX-License-Identifier: Apache-2.0
#include "data/real_data.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/hash.h"
#include "data/cifar.h"
#include "data/file_bytes.h"
#include "data/idx.h"

namespace gradstone {
namespace {

constexpr std::int64_t kIdxClasses = 10;

struct LoadedSplit {
  Bytes pixels;  // [count, channels, height, width]
  Bytes labels;
};

class LoadedDataSet final : public DataSet {
 public:
  LoadedDataSet(Shape sample_shape, std::int64_t classes, LoadedSplit train, LoadedSplit test)
      : sample_shape_(std::move(sample_shape)),
        sample_bytes_(static_cast<std::size_t>(element_count(sample_shape_))),
        classes_(classes),
        train_(std::move(train)),
        test_(std::move(test)) {}

  std::int64_t count(Split split) const override {
    return static_cast<std::int64_t>(of(split).labels.size());
  }
  const Shape& sample_shape() const override { return sample_shape_; }
  std::int64_t classes() const override { return classes_; }
  void read(Split split, std::int64_t index, std::span<std::uint8_t> pixels) const override {
    const auto from = of(split).pixels.begin() + index * static_cast<std::int64_t>(sample_bytes_);
    std::copy_n(from, sample_bytes_, pixels.begin());
  }
  std::int64_t label(Split split, std::int64_t index) const override {
    return of(split).labels[static_cast<std::size_t>(index)];
  }
  std::string checksum() const override {
    Hasher hasher;
    for (const LoadedSplit* split : {&train_, &test_}) {
      hasher.update(std::as_bytes(std::span(split->pixels)));
      hasher.update(std::as_bytes(std::span(split->labels)));
    }
    return hasher.hex();
  }

 private:
  const LoadedSplit& of(Split split) const { return split == Split::kTrain ? train_ : test_; }

  Shape sample_shape_;
  std::size_t sample_bytes_;
  std::int64_t classes_;
  LoadedSplit train_, test_;
};

Error with_remedy(Error error, std::string_view remedy) {
  error.message += "; " + std::string(remedy);
  return error;
}

// The first of the usual spellings of `stem` ("train-images", 3) that exists in `folder`.
Result<std::string> find_idx_file(const std::string& folder, const std::string& stem, int axes) {
  const std::string ending = "idx" + std::to_string(axes) + "-ubyte";
  const std::array<std::string, 4> spellings = {stem + "-" + ending, stem + "-" + ending + ".gz",
                                                stem + "." + ending, stem + "." + ending + ".gz"};
  for (const std::string& spelling : spellings) {
    std::string path = (std::filesystem::path(folder) / spelling).string();
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return unreadable(folder + ": no file " + spellings[0] + " or " + spellings[1]);
}

struct IdxSplit {
  LoadedSplit split;
  std::int64_t height = 0, width = 0;
  std::string images_path;
};

Result<IdxSplit> load_idx_split(const std::string& folder, const std::string& prefix) {
  const std::string images_path = TRY(find_idx_file(folder, prefix + "-images", 3));
  const std::string labels_path = TRY(find_idx_file(folder, prefix + "-labels", 1));
  Bytes images_file = TRY(read_data_file(images_path));
  const Bytes labels_file = TRY(read_data_file(labels_path));
  const IdxImages images = TRY(parse_idx_images(images_file).within(images_path));
  const auto labels = TRY(parse_idx_labels(labels_file, kIdxClasses).within(labels_path));
  if (static_cast<std::int64_t>(labels.size()) != images.count) {
    return unreadable(labels_path + ": byte 4: " + std::to_string(labels.size()) + " labels for " +
                      std::to_string(images.count) + " images in " + images_path);
  }
  IdxSplit result{
      {{}, Bytes(labels.begin(), labels.end())}, images.height, images.width, images_path};
  const auto header = images_file.size() - images.pixels.size();
  images_file.erase(images_file.begin(), images_file.begin() + static_cast<std::ptrdiff_t>(header));
  result.split.pixels = std::move(images_file);
  return result;
}

Result<std::unique_ptr<DataSet>> load_idx_folder(const std::string& folder) {
  IdxSplit train = TRY(load_idx_split(folder, "train"));
  IdxSplit test = TRY(load_idx_split(folder, "t10k"));
  if (train.height != test.height || train.width != test.width) {
    return unreadable(test.images_path + ": byte 8: its images and those of " + train.images_path +
                      " differ in size");
  }
  return std::unique_ptr<DataSet>(
      std::make_unique<LoadedDataSet>(Shape{1, train.height, train.width}, kIdxClasses,
                                      std::move(train.split), std::move(test.split)));
}

Status append_cifar_file(const std::string& path, LoadedSplit& split) {
  const Bytes file = TRY(read_data_file(path));
  const std::int64_t count = TRY(check_cifar(file).within(path));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto record = file.begin() + i * static_cast<std::int64_t>(kCifarRecord);
    split.labels.push_back(*record);
    split.pixels.insert(split.pixels.end(), record + 1,
                        record + static_cast<std::ptrdiff_t>(kCifarRecord));
  }
  return {};
}

Result<std::unique_ptr<DataSet>> load_cifar10_folder(const std::string& folder) {
  const std::filesystem::path base(folder);
  LoadedSplit train, test;
  for (int i = 1; i <= 5; ++i) {
    TRY(append_cifar_file((base / ("data_batch_" + std::to_string(i) + ".bin")).string(), train));
  }
  TRY(append_cifar_file((base / "test_batch.bin").string(), test));
  return std::unique_ptr<DataSet>(
      std::make_unique<LoadedDataSet>(Shape{kCifarChannels, kCifarSide, kCifarSide}, kCifarClasses,
                                      std::move(train), std::move(test)));
}

}  // namespace

Result<std::unique_ptr<DataSet>> open_idx_folder(const std::string& folder,
                                                 std::string_view remedy) {
  auto data = load_idx_folder(folder);
  if (!data.ok()) return with_remedy(data.error(), remedy);
  return data;
}

Result<std::unique_ptr<DataSet>> open_cifar10_folder(const std::string& folder,
                                                     std::string_view remedy) {
  auto data = load_cifar10_folder(folder);
  if (!data.ok()) return with_remedy(data.error(), remedy);
  return data;
}

}  // namespace gradstone
