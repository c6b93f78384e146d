// SPDX-License-Identifier: Apache-2.0
// Where tensors lie in the bytes of a tensor file. For tensor_file.h, tests and fuzzing; not for
// readers of weights.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "graph/tensor.h"

namespace gradstone {

// A key of the header that names no tensor.
inline constexpr std::string_view kTensorMetadataKey = "__metadata__";

struct TensorEntry {
  std::string name;
  TensorType type;
  std::size_t begin = 0, end = 0;  // bytes of the file
};

// All tensors in the order of their bytes. Unreadable unless they cover everything behind the header
// without gap or overlap, aligned, and every bool is 0 or 1.
Result<std::vector<TensorEntry>> read_tensor_layout(std::span<const std::byte> file);

// Length and header of a file that holds these tensors one behind the other, filled so that the
// first element is aligned to 64 bytes.
std::string write_tensor_header(const std::vector<std::pair<std::string, TensorType>>& tensors);

std::string_view tensor_format_name(DType dtype);  // "F32", "BOOL", ...

}  // namespace gradstone
