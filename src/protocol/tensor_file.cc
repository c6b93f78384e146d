// SPDX-License-Identifier: Apache-2.0
#include "protocol/tensor_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/files.h"
#include "base/hash.h"
#include "protocol/tensor_layout.h"

namespace gradstone {
namespace {

Status check_names(const std::vector<std::pair<std::string, TensorRef>>& tensors) {
  std::vector<std::string_view> names;
  for (const auto& [name, tensor] : tensors) {
    if (name == kTensorMetadataKey) return failed("a tensor must not be called " + name);
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) return failed("two tensors are called '" + std::string(*twice) + "'");
  return {};
}

// Sees a whole file; unmaps it.
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* bytes, std::size_t size) : bytes_(bytes), size_(size) {}
  Mapping(Mapping&& other) noexcept
      : bytes_(std::exchange(other.bytes_, nullptr)), size_(other.size_) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (bytes_ != nullptr) ::munmap(bytes_, size_);
  }
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(bytes_), size_};
  }

 private:
  void* bytes_ = nullptr;
  std::size_t size_ = 0;
};

Result<Mapping> map_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return file_error("read", path);
  if (!S_ISREG(status.st_mode)) return unreadable("tensor file '" + path + "': not a file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return unreadable("tensor file '" + path + "': empty");
  void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (bytes == MAP_FAILED) return file_error("map", path);
  return Mapping(bytes, size);
}

}  // namespace

Status write_tensor_file(const std::string& path,
                         const std::vector<std::pair<std::string, TensorRef>>& tensors,
                         Durability durability) {
  TRY(check_names(tensors).within("tensor file '" + path + "'"));
  // The format allows no gaps: with the widest elements first each tensor is aligned to its own.
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return size_of(tensors[a].second.type.dtype) > size_of(tensors[b].second.type.dtype);
  });

  std::vector<std::pair<std::string, TensorType>> types;
  for (const std::size_t i : order) types.emplace_back(tensors[i].first, tensors[i].second.type);
  AtomicFile file = TRY(AtomicFile::create(path));
  TRY(file.write(write_tensor_header(types)));
  for (const std::size_t i : order) {
    const TensorRef& tensor = tensors[i].second;
    TRY(file.write(std::span(tensor.data, tensor.type.bytes())));
  }
  return file.commit(durability);
}

struct TensorFile::State {
  Mapping mapping;
  std::vector<std::string> names;
  std::map<std::string, TensorRef, std::less<>> tensors;
};

TensorFile::TensorFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
TensorFile::TensorFile(TensorFile&&) noexcept = default;
TensorFile& TensorFile::operator=(TensorFile&&) noexcept = default;
TensorFile::~TensorFile() = default;

Result<TensorFile> TensorFile::open(const std::string& path) {
  Mapping mapping = TRY(map_file(path));
  std::vector<TensorEntry> entries =
      TRY(read_tensor_layout(mapping.bytes()).within("tensor file '" + path + "'"));
  auto state = std::make_unique<State>(State{std::move(mapping), {}, {}});
  for (TensorEntry& entry : entries) {
    const TensorRef tensor{std::move(entry.type), state->mapping.bytes().data() + entry.begin};
    state->names.push_back(entry.name);
    state->tensors.emplace(std::move(entry.name), tensor);
  }
  return TensorFile(std::move(state));
}

const std::vector<std::string>& TensorFile::names() const { return state_->names; }

const TensorRef* TensorFile::find(std::string_view name) const {
  const auto found = state_->tensors.find(name);
  return found == state_->tensors.end() ? nullptr : &found->second;
}

std::string TensorFile::content_hash() const {
  Hasher hasher;
  for (const auto& [name, tensor] : state_->tensors) {
    // Lengths first, so that no two contents feed the same bytes.
    const std::array<std::uint64_t, 2> sizes = {name.size(), tensor.type.shape.size()};
    hasher.update(std::as_bytes(std::span(sizes)));
    hasher.update(name);
    hasher.update(tensor_format_name(tensor.type.dtype));
    hasher.update(" ");
    hasher.update(std::as_bytes(std::span(tensor.type.shape)));
    hasher.update(std::span(tensor.data, tensor.type.bytes()));
  }
  return hasher.hex();
}

}  // namespace gradstone
