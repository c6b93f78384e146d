// SPDX-License-Identifier: Apache-2.0
#include "graph/tensor.h"

#include <cstring>
#include <new>

#include "graph/element_conversion.h"

namespace gradstone {
namespace {

constexpr std::align_val_t kAlignment{64};

// Calls `visit` with a null pointer of the element type.
template <class Visit>
decltype(auto) with_element_type(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kFloat32:
      return visit(static_cast<float*>(nullptr));
    case DType::kFloat64:
      return visit(static_cast<double*>(nullptr));
    case DType::kInt8:
      return visit(static_cast<std::int8_t*>(nullptr));
    case DType::kInt32:
      return visit(static_cast<std::int32_t*>(nullptr));
    case DType::kInt64:
      return visit(static_cast<std::int64_t*>(nullptr));
    case DType::kUInt8:
      return visit(static_cast<std::uint8_t*>(nullptr));
    case DType::kBool:
      break;
  }
  return visit(static_cast<bool*>(nullptr));
}

template <class From, class To>
void convert(std::span<const From> from, std::span<To> to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = converted_element<To>(from[i]);
}

}  // namespace

void Tensor::Release::operator()(std::byte* bytes) const { ::operator delete[](bytes, kAlignment); }

Tensor::Tensor(TensorType type) : type_(std::move(type)) {
  const std::size_t bytes = type_.bytes();
  data_.reset(static_cast<std::byte*>(::operator new[](bytes > 0 ? bytes : 1, kAlignment)));
  std::memset(data_.get(), 0, bytes);
}

Tensor::Tensor(const Tensor& other) { *this = other; }

Tensor& Tensor::operator=(const Tensor& other) {
  if (this == &other) return *this;
  if (!other.data_) {
    type_ = other.type_;
    data_.reset();
    return *this;
  }
  Tensor copy(other.type_);
  std::memcpy(copy.data(), other.data(), copy.type_.bytes());
  return *this = std::move(copy);
}

double element_as_double(const TensorRef& tensor, std::int64_t index) {
  return with_element_type(tensor.type.dtype, [&](auto* null) {
    using Element = std::remove_pointer_t<decltype(null)>;
    return static_cast<double>(tensor.as<Element>()[static_cast<std::size_t>(index)]);
  });
}

Tensor converted(const TensorRef& tensor, DType dtype) {
  Tensor result({dtype, tensor.type.shape});
  with_element_type(tensor.type.dtype, [&](auto* from_null) {
    with_element_type(dtype, [&](auto* to_null) {
      using From = std::remove_pointer_t<decltype(from_null)>;
      using To = std::remove_pointer_t<decltype(to_null)>;
      convert(tensor.as<From>(), result.as<To>());
    });
  });
  return result;
}

}  // namespace gradstone
