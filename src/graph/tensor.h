// SPDX-License-Identifier: Apache-2.0
// Tensors in host memory: Tensor owns dense row-major elements, TensorRef and TensorSink look at
// somebody else's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.h"
#include "graph/dtype.h"

namespace gradstone {

// A read-only view. The bytes live as long as their owner says.
struct TensorRef {
  TensorType type;
  const std::byte* data = nullptr;

  template <class T>
  std::span<const T> as() const {
    CHECK(type.dtype == DTypeOf<T>::value, "tensor read as another dtype");
    return {reinterpret_cast<const T*>(data), static_cast<std::size_t>(type.elements())};
  }
};

// A place to write `type.bytes()` bytes to; nullptr means the value is not wanted.
struct TensorSink {
  TensorType type;
  std::byte* data = nullptr;
};

// Owns its elements, aligned to 64 bytes, zero at first. Copies are deep.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorType type);
  Tensor(const Tensor& other);
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor& other);
  Tensor& operator=(Tensor&&) noexcept = default;

  template <class T>
  static Tensor of(Shape shape, std::span<const T> values);
  template <class T>
  static Tensor scalar(T value) {
    return of<T>({}, std::span<const T>(&value, 1));
  }

  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  TensorRef ref() const { return {type_, data_.get()}; }
  TensorSink sink() { return {type_, data_.get()}; }

  template <class T>
  std::span<T> as() {
    CHECK(type_.dtype == DTypeOf<T>::value, "tensor read as another dtype");
    return {reinterpret_cast<T*>(data_.get()), static_cast<std::size_t>(type_.elements())};
  }
  template <class T>
  std::span<const T> as() const {
    return ref().as<T>();
  }

 private:
  struct Release {
    void operator()(std::byte* bytes) const;
  };
  TensorType type_;
  std::unique_ptr<std::byte[], Release> data_;
};

template <class T>
Tensor Tensor::of(Shape shape, std::span<const T> values) {
  Tensor tensor({DTypeOf<T>::value, std::move(shape)});
  CHECK(tensor.type().elements() == static_cast<std::int64_t>(values.size()),
        "element count differs from shape");
  std::span<T> target = tensor.as<T>();
  for (std::size_t i = 0; i < values.size(); ++i) target[i] = values[i];
  return tensor;
}

// Element `index` of any dtype as a double, and the whole tensor converted to another dtype.
double element_as_double(const TensorRef& tensor, std::int64_t index);
Tensor converted(const TensorRef& tensor, DType dtype);

}  // namespace gradstone
