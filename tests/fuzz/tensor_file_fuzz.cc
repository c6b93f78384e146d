// SPDX-License-Identifier: Apache-2.0
// Tensor files from memory: whatever the bytes, an error, or tensors that lie in them side by side.
#include <cstdint>

#include "protocol/tensor_layout.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradstone;
  const auto layout = read_tensor_layout(std::as_bytes(std::span(data, size)));
  if (!layout.ok()) return 0;
  std::size_t end = layout->empty() ? 0 : layout->front().begin;
  std::vector<std::pair<std::string, TensorType>> types;
  for (const TensorEntry& entry : *layout) {
    CHECK(entry.begin == end, "a gap or an overlap");
    CHECK(entry.end - entry.begin == entry.type.bytes(), "a tensor of another size");
    CHECK(entry.begin % size_of(entry.type.dtype) == 0, "a misaligned tensor");
    end = entry.end;
    types.emplace_back(entry.name, entry.type);
  }
  CHECK(layout->empty() || end == size, "bytes that belong to no tensor");
  if (size > 1 << 16) return 0;
  // Zeros are valid elements of every dtype.
  std::string written = write_tensor_header(types);
  for (const TensorEntry& entry : *layout) written += std::string(entry.type.bytes(), '\0');
  const auto again = read_tensor_layout(std::as_bytes(std::span(written)));
  CHECK(again.ok() && again->size() == layout->size(), "what was read cannot be written");
  return 0;
}
