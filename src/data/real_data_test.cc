// SPDX-License-Identifier: Apache-2.0
#include "data/real_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "data/cifar.h"
#include "data/idx.h"
#include "data/test_files.h"

namespace gradstone {
namespace {

using testing::gzipped;
using ::testing::HasSubstr;
using testing::idx_images;
using testing::idx_labels;
using testing::write;
using testing::write_idx_folder;

std::string error_of_images(const Bytes& bytes) {
  const auto result = parse_idx_images(bytes);
  return result.ok() ? "" : result.error().message;
}

std::string error_of_labels(const Bytes& bytes) {
  const auto result = parse_idx_labels(bytes, 10);
  return result.ok() ? "" : result.error().message;
}

TEST(Idx, ReadsImagesInPlace) {
  const Bytes bytes = idx_images(3, 4, 5);
  const auto images = parse_idx_images(bytes);
  ASSERT_TRUE(images.ok()) << images.error().message;
  EXPECT_EQ(images->count, 3);
  EXPECT_EQ(images->height, 4);
  EXPECT_EQ(images->width, 5);
  EXPECT_EQ(images->pixels.data(), bytes.data() + 16);
  EXPECT_EQ(images->pixels.size(), 60u);
}

TEST(Idx, EveryBrokenHeaderNamesItsByte) {
  const Bytes good = idx_images(3, 4, 5);
  for (std::size_t size = 0; size < 16; ++size) {
    EXPECT_THAT(error_of_images(Bytes(good.begin(), good.begin() + size)),
                HasSubstr("byte " + std::to_string(size) + ": the file ends inside the 16-byte"));
  }
  EXPECT_EQ(error_of_images(Bytes(good.begin(), good.end() - 1)),
            "byte 75: the file ends, its header says 76 bytes");
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_EQ(error_of_images(longer), "byte 76: 1 bytes follow the end that its header says");
  EXPECT_EQ(error_of_images(idx_images(0, 4, 5)), "byte 4: no images");
  EXPECT_EQ(error_of_images(idx_images(3, 0, 5)), "byte 8: images of 0x5");
  EXPECT_THAT(error_of_images(idx_labels(30)),
              HasSubstr("byte 0: magic number 0x00000801, expected 0x00000803"));
}

TEST(Idx, HostileExtentsAreOnlyCompared) {
  Bytes bytes;
  for (const std::uint32_t value : {0x803u, 0xffffffffu, 1u << 14, 1u << 14}) {
    testing::append_big_endian(bytes, value);
  }
  EXPECT_EQ(error_of_images(bytes), "byte 16: the file ends, its header says " +
                                        std::to_string(16 + (0xffffffffull << 28)) + " bytes");
}

TEST(Idx, LabelsStayBelowTheClasses) {
  Bytes labels = idx_labels(20);
  EXPECT_EQ(error_of_labels(labels), "");
  labels[8 + 13] = 10;
  EXPECT_EQ(error_of_labels(labels), "byte 21: label 10, expected 0 to 9");
  EXPECT_EQ(error_of_labels(idx_labels(0)), "byte 4: no labels");
}

TEST(Gunzip, GivesBackWhatWasPacked) {
  const Bytes bytes = idx_images(700, 50, 60);  // more than one output chunk
  const auto unpacked = gunzip(gzipped(bytes), kMaxDataFileBytes);
  ASSERT_TRUE(unpacked.ok()) << unpacked.error().message;
  EXPECT_EQ(*unpacked, bytes);
}

TEST(Gunzip, RefusesDamage) {
  const Bytes packed = gzipped(idx_images(10, 8, 8));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const auto cut = gunzip(std::span(packed).first(size), kMaxDataFileBytes);
    ASSERT_FALSE(cut.ok()) << size;
    EXPECT_THAT(cut.error().message, HasSubstr("cut short"));
  }
  Bytes wrong_crc = packed;
  wrong_crc[packed.size() - 8] ^= 1;
  EXPECT_THAT(gunzip(wrong_crc, kMaxDataFileBytes).error().message,
              HasSubstr("the gzip data is damaged (incorrect data check)"));
  Bytes longer = packed;
  longer.push_back(7);
  EXPECT_EQ(gunzip(longer, kMaxDataFileBytes).error().message,
            "byte " + std::to_string(packed.size()) + ": 1 bytes follow the end of the gzip data");
  EXPECT_THAT(gunzip(packed, 655).error().message, HasSubstr("unpacks to more than 655 bytes"));
  EXPECT_TRUE(gunzip(packed, 656).ok());
}

TEST(RealData, ReadsAFolderInMnistsLayout) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  write_idx_folder(folder, 25, 12, 6);
  const auto data = open_data({"mnist", folder.path()}, {});
  ASSERT_TRUE(data.ok()) << data.error().message;
  const DataSet& set = **data;
  EXPECT_EQ(set.count(Split::kTrain), 25);
  EXPECT_EQ(set.count(Split::kTest), 12);
  EXPECT_EQ(set.sample_shape(), (Shape{1, 6, 6}));
  EXPECT_EQ(set.classes(), 10);
  Bytes pixels(36);
  set.read(Split::kTest, 11, pixels);
  for (std::size_t i = 0; i < pixels.size(); ++i) EXPECT_EQ(pixels[i], 11 + i);
  EXPECT_EQ(set.label(Split::kTrain, 23), 3);
}

TEST(RealData, ChecksumTellsFilesApartButNotTheirPacking) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  write_idx_folder(folder, 25, 12, 6);
  const DataReference reference = {"mnist", folder.path()};
  const std::string first = open_data(reference, {}).value()->checksum();
  EXPECT_EQ(first.size(), 32u);
  std::filesystem::remove(folder.file("t10k-labels-idx1-ubyte.gz"));
  Bytes labels = idx_labels(12);
  write(folder, "t10k-labels-idx1-ubyte", labels);
  EXPECT_EQ(open_data(reference, {}).value()->checksum(), first);
  labels.back() = 5;
  write(folder, "t10k-labels-idx1-ubyte", labels);
  EXPECT_NE(open_data(reference, {}).value()->checksum(), first);
}

TEST(RealData, ErrorsNameFileByteAndRemedy) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  const DataReference reference = {"fashion-mnist", folder.path()};
  EXPECT_EQ(open_data(reference, {}).error().message,
            "data fashion-mnist: " + folder.path() +
                ": no file train-images-idx3-ubyte or train-images-idx3-ubyte.gz; fetch the file "
                "again, or leave the folder out and: apt install dataset-fashion-mnist");
  write_idx_folder(folder, 25, 12, 6);
  const Bytes images = idx_images(25, 6, 6);
  write(folder, "train-images-idx3-ubyte", Bytes(images.begin(), images.begin() + 500));
  const auto truncated = open_data(reference, {});
  EXPECT_EQ(truncated.error().kind, ErrorKind::kUnreadable);
  EXPECT_THAT(truncated.error().message,
              HasSubstr(folder.file("train-images-idx3-ubyte") +
                        ": byte 500: the file ends, its header says 916 bytes; "));
  write(folder, "train-images-idx3-ubyte", idx_images(24, 6, 6));
  EXPECT_THAT(open_data(reference, {}).error().message,
              HasSubstr("train-labels-idx1-ubyte: byte 4: 25 labels for 24 images in"));
  write(folder, "train-images-idx3-ubyte", idx_images(25, 6, 5));
  EXPECT_THAT(open_data(reference, {}).error().message, HasSubstr("differ in size"));
}

Bytes cifar_file(std::size_t count) {
  Bytes bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i % 10));
    for (std::size_t place = 0; place < kCifarPixels; ++place) {
      bytes.push_back(static_cast<std::uint8_t>(i + place));
    }
  }
  return bytes;
}

TEST(RealData, ReadsCifarFolders) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  for (int i = 1; i <= 5; ++i) {
    write(folder, "data_batch_" + std::to_string(i) + ".bin", cifar_file(4));
  }
  write(folder, "test_batch.bin", cifar_file(3));
  const auto data = open_data({"cifar10", folder.path()}, {});
  ASSERT_TRUE(data.ok()) << data.error().message;
  const DataSet& set = **data;
  EXPECT_EQ(set.count(Split::kTrain), 20);
  EXPECT_EQ(set.count(Split::kTest), 3);
  EXPECT_EQ(set.label(Split::kTrain, 6), 2);
  Bytes pixels(kCifarPixels);
  set.read(Split::kTrain, 6, pixels);
  EXPECT_EQ(pixels[0], 2);
  EXPECT_EQ(pixels[100], 102);
  std::filesystem::remove(folder.file("data_batch_4.bin"));
  EXPECT_THAT(open_data({"cifar10", folder.path()}, {}).error().message,
              HasSubstr("data_batch_4.bin': No such file or directory"));
}

TEST(RealData, CifarErrorsNameTheByte) {
  Bytes bytes = cifar_file(3);
  bytes[2 * kCifarRecord] = 11;
  EXPECT_EQ(check_cifar(bytes).error().message, "byte 6146: label 11, expected 0 to 9");
  EXPECT_EQ(check_cifar(std::span(bytes).first(4000)).error().message,
            "byte 3073: the last record has 927 of 3073 bytes");
  EXPECT_EQ(check_cifar({}).error().message, "byte 0: the file is empty");
}

TEST(RealData, FashionMnistOfDebianIsThePublishedOne) {
  if (!std::filesystem::exists(kFashionMnistFolder)) {
    GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  }
  const auto data = open_data({"fashion-mnist"}, {});
  ASSERT_TRUE(data.ok()) << data.error().message;
  const DataSet& set = **data;
  EXPECT_EQ(set.count(Split::kTrain), 60000);
  EXPECT_EQ(set.count(Split::kTest), 10000);
  EXPECT_EQ(set.sample_shape(), (Shape{1, 28, 28}));
  std::array<int, 10> of_class{};
  for (std::int64_t i = 0; i < 60000; ++i) {
    ++of_class.at(static_cast<std::size_t>(set.label(Split::kTrain, i)));
  }
  for (const int count : of_class) EXPECT_EQ(count, 6000);
  EXPECT_EQ(set.checksum(), published_checksum("fashion-mnist"));
}

}  // namespace
}  // namespace gradstone
