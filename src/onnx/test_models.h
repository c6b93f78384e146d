// SPDX-License-Identifier: Apache-2.0
// Small models in memory, for tests of the reader.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "graph/tensor.h"
#include "onnx/onnx.h"
#include "onnx/tensors.h"

namespace gradstone::onnx_io {

// Writes a model line by line; proto() for whatever else it should have.
class TestModel {
 public:
  explicit TestModel(std::int64_t opset = 17) {
    proto_.set_ir_version(8);
    proto_.set_producer_name("test");
    onnx::OperatorSetIdProto* import = proto_.add_opset_import();
    import->set_version(opset);
    graph()->set_name("net");
  }

  onnx::ModelProto& proto() { return proto_; }
  onnx::GraphProto* graph() { return proto_.mutable_graph(); }
  std::string bytes() const { return proto_.SerializeAsString(); }

  // Extents below 0 are dimensions without a name.
  TestModel& input(const std::string& name, const Shape& shape, std::int32_t type = 1) {
    set_type(*graph()->add_input(), name, shape, type);
    return *this;
  }
  TestModel& output(const std::string& name) {
    graph()->add_output()->set_name(name);
    return *this;
  }
  TestModel& initializer(const std::string& name, const Tensor& value) {
    *graph()->add_initializer() = tensor_to_proto(name, value.ref());
    return *this;
  }
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
    return add_node(*graph()->mutable_node(), op, inputs, outputs);
  }

  static onnx::NodeProto& add_node(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
                                   const std::string& op, const std::vector<std::string>& inputs,
                                   const std::vector<std::string>& outputs) {
    onnx::NodeProto* node = nodes.Add();
    node->set_op_type(op);
    node->set_name("node_" + outputs.at(0));
    for (const std::string& input : inputs) node->add_input(input);
    for (const std::string& output : outputs) node->add_output(output);
    return *node;
  }
  static void set_type(onnx::ValueInfoProto& value, const std::string& name, const Shape& shape,
                       std::int32_t type) {
    value.set_name(name);
    onnx::TypeProto_Tensor* tensor = value.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const std::int64_t extent : shape) {
      onnx::TensorShapeProto_Dimension* dim = tensor->mutable_shape()->add_dim();
      if (extent >= 0) dim->set_dim_value(extent);
    }
  }

 private:
  onnx::ModelProto proto_;
};

inline void set(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  onnx::AttributeProto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto_AttributeType_INT);
  attribute->set_i(value);
}
inline void set(onnx::NodeProto& node, const std::string& name, int value) {
  set(node, name, std::int64_t{value});
}
inline void set(onnx::NodeProto& node, const std::string& name, float value) {
  onnx::AttributeProto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto_AttributeType_FLOAT);
  attribute->set_f(value);
}
inline void set(onnx::NodeProto& node, const std::string& name, const char* value) {
  onnx::AttributeProto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto_AttributeType_STRING);
  attribute->set_s(value);
}
inline void set(onnx::NodeProto& node, const std::string& name,
                const std::vector<std::int64_t>& values) {
  onnx::AttributeProto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto_AttributeType_INTS);
  for (const std::int64_t value : values) attribute->add_ints(value);
}
inline void set_tensor(onnx::NodeProto& node, const std::string& name, const Tensor& value) {
  onnx::AttributeProto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto_AttributeType_TENSOR);
  *attribute->mutable_t() = tensor_to_proto("", value.ref());
}
inline onnx::GraphProto* set_graph(onnx::NodeProto& node, const std::string& name) {
  onnx::AttributeProto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto_AttributeType_GRAPH);
  return attribute->mutable_g();
}

inline Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(std::move(shape), std::span<const float>(values));
}
inline Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())},
                                  std::span<const std::int64_t>(values));
}

inline Result<ImportedModel> read(const TestModel& model, const ImportOptions& options = {}) {
  return import_onnx(model.bytes(), "", options);
}
// The error's text; "" where there is none.
inline std::string error_of(const Result<ImportedModel>& model) {
  return model.ok() ? std::string() : model.error().message;
}

}  // namespace gradstone::onnx_io
