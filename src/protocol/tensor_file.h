// SPDX-License-Identifier: Apache-2.0
// Named tensors in one file that can be mapped: the safetensors layout (8 bytes little-endian
// header length, a JSON header, then the elements), so that saved weights open in other tools.
// Weights travel and are kept this way.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "graph/tensor.h"

namespace gradstone {

// Writes whole and atomically: a temporary file in the same folder, synced and renamed.
Status write_tensor_file(const std::string& path,
                         const std::vector<std::pair<std::string, TensorRef>>& tensors,
                         Durability durability = Durability::kSynced);

// A mapped file. Views live as long as this object.
class TensorFile {
 public:
  // Unreadable, with the place, for a truncated, overlapping or misaligned file.
  static Result<TensorFile> open(const std::string& path);
  TensorFile(TensorFile&&) noexcept;
  TensorFile& operator=(TensorFile&&) noexcept;
  ~TensorFile();

  const std::vector<std::string>& names() const;  // in file order
  const TensorRef* find(std::string_view name) const;
  // XXH3-128 over names, types and elements, as hex: the name under which weights are kept.
  std::string content_hash() const;

 private:
  struct State;
  explicit TensorFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gradstone
