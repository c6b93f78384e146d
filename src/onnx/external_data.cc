// SPDX-License-Identifier: Apache-2.0
#include "onnx/external_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"

namespace gradstone::onnx_io {
namespace {

// The file that `location` names, if it lies in the folder when all links are followed.
Result<std::string> path_inside(const std::string& folder, const std::string& location) {
  namespace fs = std::filesystem;
  const fs::path relative(location);
  if (location.empty() || location.find('\0') != std::string::npos || relative.is_absolute()) {
    return unreadable("'" + location + "' is no path inside the model's folder");
  }
  std::error_code error;
  const fs::path root = fs::canonical(folder.empty() ? "." : folder, error);
  if (error) return unreadable("the model's folder cannot be read: " + error.message());
  const fs::path file = fs::canonical(root / relative, error);
  if (error) return unreadable("'" + location + "': " + error.message());
  const auto [in_root, in_file] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (in_root == root.end() && in_file != file.end()) return file.string();
  return unreadable("'" + location + "' lies outside the model's folder");
}

}  // namespace

class ExternalData::Mapping {
 public:
  static Result<std::unique_ptr<Mapping>> of(const std::string& path) {
    // Not to wait for a pipe that nobody writes to.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!file.valid() || ::fstat(file.get(), &status) != 0) return file_error("read", path);
    if (!S_ISREG(status.st_mode)) return unreadable("'" + path + "' is no file");
    auto mapping = std::make_unique<Mapping>();
    mapping->size_ = static_cast<std::size_t>(status.st_size);
    if (mapping->size_ == 0) return mapping;
    void* bytes = ::mmap(nullptr, mapping->size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (bytes == MAP_FAILED) return file_error("map", path);
    mapping->bytes_ = static_cast<const std::byte*>(bytes);
    return mapping;
  }
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (bytes_ != nullptr) ::munmap(const_cast<std::byte*>(bytes_), size_);
  }
  std::span<const std::byte> bytes() const { return {bytes_, size_}; }

 private:
  const std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
};

ExternalData::ExternalData(std::string folder) : folder_(std::move(folder)) {}
ExternalData::~ExternalData() = default;

Result<const ExternalData::Mapping*> ExternalData::mapping(const std::string& location) {
  std::unique_ptr<Mapping>& known = mappings_[location];
  if (known == nullptr) {
    const std::string path = TRY(path_inside(folder_, location));
    known = TRY(Mapping::of(path));
  }
  return known.get();
}

Result<std::span<const std::byte>> ExternalData::bytes(const std::string& location,
                                                       std::uint64_t offset, std::uint64_t length) {
  const Mapping* file = TRY(mapping(location).within("external data"));
  const std::uint64_t size = file->bytes().size();
  if (offset <= size && length <= size - offset) return file->bytes().subspan(offset, length);
  return unreadable("external data: '" + location + "' has " + std::to_string(size) +
                    " bytes; there are no " + std::to_string(length) + " at offset " +
                    std::to_string(offset));
}

}  // namespace gradstone::onnx_io
