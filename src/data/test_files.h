// SPDX-License-Identifier: Apache-2.0
// For tests: a folder of its own that goes with the object, and files in the formats that data/
// reads.
#pragma once

#include <stdlib.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/result.h"
#include "data/file_bytes.h"

namespace gradstone::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gradstone-XXXXXX").string();
    CHECK(mkdtemp(pattern.data()) != nullptr, "no temporary folder");
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path() const { return path_.string(); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const Bytes& bytes) const {
    std::ofstream(path_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::filesystem::path path_;
};

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
  folder.write("train-images-idx3-ubyte", idx_images(train, side, side));
  folder.write("train-labels-idx1-ubyte", idx_labels(train));
  folder.write("t10k-images-idx3-ubyte.gz", gzipped(idx_images(test, side, side)));
  folder.write("t10k-labels-idx1-ubyte.gz", gzipped(idx_labels(test)));
}

}  // namespace gradstone::testing
