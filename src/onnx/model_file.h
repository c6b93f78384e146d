// SPDX-License-Identifier: Apache-2.0
// The bytes of a model as protobuf's message, and what holds for the whole file. Looks at no node.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gradstone::onnx_io {

// Opset version by domain; ONNX's own domain is "".
using Opsets = std::map<std::string, std::int64_t, std::less<>>;

struct ModelFile {
  onnx::ModelProto proto;
  Opsets opsets;
};

// Refuses what is too large for protobuf, is no ModelProto, has no graph or no opset of ONNX's own
// domain, or one that is not known here.
Result<ModelFile> parse_model(std::string_view bytes);

// "ai.onnx" is another name of ONNX's own domain.
std::string plain_domain(std::string_view domain);
Opsets opsets_of(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports);

inline constexpr std::int64_t kOurOpset = 17;  // what graphs mean
inline constexpr std::int64_t kNewestOpset = 23;

}  // namespace gradstone::onnx_io
