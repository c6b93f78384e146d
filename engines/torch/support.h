// SPDX-License-Identifier: Apache-2.0
// Between Gradstone's types and ATen's: dtypes, borrowed and copied tensors, exceptions as errors.
#pragma once

#include <exception>
#include <string_view>

#include "base/result.h"
#include "engines/torch/aten.h"
#include "graph/tensor.h"

namespace gradstone::torch_engine {

at::ScalarType scalar_type(DType dtype);

// Pads as ATen takes them: last axis first, begin and end of each.
Shape aten_pads(const Shape& begin, const Shape& end);

// A tensor over somebody else's bytes; nothing is copied and nothing freed.
at::Tensor borrowed(const TensorRef& value);
// Copies all elements. A value of another dtype or element count than the sink's is `failed`.
Status copy_out(const at::Tensor& value, const TensorSink& sink);

// The first line of what the framework says; out of memory where it means that.
Error error_from(const std::exception& exception);

// Calls the framework and turns what it throws into an Error.
template <class Function>
Status guarded(Function&& function) {
  try {
    return function();
  } catch (const std::exception& exception) {
    return error_from(exception);
  }
}

}  // namespace gradstone::torch_engine
