// SPDX-License-Identifier: Apache-2.0
#include "onnx/model_interface.h"

#include <onnx/onnx_pb.h>

#include <exception>
#include <set>

#include "base/files.h"
#include "onnx/model_file.h"

namespace gradstone {
namespace {

std::string foreign_kind(const onnx::TypeProto& type) {
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType:
      return "";
    case onnx::TypeProto::kSequenceType:
      return "sequence";
    case onnx::TypeProto::kMapType:
      return "map";
    case onnx::TypeProto::kOptionalType:
      return "optional value";
    case onnx::TypeProto::kSparseTensorType:
      return "sparse tensor";
    default:
      return "value of no known kind";
  }
}

ModelInterface interface_of(const onnx::GraphProto& graph) {
  ModelInterface interface;
  std::set<std::string> given, operators;
  for (const onnx::TensorProto& initializer : graph.initializer()) given.insert(initializer.name());
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (given.count(input.name()) > 0) continue;
    interface.inputs.push_back({input.name(), foreign_kind(input.type())});
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    interface.outputs.push_back({output.name(), foreign_kind(output.type())});
  }
  for (const onnx::NodeProto& node : graph.node()) operators.insert(node.op_type());
  interface.operators.assign(operators.begin(), operators.end());
  return interface;
}

}  // namespace

Result<ModelInterface> read_model_interface(const std::string& path) {
  const std::string bytes = TRY(read_file(path));
  try {
    const onnx_io::ModelFile file = TRY(onnx_io::parse_model(bytes).within("model '" + path + "'"));
    return interface_of(file.proto.graph());
  } catch (const std::exception& exception) {
    return unreadable("model '" + path + "': " + exception.what());
  }
}

}  // namespace gradstone
