// SPDX-License-Identifier: Apache-2.0
// Element types and the type of a tensor. Not for the elements themselves: see tensor.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradstone {

enum class DType : std::uint8_t { kFloat32, kFloat64, kInt8, kInt32, kInt64, kUInt8, kBool };

std::string_view name_of(DType dtype);  // "float32", "bool", ...
std::optional<DType> dtype_from_name(std::string_view name);
std::size_t size_of(DType dtype);  // bytes an element
inline bool is_floating(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kFloat64;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::kInt8;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::kInt32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::kInt64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::kUInt8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};

using Shape = std::vector<std::int64_t>;  // row-major; {} is a scalar

std::int64_t element_count(const Shape& shape);  // the largest int64 where it does not fit
std::string to_string(const Shape& shape);       // "[64, 1, 28, 28]"

struct TensorType {
  DType dtype = DType::kFloat32;
  Shape shape;

  std::int64_t elements() const { return element_count(shape); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype); }
  bool operator==(const TensorType&) const = default;
};
std::string to_string(const TensorType& type);  // "float32 [64, 1, 28, 28]"

}  // namespace gradstone
