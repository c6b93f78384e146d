// SPDX-License-Identifier: Apache-2.0
// Types of a model's inputs, with every extent known: from the file, or from the options.
#pragma once

#include <onnx/onnx_pb.h>

#include "onnx/onnx.h"

namespace gradstone::onnx_io {

Result<TensorType> input_type(const onnx::ValueInfoProto& input, const ImportOptions& options);

// What the options name must be there: inputs, and symbolic dimensions.
Status check_options(const onnx::GraphProto& graph, const ImportOptions& options);

}  // namespace gradstone::onnx_io
