// SPDX-License-Identifier: Apache-2.0
// Attributes of a node as the file has them: references to a function's attributes resolved, kinds
// told apart. Not yet those of the operator table: see upgrade.h.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "onnx/external_data.h"

namespace gradstone::onnx_io {

// A graph in an attribute belongs to the model's message.
using FileAttribute =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                 std::vector<std::string>, Tensor, const onnx::GraphProto*>;
using FileAttributes = std::map<std::string, FileAttribute>;

// `outer` are those of the call of the function that the node stands in: an attribute that refers to
// one which is not given is left out.
Result<FileAttributes> attributes_of(const onnx::NodeProto& node, const FileAttributes& outer,
                                     ExternalData& external);
Result<FileAttribute> attribute_from_proto(const onnx::AttributeProto& proto,
                                           ExternalData& external);

// A float32 of the file as the number that was written there in decimal: 1e-5 and not
// 9.99999974738e-06. It rounds to the same float32, and float64 runs get what was meant.
double as_written(float number);

// With a default; an error where the attribute is of another kind.
Result<std::int64_t> integer_or(const FileAttributes& attributes, const std::string& name,
                                std::int64_t fallback);
Result<double> number_or(const FileAttributes& attributes, const std::string& name,
                         double fallback);
Result<std::string> text_or(const FileAttributes& attributes, const std::string& name,
                            const std::string& fallback);
Result<std::vector<std::int64_t>> integers_or(const FileAttributes& attributes,
                                              const std::string& name,
                                              const std::vector<std::int64_t>& fallback);

}  // namespace gradstone::onnx_io
