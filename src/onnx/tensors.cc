// SPDX-License-Identifier: Apache-2.0
#include "onnx/tensors.h"

#include <unistd.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/units.h"
#include "graph/onnx_dtype.h"
#include "graph/shape_rules.h"
#include "onnx/onnx.h"

namespace gradstone {
namespace onnx_io {
namespace {

static_assert(std::endian::native == std::endian::little, "ONNX stores raw data little-endian");

std::uint64_t physical_memory() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

struct Place {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

Result<Place> place_of(const onnx::TensorProto& proto) {
  Place place;
  for (const onnx::StringStringEntryProto& entry : proto.external_data()) {
    if (entry.key() == "location") {
      place.location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      const Result<std::uint64_t> number = parse_integer<std::uint64_t>(entry.value());
      if (!number.ok())
        return unreadable("external data: " + entry.key() + " " + number.error().message);
      if (entry.key() == "offset") place.offset = *number;
      if (entry.key() == "length") place.length = *number;
    }
  }
  return place;
}

// Elements that a file keeps in its narrowest form: a list of `Stored`, each one element.
template <class Element, class List>
Status read_list(const List& list, Tensor& tensor) {
  const std::span<Element> elements = tensor.as<Element>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] = static_cast<Element>(list[static_cast<int>(i)]);
  }
  return {};
}

// How many elements the typed list for this dtype has.
std::int64_t listed_elements(const onnx::TensorProto& proto, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return proto.float_data_size();
    case DType::kFloat64:
      return proto.double_data_size();
    case DType::kInt64:
      return proto.int64_data_size();
    default:
      return proto.int32_data_size();
  }
}

Status read_listed(const onnx::TensorProto& proto, Tensor& tensor) {
  switch (tensor.type().dtype) {
    case DType::kFloat32:
      return read_list<float>(proto.float_data(), tensor);
    case DType::kFloat64:
      return read_list<double>(proto.double_data(), tensor);
    case DType::kInt64:
      return read_list<std::int64_t>(proto.int64_data(), tensor);
    case DType::kInt32:
      return read_list<std::int32_t>(proto.int32_data(), tensor);
    case DType::kInt8:
      return read_list<std::int8_t>(proto.int32_data(), tensor);
    case DType::kUInt8:
      return read_list<std::uint8_t>(proto.int32_data(), tensor);
    case DType::kBool:
      return read_list<bool>(proto.int32_data(), tensor);
  }
  return {};
}

Result<Tensor> from_bytes(const TensorType& type, std::span<const std::byte> bytes) {
  if (bytes.size() != type.bytes()) {
    return unreadable(to_string(type) + " takes " + std::to_string(type.bytes()) +
                      " bytes, the file has " + std::to_string(bytes.size()));
  }
  Tensor tensor(type);
  if (type.dtype != DType::kBool) {
    if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
    return tensor;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) tensor.as<bool>()[i] = bytes[i] != std::byte{0};
  return tensor;
}

Result<Tensor> from_external(const onnx::TensorProto& proto, const TensorType& type,
                             ExternalData& external) {
  const Place place = TRY(place_of(proto));
  const std::uint64_t bytes = type.bytes();
  if (place.length && *place.length != bytes) {
    return unreadable("external data: length is " + std::to_string(*place.length) + ", but " +
                      to_string(type) + " takes " + std::to_string(bytes) + " bytes");
  }
  const std::span<const std::byte> found = TRY(external.bytes(place.location, place.offset, bytes));
  // A file with holes may be larger than what any machine can load.
  if (bytes > physical_memory()) {
    return unreadable(to_string(type) + " is larger than the memory of this machine");
  }
  return from_bytes(type, found);
}

// "FLOAT16" and so on, for messages.
std::string element_type_name(std::int64_t code) {
  const std::string name =
      code >= 0 && code <= 16
          ? onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(code))
          : "";
  return name.empty() ? "number " + std::to_string(code) : name;
}

// Extents of foreign origin, none negative and not too many elements.
Result<Shape> shape_from_dims(const google::protobuf::RepeatedField<std::int64_t>& dims) {
  Shape shape(dims.begin(), dims.end());
  if (shape.size() > 64)
    return unreadable("a tensor with " + std::to_string(shape.size()) + " axes");
  TRY(checked_element_count(shape));
  return shape;
}

}  // namespace

Result<DType> dtype_from_proto(std::int64_t code) {
  const std::optional<DType> dtype = dtype_from_onnx_code(code);
  if (dtype) return *dtype;
  return unsupported("element type " + element_type_name(code) +
                     "; graphs have float, double, int8, int32, int64, uint8 and bool: convert the "
                     "model to one of these");
}

Result<Tensor> tensor_from_proto(const onnx::TensorProto& proto, ExternalData& external) {
  const DType dtype = TRY(dtype_from_proto(proto.data_type()));
  const Shape shape = TRY(shape_from_dims(proto.dims()));
  const TensorType type = {dtype, shape};
  if (proto.has_segment()) return unsupported("a tensor in segments");
  if (proto.data_location() == onnx::TensorProto_DataLocation_EXTERNAL) {
    return from_external(proto, type, external);
  }
  if (proto.has_raw_data()) {
    const std::string& raw = proto.raw_data();
    return from_bytes(type, std::as_bytes(std::span(raw.data(), raw.size())));
  }
  const std::int64_t listed = listed_elements(proto, type.dtype);
  if (listed != type.elements()) {
    return unreadable(to_string(type) + " has " + std::to_string(type.elements()) +
                      " elements, the file has " + std::to_string(listed));
  }
  Tensor tensor(type);
  TRY(read_listed(proto, tensor));
  return tensor;
}

onnx::TensorProto tensor_to_proto(std::string_view name, const TensorRef& tensor) {
  onnx::TensorProto proto;
  proto.set_name(std::string(name));
  proto.set_data_type(static_cast<std::int32_t>(onnx_code(tensor.type.dtype)));
  for (const std::int64_t extent : tensor.type.shape) proto.add_dims(extent);
  proto.set_raw_data(tensor.data, tensor.type.bytes());
  return proto;
}

onnx::TensorProto external_tensor_proto(std::string_view name, const TensorType& type,
                                        std::string_view location, std::uint64_t offset) {
  onnx::TensorProto proto;
  proto.set_name(std::string(name));
  proto.set_data_type(static_cast<std::int32_t>(onnx_code(type.dtype)));
  for (const std::int64_t extent : type.shape) proto.add_dims(extent);
  proto.set_data_location(onnx::TensorProto_DataLocation_EXTERNAL);
  const auto add = [&](const char* key, const std::string& value) {
    onnx::StringStringEntryProto* entry = proto.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", std::string(location));
  add("offset", std::to_string(offset));
  add("length", std::to_string(type.bytes()));
  return proto;
}

}  // namespace onnx_io

Result<Tensor> read_tensor_proto(const std::string& path) {
  const std::string bytes = TRY(read_file(path));
  onnx::TensorProto proto;
  const std::string place = "tensor file '" + path + "'";
  if (!proto.ParseFromString(bytes)) return unreadable(place + ": not an ONNX tensor");
  onnx_io::ExternalData external(std::filesystem::path(path).parent_path().string());
  return onnx_io::tensor_from_proto(proto, external).within(place);
}

Status write_tensor_proto(const std::string& path, std::string_view name, const TensorRef& tensor) {
  return write_file_atomically(path, onnx_io::tensor_to_proto(name, tensor).SerializeAsString());
}

}  // namespace gradstone
