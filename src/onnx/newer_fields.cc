// SPDX-License-Identifier: Apache-2.0
#include "onnx/newer_fields.h"

#include <google/protobuf/unknown_field_set.h>

#include "onnx/model_file.h"

namespace gradstone::onnx_io {
namespace {

// Numbers in onnx.proto.
constexpr int kFunctionDefaults = 11;
constexpr int kFunctionOverload = 13;
constexpr int kNodeOverload = 8;

// The texts or messages of field `number`.
std::vector<std::string> field_contents(const google::protobuf::UnknownFieldSet& fields,
                                        int number) {
  using google::protobuf::UnknownField;
  std::vector<std::string> contents;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    if (field.number() == number && field.type() == UnknownField::TYPE_LENGTH_DELIMITED) {
      contents.push_back(field.length_delimited());
    }
  }
  return contents;
}

std::string first_or_empty(const std::vector<std::string>& contents) {
  return contents.empty() ? std::string() : contents.front();
}

std::string key(const std::string& domain, const std::string& name, const std::string& overload) {
  const std::string separator(1, '\0');
  return plain_domain(domain) + separator + name + separator + overload;
}

}  // namespace

std::string key_of(const onnx::FunctionProto& function) {
  return key(function.domain(), function.name(),
             first_or_empty(field_contents(function.unknown_fields(), kFunctionOverload)));
}

std::string key_of(const onnx::NodeProto& call) {
  return key(call.domain(), call.op_type(),
             first_or_empty(field_contents(call.unknown_fields(), kNodeOverload)));
}

std::vector<onnx::AttributeProto> attribute_defaults(const onnx::FunctionProto& function) {
  std::vector<onnx::AttributeProto> defaults;
  for (const std::string& bytes : field_contents(function.unknown_fields(), kFunctionDefaults)) {
    onnx::AttributeProto attribute;
    if (attribute.ParseFromString(bytes)) defaults.push_back(std::move(attribute));
  }
  return defaults;
}

}  // namespace gradstone::onnx_io
