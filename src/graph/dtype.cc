// SPDX-License-Identifier: Apache-2.0
#include "graph/dtype.h"

#include <array>
#include <limits>

namespace gradstone {
namespace {

struct DTypeRow {
  std::string_view name;
  std::size_t bytes;
};
// In the order of DType.
constexpr std::array<DTypeRow, 7> kDTypes = {{{"float32", 4},
                                              {"float64", 8},
                                              {"int8", 1},
                                              {"int32", 4},
                                              {"int64", 8},
                                              {"uint8", 1},
                                              {"bool", 1}}};

}  // namespace

std::string_view name_of(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::size_t size_of(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].bytes; }

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return count;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

std::string to_string(const TensorType& type) {
  return std::string(name_of(type.dtype)) + " " + to_string(type.shape);
}

}  // namespace gradstone
