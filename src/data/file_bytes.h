// SPDX-License-Identifier: Apache-2.0
// Whole files into memory, gzipped or not, with a bound that no foreign header can raise.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace gradstone {

using Bytes = std::vector<std::uint8_t>;

inline constexpr std::size_t kMaxDataFileBytes = std::size_t{1} << 30;

// Reads `path`. Unreadable if it does not exist, is a folder, or is longer than `limit`.
Result<Bytes> read_file_bytes(const std::string& path, std::size_t limit);

bool is_gzip(std::span<const std::uint8_t> bytes);
// The content of one gzip member that fills `compressed`. Unreadable, with the byte offset, if it
// is cut short, damaged (CRC), followed by other bytes, or holds more than `limit` bytes. Memory
// grows with what was really inflated.
Result<Bytes> gunzip(std::span<const std::uint8_t> compressed, std::size_t limit);

// Both: reads `path` and unpacks it if it is gzip.
Result<Bytes> read_data_file(const std::string& path);

}  // namespace gradstone
