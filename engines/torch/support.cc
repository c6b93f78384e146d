// SPDX-License-Identifier: Apache-2.0
#include "engines/torch/support.h"

#include <cstring>
#include <new>
#include <string>

namespace gradstone::torch_engine {

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return at::kFloat;
    case DType::kFloat64:
      return at::kDouble;
    case DType::kInt8:
      return at::kChar;
    case DType::kInt32:
      return at::kInt;
    case DType::kInt64:
      return at::kLong;
    case DType::kUInt8:
      return at::kByte;
    case DType::kBool:
      break;
  }
  return at::kBool;
}

Shape aten_pads(const Shape& begin, const Shape& end) {
  Shape pads;
  for (std::size_t i = begin.size(); i-- > 0;) {
    pads.push_back(begin[i]);
    pads.push_back(end[i]);
  }
  return pads;
}

at::Tensor borrowed(const TensorRef& value) {
  // ATen takes void*; the engine itself never writes to a feed.
  return at::from_blob(const_cast<std::byte*>(value.data), value.type.shape,
                       at::TensorOptions().dtype(scalar_type(value.type.dtype)));
}

Status copy_out(const at::Tensor& value, const TensorSink& sink) {
  if (value.scalar_type() != scalar_type(sink.type.dtype) ||
      value.numel() != sink.type.elements()) {
    return failed("fetched as " + to_string(sink.type) + ", but it is " +
                  std::string(c10::toString(value.scalar_type())) + " with " +
                  std::to_string(value.numel()) + " elements");
  }
  const at::Tensor dense = value.contiguous();
  if (sink.type.bytes() > 0) std::memcpy(sink.data, dense.data_ptr(), sink.type.bytes());
  return {};
}

Error error_from(const std::exception& exception) {
  const auto* own = dynamic_cast<const c10::Error*>(&exception);
  const std::string_view text = own != nullptr ? own->what_without_backtrace() : exception.what();
  const std::string line(text.substr(0, text.find('\n')));
  const bool out_of_memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
                             line.find("can't allocate memory") != std::string::npos ||
                             line.find("not enough memory") != std::string::npos ||
                             line.find("out of memory") != std::string::npos;
  return {out_of_memory ? ErrorKind::kOutOfMemory : ErrorKind::kFailed, line};
}

}  // namespace gradstone::torch_engine
