// SPDX-License-Identifier: Apache-2.0
// The binary version of CIFAR-10 (Krizhevsky 2009): records of one label byte and 3 x 32 x 32
// pixels, channels first. Parses memory; not for finding files.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"

namespace gradstone {

inline constexpr std::int64_t kCifarClasses = 10, kCifarSide = 32, kCifarChannels = 3;
inline constexpr std::size_t kCifarPixels = 3 * 32 * 32;
inline constexpr std::size_t kCifarRecord = 1 + kCifarPixels;

// Number of records. Unreadable, with the byte offset, for an empty file, an incomplete last record
// or a label of 10 or above.
Result<std::int64_t> check_cifar(std::span<const std::uint8_t> file);

}  // namespace gradstone
