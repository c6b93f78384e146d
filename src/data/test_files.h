// SPDX-License-Identifier: Apache-2.0
// For tests: files in the formats that data/ reads.
#pragma once

#include <zlib.h>

#include <string>

#include "base/files.h"
#include "data/file_bytes.h"

namespace gradstone::testing {

inline void write(const TemporaryFolder& folder, std::string_view name, const Bytes& bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  CHECK(write_file(folder.file(name), text).ok(), "a test's file cannot be written");
}

inline void append_big_endian(Bytes& bytes, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<std::uint8_t>(value >> shift));
  }
}

// Image i has every pixel (i + place) % 256, label i is i % 10.
inline Bytes idx_images(std::uint32_t count, std::uint32_t height, std::uint32_t width) {
  Bytes bytes;
  for (const std::uint32_t value : {0x803u, count, height, width}) append_big_endian(bytes, value);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t place = 0; place < height * width; ++place) {
      bytes.push_back(static_cast<std::uint8_t>(i + place));
    }
  }
  return bytes;
}

inline Bytes idx_labels(std::uint32_t count) {
  Bytes bytes;
  for (const std::uint32_t value : {0x801u, count}) append_big_endian(bytes, value);
  for (std::uint32_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::uint8_t>(i % 10));
  return bytes;
}

inline Bytes gzipped(const Bytes& bytes) {
  z_stream stream{};
  CHECK(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK,
        "zlib");
  Bytes packed(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// A whole folder in MNIST's layout; the test files are gzipped.
inline void write_idx_folder(const TemporaryFolder& folder, std::uint32_t train, std::uint32_t test,
                             std::uint32_t side) {
  write(folder, "train-images-idx3-ubyte", idx_images(train, side, side));
  write(folder, "train-labels-idx1-ubyte", idx_labels(train));
  write(folder, "t10k-images-idx3-ubyte.gz", gzipped(idx_images(test, side, side)));
  write(folder, "t10k-labels-idx1-ubyte.gz", gzipped(idx_labels(test)));
}

}  // namespace gradstone::testing
