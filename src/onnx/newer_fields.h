// SPDX-License-Identifier: Apache-2.0
// Fields of ONNX's messages that came after the ONNX that Debian has. Protobuf keeps them as bytes.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace gradstone::onnx_io {

// A function is known by its domain, its name and its overload (IR 10).
std::string key_of(const onnx::FunctionProto& function);
std::string key_of(const onnx::NodeProto& call);

// Attributes of a function with their defaults (IR 9). Damaged ones are left out.
std::vector<onnx::AttributeProto> attribute_defaults(const onnx::FunctionProto& function);

}  // namespace gradstone::onnx_io
