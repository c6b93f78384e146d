// SPDX-License-Identifier: Apache-2.0
#include "data/idx.h"

#include <array>
#include <cstdio>

namespace gradstone {
namespace {

constexpr std::uint32_t kImagesMagic = 0x00000803;  // unsigned bytes, three axes
constexpr std::uint32_t kLabelsMagic = 0x00000801;  // unsigned bytes, one axis
constexpr std::size_t kImagesHeader = 16, kLabelsHeader = 8;
// Far above any published set; keeps the product of three extents below 2^63.
constexpr std::uint32_t kMaxSide = 1u << 14;

std::uint32_t big_endian(std::span<const std::uint8_t> bytes, std::size_t offset) {
  return std::uint32_t{bytes[offset]} << 24 | std::uint32_t{bytes[offset + 1]} << 16 |
         std::uint32_t{bytes[offset + 2]} << 8 | bytes[offset + 3];
}

std::string hex(std::uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", value);
  return text.data();
}

Status check_header(std::span<const std::uint8_t> file, std::uint32_t magic, std::size_t header,
                    const char* kind) {
  if (file.size() < header) {
    return unreadable("byte " + std::to_string(file.size()) + ": the file ends inside the " +
                      std::to_string(header) + "-byte header of IDX " + kind);
  }
  if (big_endian(file, 0) != magic) {
    return unreadable("byte 0: magic number " + hex(big_endian(file, 0)) + ", expected " +
                      hex(magic) + " of IDX " + kind);
  }
  return {};
}

Status check_length(std::span<const std::uint8_t> file, std::uint64_t expected) {
  if (file.size() < expected) {
    return unreadable("byte " + std::to_string(file.size()) + ": the file ends, its header says " +
                      std::to_string(expected) + " bytes");
  }
  if (file.size() > expected) {
    return unreadable("byte " + std::to_string(expected) + ": " +
                      std::to_string(file.size() - expected) +
                      " bytes follow the end that its header says");
  }
  return {};
}

}  // namespace

Result<IdxImages> parse_idx_images(std::span<const std::uint8_t> file) {
  TRY(check_header(file, kImagesMagic, kImagesHeader, "images"));
  const std::uint32_t count = big_endian(file, 4);
  const std::uint32_t height = big_endian(file, 8), width = big_endian(file, 12);
  if (count == 0) return unreadable("byte 4: no images");
  if (height == 0 || width == 0 || height > kMaxSide || width > kMaxSide) {
    return unreadable("byte 8: images of " + std::to_string(height) + "x" + std::to_string(width));
  }
  TRY(check_length(file, kImagesHeader + std::uint64_t{count} * height * width));
  return IdxImages{count, height, width, file.subspan(kImagesHeader)};
}

Result<std::span<const std::uint8_t>> parse_idx_labels(std::span<const std::uint8_t> file,
                                                       std::int64_t classes) {
  TRY(check_header(file, kLabelsMagic, kLabelsHeader, "labels"));
  const std::uint32_t count = big_endian(file, 4);
  if (count == 0) return unreadable("byte 4: no labels");
  TRY(check_length(file, kLabelsHeader + std::uint64_t{count}));
  const auto labels = file.subspan(kLabelsHeader);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < classes) continue;
    return unreadable("byte " + std::to_string(kLabelsHeader + i) + ": label " +
                      std::to_string(labels[i]) + ", expected 0 to " + std::to_string(classes - 1));
  }
  return labels;
}

}  // namespace gradstone
