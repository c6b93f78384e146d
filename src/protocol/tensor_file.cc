// SPDX-License-Identifier: Apache-2.0
// Layout: https://github.com/huggingface/safetensors#format
#include "protocol/tensor_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"

namespace gradstone {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they stand");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kAlignment = 64;  // of the first element in the file
constexpr std::string_view kMetadataKey = "__metadata__";

// The format's names, in the order of DType.
constexpr std::array<std::string_view, 7> kFormatNames = {"F32", "F64", "I8",  "I32",
                                                          "I64", "U8",  "BOOL"};

std::optional<DType> dtype_from_format(std::string_view name) {
  const auto found = std::find(kFormatNames.begin(), kFormatNames.end(), name);
  if (found == kFormatNames.end()) return std::nullopt;
  return static_cast<DType>(found - kFormatNames.begin());
}

// Bytes of a tensor; nullopt for a negative extent or where they do not fit.
std::optional<std::size_t> checked_bytes(const TensorType& type) {
  std::size_t bytes = size_of(type.dtype);
  for (const std::int64_t extent : type.shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

struct Entry {
  std::string name;
  TensorType type;
  std::size_t begin = 0, end = 0;  // bytes behind the header
};

Result<Entry> entry_from_json(const std::string& name, const Json& json) {
  Entry entry{.name = name};
  const std::string dtype = TRY(string_member(json, "dtype"));
  const std::optional<DType> known = dtype_from_format(dtype);
  if (!known) return unreadable("dtype '" + dtype + "' is not one that Gradstone knows");
  entry.type = {*known, TRY(integers_member(json, "shape"))};
  const std::vector<std::int64_t> offsets = TRY(integers_member(json, "data_offsets"));
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0]) {
    return unreadable("key 'data_offsets': expected two growing numbers");
  }
  entry.begin = static_cast<std::size_t>(offsets[0]);
  entry.end = static_cast<std::size_t>(offsets[1]);
  const std::optional<std::size_t> bytes = checked_bytes(entry.type);
  if (!bytes || *bytes != entry.end - entry.begin) {
    return unreadable(to_string(entry.type) + " does not fill the bytes from " +
                      std::to_string(entry.begin) + " to " + std::to_string(entry.end));
  }
  if (entry.begin % size_of(entry.type.dtype) != 0) {
    return unreadable("byte " + std::to_string(entry.begin) + " is misaligned for " +
                      std::string(name_of(entry.type.dtype)));
  }
  return entry;
}

// The entries in the order of their bytes, which they must cover without gap or overlap.
Result<std::vector<Entry>> read_entries(std::string_view header, std::size_t data_bytes) {
  const Json json = TRY(parse_json(header));
  if (!json.is_object()) return unreadable("expected an object of tensors");
  std::vector<Entry> entries;
  for (const auto& [name, value] : json.items()) {
    if (name == kMetadataKey) continue;
    entries.push_back(TRY(entry_from_json(name, value).within("tensor '" + name + "'")));
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::size_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != covered) {
      return unreadable("tensor '" + entry.name + "' begins at byte " +
                        std::to_string(entry.begin) + ", the one before ends at " +
                        std::to_string(covered));
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    return unreadable("truncated or too long: the tensors take " + std::to_string(covered) +
                      " bytes, the file has " + std::to_string(data_bytes));
  }
  return entries;
}

std::string header_for(const std::vector<std::pair<std::string, TensorRef>>& tensors,
                       const std::vector<std::size_t>& order) {
  Json json = Json::object();
  std::size_t begin = 0;
  for (const std::size_t i : order) {
    const TensorType& type = tensors[i].second.type;
    json[tensors[i].first] = {{"dtype", kFormatNames[static_cast<std::size_t>(type.dtype)]},
                              {"shape", type.shape},
                              {"data_offsets", {begin, begin + type.bytes()}}};
    begin += type.bytes();
  }
  std::string header = write_json(json);
  while ((kLengthBytes + header.size()) % kAlignment != 0) header += ' ';
  return header;
}

Status check_names(const std::vector<std::pair<std::string, TensorRef>>& tensors) {
  std::vector<std::string_view> names;
  for (const auto& [name, tensor] : tensors) {
    if (name == kMetadataKey) return failed("a tensor must not be called " + name);
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
  const std::byte* data() const { return static_cast<const std::byte*>(bytes_); }
  std::size_t size() const { return size_; }

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
  if (size < kLengthBytes) return unreadable("tensor file '" + path + "': truncated: no header");
  void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (bytes == MAP_FAILED) return file_error("map", path);
  return Mapping(bytes, size);
}

// A bool that is neither 0 nor 1 is undefined behaviour to whoever reads it.
Status check_booleans(const std::string& name, const TensorRef& tensor) {
  if (tensor.type.dtype != DType::kBool) return {};
  for (std::size_t i = 0; i < tensor.type.bytes(); ++i) {
    if (std::to_integer<int>(tensor.data[i]) > 1) {
      return unreadable("tensor '" + name + "': element " + std::to_string(i) +
                        " is neither true nor false");
    }
  }
  return {};
}

}  // namespace

Status write_tensor_file(const std::string& path,
                         const std::vector<std::pair<std::string, TensorRef>>& tensors) {
  TRY(check_names(tensors).within("tensor file '" + path + "'"));
  // The format allows no gaps: with the widest elements first each tensor is aligned to its own.
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return size_of(tensors[a].second.type.dtype) > size_of(tensors[b].second.type.dtype);
  });

  const std::string header = header_for(tensors, order);
  const std::uint64_t length = header.size();
  AtomicFile file = TRY(AtomicFile::create(path));
  TRY(file.write(std::as_bytes(std::span(&length, 1))));
  TRY(file.write(header));
  for (const std::size_t i : order) {
    const TensorRef& tensor = tensors[i].second;
    TRY(file.write(std::span(tensor.data, tensor.type.bytes())));
  }
  return file.commit();
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
  const std::string place = "tensor file '" + path + "'";
  Mapping mapping = TRY(map_file(path));
  std::uint64_t length = 0;
  std::memcpy(&length, mapping.data(), kLengthBytes);
  if (length > mapping.size() - kLengthBytes) {
    return unreadable(place + ": truncated: a header of " + std::to_string(length) +
                      " bytes in a file of " + std::to_string(mapping.size()));
  }
  const std::string_view header(reinterpret_cast<const char*>(mapping.data()) + kLengthBytes,
                                length);
  const std::byte* data = mapping.data() + kLengthBytes + length;
  const std::size_t data_bytes = mapping.size() - kLengthBytes - length;
  if (data_bytes > 0 && (kLengthBytes + length) % sizeof(std::int64_t) != 0) {
    return unreadable(place + ": misaligned: the elements begin at byte " +
                      std::to_string(kLengthBytes + length));
  }
  std::vector<Entry> entries = TRY(read_entries(header, data_bytes).within(place));
  auto state = std::make_unique<State>(State{std::move(mapping), {}, {}});
  for (Entry& entry : entries) {
    const TensorRef tensor{std::move(entry.type), data + entry.begin};
    TRY(check_booleans(entry.name, tensor).within(place));
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
    hasher.update(kFormatNames[static_cast<std::size_t>(tensor.type.dtype)]);
    hasher.update(" ");
    hasher.update(std::as_bytes(std::span(tensor.type.shape)));
    hasher.update(std::span(tensor.data, tensor.type.bytes()));
  }
  return hasher.hex();
}

}  // namespace gradstone
