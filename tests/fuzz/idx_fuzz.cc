// SPDX-License-Identifier: Apache-2.0
// Gzip and IDX from memory: whatever the bytes, an answer or an error, and bounded memory.
#include <cstddef>
#include <cstdint>
#include <span>

#include "data/file_bytes.h"
#include "data/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradstone;
  std::span<const std::uint8_t> file(data, size);
  Bytes unpacked;
  if (is_gzip(file)) {
    auto result = gunzip(file, std::size_t{1} << 22);
    if (!result.ok()) return 0;
    unpacked = std::move(result).value();
    file = unpacked;
  }
  const auto images = parse_idx_images(file);
  if (images.ok()) {
    CHECK(images->pixels.size() == static_cast<std::size_t>(images->count) *
                                       static_cast<std::size_t>(images->height * images->width),
          "pixels and extents agree");
  }
  const auto labels = parse_idx_labels(file, 10);
  if (labels.ok()) {
    for (const std::uint8_t label : *labels) CHECK(label < 10, "labels are checked");
  }
  return 0;
}
