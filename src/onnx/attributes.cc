// SPDX-License-Identifier: Apache-2.0
#include "onnx/attributes.h"

#include <charconv>
#include <cmath>

#include "onnx/tensors.h"

namespace gradstone::onnx_io {
namespace {

// Files of the first IR versions leave the type out: then it is the field that is there.
onnx::AttributeProto_AttributeType type_of(const onnx::AttributeProto& proto) {
  if (proto.type() != onnx::AttributeProto_AttributeType_UNDEFINED) return proto.type();
  if (proto.has_i()) return onnx::AttributeProto_AttributeType_INT;
  if (proto.has_f()) return onnx::AttributeProto_AttributeType_FLOAT;
  if (proto.has_s()) return onnx::AttributeProto_AttributeType_STRING;
  if (proto.has_t()) return onnx::AttributeProto_AttributeType_TENSOR;
  if (proto.has_g()) return onnx::AttributeProto_AttributeType_GRAPH;
  if (proto.ints_size() > 0) return onnx::AttributeProto_AttributeType_INTS;
  if (proto.floats_size() > 0) return onnx::AttributeProto_AttributeType_FLOATS;
  if (proto.strings_size() > 0) return onnx::AttributeProto_AttributeType_STRINGS;
  return onnx::AttributeProto_AttributeType_UNDEFINED;
}

std::vector<double> all_as_written(const google::protobuf::RepeatedField<float>& numbers) {
  std::vector<double> list;
  for (const float number : numbers) list.push_back(as_written(number));
  return list;
}

template <class T>
Result<T> typed_or(const FileAttributes& attributes, const std::string& name, const T& fallback) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return fallback;
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  return unreadable("attribute '" + name + "' is of the wrong kind");
}

}  // namespace

double as_written(float number) {
  if (!std::isfinite(number)) return number;
  char text[64];
  const std::to_chars_result written = std::to_chars(text, text + sizeof text, number);
  double exact = number;
  std::from_chars(text, written.ptr, exact);
  return exact;
}

Result<FileAttribute> attribute_from_proto(const onnx::AttributeProto& proto,
                                           ExternalData& external) {
  switch (type_of(proto)) {
    case onnx::AttributeProto_AttributeType_INT:
      return FileAttribute(std::int64_t{proto.i()});
    case onnx::AttributeProto_AttributeType_FLOAT:
      return FileAttribute(as_written(proto.f()));
    case onnx::AttributeProto_AttributeType_STRING:
      return FileAttribute(proto.s());
    case onnx::AttributeProto_AttributeType_INTS:
      return FileAttribute(std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end()));
    case onnx::AttributeProto_AttributeType_FLOATS:
      return FileAttribute(all_as_written(proto.floats()));
    case onnx::AttributeProto_AttributeType_STRINGS:
      return FileAttribute(
          std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case onnx::AttributeProto_AttributeType_TENSOR: {
      Tensor tensor = TRY(tensor_from_proto(proto.t(), external));
      return FileAttribute(std::move(tensor));
    }
    case onnx::AttributeProto_AttributeType_GRAPH:
      return FileAttribute(&proto.g());
    default:
      return unsupported("its kind (" + onnx::AttributeProto_AttributeType_Name(proto.type()) +
                         ") has no place in a graph");
  }
}

Result<FileAttributes> attributes_of(const onnx::NodeProto& node, const FileAttributes& outer,
                                     ExternalData& external) {
  FileAttributes attributes;
  for (const onnx::AttributeProto& proto : node.attribute()) {
    const std::string place = "attribute '" + proto.name() + "'";
    if (attributes.count(proto.name()) > 0) return unreadable(place + " is given twice");
    if (!proto.ref_attr_name().empty()) {
      const auto given = outer.find(proto.ref_attr_name());
      if (given != outer.end()) attributes.emplace(proto.name(), given->second);
      continue;
    }
    FileAttribute attribute = TRY(attribute_from_proto(proto, external).within(place));
    attributes.emplace(proto.name(), std::move(attribute));
  }
  return attributes;
}

Result<std::int64_t> integer_or(const FileAttributes& attributes, const std::string& name,
                                std::int64_t fallback) {
  return typed_or(attributes, name, fallback);
}
Result<double> number_or(const FileAttributes& attributes, const std::string& name,
                         double fallback) {
  return typed_or(attributes, name, fallback);
}
Result<std::string> text_or(const FileAttributes& attributes, const std::string& name,
                            const std::string& fallback) {
  return typed_or(attributes, name, fallback);
}
Result<std::vector<std::int64_t>> integers_or(const FileAttributes& attributes,
                                              const std::string& name,
                                              const std::vector<std::int64_t>& fallback) {
  return typed_or(attributes, name, fallback);
}

}  // namespace gradstone::onnx_io
