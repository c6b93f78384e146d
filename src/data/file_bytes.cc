// SPDX-License-Identifier: Apache-2.0
#include "data/file_bytes.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/files.h"

namespace gradstone {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr int kGzipOnly = 16 + MAX_WBITS;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Ends the stream on every way out.
class Inflater {
 public:
  Inflater() { started_ = inflateInit2(&stream_, kGzipOnly) == Z_OK; }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (started_) inflateEnd(&stream_);
  }
  bool started() const { return started_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool started_ = false;
};

std::string at_byte(std::size_t offset) { return "byte " + std::to_string(offset) + ": "; }

}  // namespace

Result<Bytes> read_file_bytes(const std::string& path, std::size_t limit) {
  Result<Descriptor> opened = open_regular_file(path);
  if (!opened.ok()) return unreadable(opened.error().message);
  const std::unique_ptr<std::FILE, CloseFile> file(::fdopen(opened->get(), "rb"));
  if (!file) return unreadable(path + ": " + std::strerror(errno));
  (void)opened->release();  // the stream closes it
  Bytes bytes;
  for (;;) {
    const std::size_t old_size = bytes.size();
    bytes.resize(old_size + kChunk);
    const std::size_t got = std::fread(bytes.data() + old_size, 1, kChunk, file.get());
    bytes.resize(old_size + got);
    if (std::ferror(file.get())) return unreadable(path + ": " + std::strerror(errno));
    if (bytes.size() > limit) {
      return unreadable(path + ": longer than the " + std::to_string(limit) +
                        " bytes that a data file may have");
    }
    if (got < kChunk) return bytes;
  }
}

bool is_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

Result<Bytes> gunzip(std::span<const std::uint8_t> compressed, std::size_t limit) {
  Inflater inflater;
  if (!inflater.started()) return failed("zlib did not start");
  z_stream& stream = inflater.stream();
  Bytes bytes;
  std::size_t offset = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const std::size_t piece = std::min(compressed.size() - offset, kChunk);
      stream.next_in = const_cast<Bytef*>(compressed.data() + offset);
      stream.avail_in = static_cast<uInt>(piece);
      offset += piece;
    }
    const std::size_t old_size = bytes.size();
    bytes.resize(old_size + kChunk);
    stream.next_out = bytes.data() + old_size;
    stream.avail_out = static_cast<uInt>(kChunk);
    status = inflate(&stream, Z_NO_FLUSH);
    bytes.resize(bytes.size() - stream.avail_out);
    const std::size_t consumed = offset - stream.avail_in;
    if (status == Z_MEM_ERROR) return Error{ErrorKind::kOutOfMemory, "zlib has no memory"};
    if (status == Z_BUF_ERROR) return unreadable(at_byte(consumed) + "the gzip data is cut short");
    if (status != Z_OK && status != Z_STREAM_END) {
      return unreadable(at_byte(consumed) + "the gzip data is damaged (" +
                        (stream.msg ? stream.msg : "unknown form") + ")");
    }
    if (bytes.size() > limit) {
      return unreadable(at_byte(consumed) + "unpacks to more than " + std::to_string(limit) +
                        " bytes");
    }
  }
  const std::size_t end = offset - stream.avail_in;
  if (end != compressed.size()) {
    return unreadable(at_byte(end) + std::to_string(compressed.size() - end) +
                      " bytes follow the end of the gzip data");
  }
  return bytes;
}

Result<Bytes> read_data_file(const std::string& path) {
  Bytes bytes = TRY(read_file_bytes(path, kMaxDataFileBytes));
  if (!is_gzip(bytes)) return bytes;
  return gunzip(bytes, kMaxDataFileBytes).within(path);
}

}  // namespace gradstone
