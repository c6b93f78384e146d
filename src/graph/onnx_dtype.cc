// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_dtype.h"

#include <array>

namespace gradstone {
namespace {

constexpr std::array<std::int64_t, 7> kCodes = {1, 11, 3, 6, 7, 2, 9};  // in the order of DType

}  // namespace

std::int64_t onnx_code(DType dtype) { return kCodes[static_cast<std::size_t>(dtype)]; }

std::optional<DType> dtype_from_onnx_code(std::int64_t code) {
  for (std::size_t i = 0; i < kCodes.size(); ++i) {
    if (kCodes[i] == code) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace gradstone
