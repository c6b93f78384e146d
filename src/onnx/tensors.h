// SPDX-License-Identifier: Apache-2.0
// TensorProto from and to tensors of ours. Sizes that a file states are checked against the bytes
// that it holds before anything is allocated.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <string_view>

#include "graph/tensor.h"
#include "onnx/external_data.h"

namespace gradstone::onnx_io {

// Unsupported for an element type that graphs do not have.
Result<DType> dtype_from_proto(std::int64_t code);
Result<Tensor> tensor_from_proto(const onnx::TensorProto& proto, ExternalData& external);

onnx::TensorProto tensor_to_proto(std::string_view name, const TensorRef& tensor);
// The same without its elements, which lie in a file.
onnx::TensorProto external_tensor_proto(std::string_view name, const TensorType& type,
                                        std::string_view location, std::uint64_t offset);

}  // namespace gradstone::onnx_io
