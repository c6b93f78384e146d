// SPDX-License-Identifier: Apache-2.0
// Functions written out where they are called: those of the file, and ONNX's own definitions of
// operators.
#include <onnx/defs/function.h>
#include <onnx/defs/schema.h>

#include "graph/onnx_dtype.h"
#include "onnx/importer.h"
#include "onnx/newer_fields.h"
#include "onnx/tensors.h"

namespace gradstone::onnx_io {
namespace {

// Deeper than exporters nest modules; a function that calls itself is stopped here.
constexpr int kMostDepth = 64;

onnx::AttributeProto attribute_proto(const std::string& name, const FileAttribute& value) {
  onnx::AttributeProto proto;
  if (const auto* v = std::get_if<std::int64_t>(&value)) proto = onnx::MakeAttribute(name, *v);
  if (const auto* v = std::get_if<double>(&value)) {
    proto = onnx::MakeAttribute(name, static_cast<float>(*v));
  }
  if (const auto* v = std::get_if<std::string>(&value)) proto = onnx::MakeAttribute(name, *v);
  if (const auto* v = std::get_if<std::vector<std::int64_t>>(&value)) {
    proto = onnx::MakeAttribute(name, *v);
  }
  if (const auto* v = std::get_if<std::vector<double>>(&value)) {
    proto = onnx::MakeAttribute(name, std::vector<float>(v->begin(), v->end()));
  }
  if (const auto* v = std::get_if<std::vector<std::string>>(&value)) {
    proto = onnx::MakeAttribute(name, *v);
  }
  if (const auto* v = std::get_if<Tensor>(&value)) {
    proto = onnx::MakeAttribute(name, tensor_to_proto("", v->ref()));
  }
  return proto;
}

onnx::TypeProto type_proto(const TensorType& type) {
  onnx::TypeProto proto;
  proto.mutable_tensor_type()->set_elem_type(static_cast<std::int32_t>(onnx_code(type.dtype)));
  onnx::TensorShapeProto* shape = proto.mutable_tensor_type()->mutable_shape();
  for (const std::int64_t extent : type.shape) shape->add_dim()->set_dim_value(extent);
  return proto;
}

// The node as ONNX's library wants to see it.
onnx::NodeProto node_proto(const FileNode& node) {
  onnx::NodeProto proto;
  proto.set_op_type(node.op);
  proto.set_domain(node.domain);
  for (const std::string& input : node.inputs) proto.add_input(input);
  for (const std::string& output : node.outputs) proto.add_output(output);
  for (const auto& [name, value] : node.attributes) {
    *proto.add_attribute() = attribute_proto(name, value);
  }
  return proto;
}

// False where ONNX has no definition, or none for these types.
bool definition_of(const onnx::OpSchema& schema, const FileNode& node, const Assembler& assembler,
                   onnx::FunctionProto& function) {
  if (schema.HasFunction()) {
    function = *schema.GetFunction();
    return true;
  }
  if (!schema.HasContextDependentFunction()) return false;
  std::vector<onnx::TypeProto> types;
  for (const std::string& input : node.inputs) {
    types.push_back(input.empty() ? onnx::TypeProto() : type_proto(assembler.type_of(input)));
  }
  const onnx::NodeProto proto = node_proto(node);
  try {
    const onnx::FunctionBodyBuildContextImpl context(proto, types);
    return schema.BuildContextDependentFunction(context, function);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

const onnx::FunctionProto* Importer::local_function(const onnx::NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(key_of(node));
  return found == functions_.end() ? nullptr : found->second;
}

Result<Importer::Names> Importer::call(const onnx::FunctionProto& function, const FileNode& node) {
  if (static_cast<int>(node.inputs.size()) > function.input_size()) {
    return unreadable("has " + std::to_string(node.inputs.size()) + " inputs, the function " +
                      std::to_string(function.input_size()));
  }
  FileAttributes attributes = node.attributes;
  for (const onnx::AttributeProto& proto : attribute_defaults(function)) {
    if (attributes.count(proto.name()) > 0) continue;
    FileAttribute value = TRY(attribute_from_proto(proto, external_));
    attributes.emplace(proto.name(), std::move(value));
  }
  Opsets opsets = file_.opsets;
  for (const auto& [domain, version] : opsets_of(function.opset_import())) opsets[domain] = version;
  Scope scope;
  scope.prefix = node.name + "/";
  scope.opsets = &opsets;
  scope.attributes = &attributes;
  for (int i = 0; i < function.input_size(); ++i) {
    const auto place = static_cast<std::size_t>(i);
    const bool given = place < node.inputs.size();
    TRY(define(scope, function.input(i), given ? node.inputs[place] : std::string()));
  }
  if (depth_ >= kMostDepth)
    return unreadable("functions are nested too deeply, or call themselves");
  ++depth_;
  const Status walked = walk(function.node(), scope);
  --depth_;
  TRY(walked);
  Names outputs;
  for (const std::string& output : function.output()) {
    const std::string* value = scope.find(output);
    outputs.push_back(value == nullptr ? "" : *value);
  }
  return outputs;
}

Result<std::optional<Importer::Names>> Importer::call_definition(const FileNode& node) {
  const onnx::OpSchema* schema =
      onnx::OpSchemaRegistry::Schema(node.op, static_cast<int>(kOurOpset), node.domain);
  onnx::FunctionProto function;
  if (schema == nullptr || !definition_of(*schema, node, assembler_, function)) {
    return std::optional<Names>();
  }
  FileNode call_node = node;
  for (const auto& [name, attribute] : schema->attributes()) {
    if (node.attributes.count(name) > 0 || attribute.default_value.name().empty()) continue;
    Result<FileAttribute> value = attribute_from_proto(attribute.default_value, external_);
    if (value.ok()) call_node.attributes.emplace(name, std::move(*value));
  }
  Names outputs = TRY(call(function, call_node));
  return std::optional<Names>(std::move(outputs));
}

}  // namespace gradstone::onnx_io
