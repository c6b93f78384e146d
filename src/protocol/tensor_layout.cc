// SPDX-License-Identifier: Apache-2.0
// Layout: https://github.com/huggingface/safetensors#format
#include "protocol/tensor_layout.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/json.h"

namespace gradstone {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they stand");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kAlignment = 64;  // of the first element in the file

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

Result<TensorEntry> entry_from_json(const std::string& name, const Json& json) {
  TensorEntry entry{.name = name};
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
Result<std::vector<TensorEntry>> read_entries(std::string_view header, std::size_t data_bytes) {
  const Json json = TRY(parse_json(header));
  if (!json.is_object()) return unreadable("expected an object of tensors");
  std::vector<TensorEntry> entries;
  for (const auto& [name, value] : json.items()) {
    if (name == kTensorMetadataKey) continue;
    entries.push_back(TRY(entry_from_json(name, value).within("tensor '" + name + "'")));
  }
  std::stable_sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::size_t covered = 0;
  for (const TensorEntry& entry : entries) {
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

// A bool that is neither 0 nor 1 is undefined behaviour to whoever reads it.
Status check_booleans(const TensorEntry& entry, std::span<const std::byte> file) {
  if (entry.type.dtype != DType::kBool) return {};
  for (std::size_t i = entry.begin; i < entry.end; ++i) {
    if (std::to_integer<int>(file[i]) > 1) {
      return unreadable("tensor '" + entry.name + "': element " + std::to_string(i - entry.begin) +
                        " is neither true nor false");
    }
  }
  return {};
}

}  // namespace

std::string_view tensor_format_name(DType dtype) {
  return kFormatNames[static_cast<std::size_t>(dtype)];
}

Result<std::vector<TensorEntry>> read_tensor_layout(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes) return unreadable("truncated: no header");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > file.size() - kLengthBytes) {
    return unreadable("truncated: a header of " + std::to_string(length) + " bytes in a file of " +
                      std::to_string(file.size()));
  }
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  const std::size_t start = kLengthBytes + length;
  if (start < file.size() && start % sizeof(std::int64_t) != 0) {
    return unreadable("misaligned: the elements begin at byte " + std::to_string(start));
  }
  std::vector<TensorEntry> entries = TRY(read_entries(header, file.size() - start));
  for (TensorEntry& entry : entries) {
    entry.begin += start;
    entry.end += start;
    TRY(check_booleans(entry, file));
  }
  return entries;
}

std::string write_tensor_header(const std::vector<std::pair<std::string, TensorType>>& tensors) {
  Json json = Json::object();
  std::size_t begin = 0;
  for (const auto& [name, type] : tensors) {
    json[name] = {{"dtype", tensor_format_name(type.dtype)},
                  {"shape", type.shape},
                  {"data_offsets", {begin, begin + type.bytes()}}};
    begin += type.bytes();
  }
  std::string header = write_json(json);
  while ((kLengthBytes + header.size()) % kAlignment != 0) header += ' ';
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), kLengthBytes) + header;
}

}  // namespace gradstone
