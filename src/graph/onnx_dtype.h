// SPDX-License-Identifier: Apache-2.0
// ONNX's numbers for element types (TensorProto.DataType), as Cast's attribute `to` holds them.
#pragma once

#include "graph/dtype.h"

namespace gradstone {

std::int64_t onnx_code(DType dtype);  // kFloat32 is 1
std::optional<DType> dtype_from_onnx_code(std::int64_t code);

}  // namespace gradstone
