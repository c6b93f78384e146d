// SPDX-License-Identifier: Apache-2.0
// The IDX format of MNIST and its descendants (LeCun, Cortes, Burges: "The MNIST database"): a
// big-endian magic number, the extents, then bytes. Parses memory; not for finding files.
#pragma once

#include <cstdint>
#include <span>

#include "data/file_bytes.h"

namespace gradstone {

struct IdxImages {
  std::int64_t count = 0, height = 0, width = 0;
  std::span<const std::uint8_t> pixels;  // inside the parsed bytes; one byte a pixel, row-major
};

// Unreadable, with the byte offset, unless magic, extents and length agree exactly.
Result<IdxImages> parse_idx_images(std::span<const std::uint8_t> file);
// One byte a label. Unreadable for a label of `classes` or above, too.
Result<std::span<const std::uint8_t>> parse_idx_labels(std::span<const std::uint8_t> file,
                                                       std::int64_t classes);

}  // namespace gradstone
