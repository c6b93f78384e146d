// SPDX-License-Identifier: Apache-2.0
#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>

#include "base/files.h"
#include "graph/onnx_dtype.h"
#include "graph/op_table.h"
#include "onnx/attributes.h"
#include "onnx/model_file.h"
#include "onnx/onnx.h"
#include "onnx/own_fields.h"
#include "onnx/tensors.h"

namespace gradstone {
namespace {

using onnx_io::as_written;

// Protobuf's messages end at 2 GiB; what is not weights needs room, too.
constexpr std::size_t kMostInside = std::size_t{3} << 29;
constexpr std::size_t kSmallWeight = 1024;
constexpr std::size_t kAlignment = 4096;  // so that others can map a weight

const onnx::OpSchema* schema_of(const Node& node) {
  return onnx::OpSchemaRegistry::Schema(node.op, static_cast<int>(onnx_io::kOurOpset), node.domain);
}

void set_type(onnx::ValueInfoProto& value, const std::string& name, const TensorType& type) {
  value.set_name(name);
  onnx::TypeProto_Tensor* tensor = value.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(static_cast<std::int32_t>(onnx_code(type.dtype)));
  onnx::TensorShapeProto* shape = tensor->mutable_shape();
  for (const std::int64_t extent : type.shape) shape->add_dim()->set_dim_value(extent);
}

void set_value(onnx::AttributeProto& proto, const Attribute& value) {
  if (const auto* v = std::get_if<std::int64_t>(&value)) {
    proto.set_type(onnx::AttributeProto_AttributeType_INT);
    proto.set_i(*v);
  } else if (const auto* v = std::get_if<double>(&value)) {
    proto.set_type(onnx::AttributeProto_AttributeType_FLOAT);
    proto.set_f(static_cast<float>(*v));
  } else if (const auto* v = std::get_if<std::string>(&value)) {
    proto.set_type(onnx::AttributeProto_AttributeType_STRING);
    proto.set_s(*v);
  } else if (const auto* v = std::get_if<std::vector<std::int64_t>>(&value)) {
    proto.set_type(onnx::AttributeProto_AttributeType_INTS);
    for (const std::int64_t item : *v) proto.add_ints(item);
  } else if (const auto* v = std::get_if<std::vector<double>>(&value)) {
    proto.set_type(onnx::AttributeProto_AttributeType_FLOATS);
    for (const double item : *v) proto.add_floats(static_cast<float>(item));
  } else if (const auto* v = std::get_if<std::vector<std::string>>(&value)) {
    proto.set_type(onnx::AttributeProto_AttributeType_STRINGS);
    for (const std::string& item : *v) proto.add_strings(item);
  }
}

// ONNX's attributes are float32: numbers that do not come back from one are written as text, too.
std::optional<Attribute> exact_text(const Attribute& value) {
  const auto lost = [](double number) { return as_written(static_cast<float>(number)) != number; };
  const auto* one = std::get_if<double>(&value);
  if (one != nullptr && lost(*one)) return onnx_io::exact_text(*one);
  const auto* many = std::get_if<std::vector<double>>(&value);
  if (many == nullptr || std::none_of(many->begin(), many->end(), lost)) return std::nullopt;
  std::vector<std::string> texts;
  for (const double number : *many) texts.push_back(onnx_io::exact_text(number));
  return texts;
}

void add_attribute(onnx::NodeProto& node, const std::string& name, const Attribute& value) {
  onnx::AttributeProto* proto = node.add_attribute();
  proto->set_name(name);
  set_value(*proto, value);
}

void add_node(onnx::GraphProto& graph, const Node& node) {
  onnx::NodeProto* proto = graph.add_node();
  const onnx::OpSchema* schema = schema_of(node);
  proto->set_name(node.name);
  proto->set_op_type(node.op);
  // What ONNX does not have under its own name has ours.
  proto->set_domain(schema == nullptr && node.domain.empty() ? std::string(kGradstoneDomain)
                                                             : node.domain);
  for (const std::string& input : node.inputs) proto->add_input(input);
  for (const std::string& output : node.outputs) proto->add_output(output);
  for (const auto& [name, value] : node.attributes) {
    const bool known = schema == nullptr || schema->attributes().count(name) > 0;
    add_attribute(*proto, known ? name : onnx_io::own_attribute(name), value);
    if (const std::optional<Attribute> text = exact_text(value)) {
      add_attribute(*proto, onnx_io::own_attribute(name), *text);
    }
  }
}

// Floating constants are Constant nodes, since a floating initializer is read as a weight.
void add_constant(onnx::GraphProto& graph, const Constant& constant) {
  onnx::TensorProto tensor = onnx_io::tensor_to_proto(constant.name, constant.value.ref());
  if (!is_floating(constant.value.type().dtype)) {
    *graph.add_initializer() = std::move(tensor);
    return;
  }
  onnx::NodeProto* node = graph.add_node();
  node->set_name(constant.name);
  node->set_op_type("Constant");
  node->add_output(constant.name);
  onnx::AttributeProto* value = node->add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto_AttributeType_TENSOR);
  *value->mutable_t() = std::move(tensor);
}

void add_opset(onnx::ModelProto& model, std::string_view domain, std::int64_t version) {
  onnx::OperatorSetIdProto* import = model.add_opset_import();
  import->set_domain(std::string(domain));
  import->set_version(version);
}

void add_opsets(onnx::ModelProto& model) {
  std::set<std::string> domains;
  for (const onnx::NodeProto& node : model.graph().node()) domains.insert(node.domain());
  domains.erase("");
  add_opset(model, "", onnx_io::kOurOpset);
  for (const std::string& domain : domains) add_opset(model, domain, 1);
}

// Everything but the weights.
onnx::ModelProto model_without_weights(const Graph& graph, const ValueTypes& types) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("gradstone");
  onnx::GraphProto& proto = *model.mutable_graph();
  proto.set_name(graph.name);
  for (const GraphInput& input : graph.inputs) set_type(*proto.add_input(), input.name, input.type);
  for (const std::string& output : graph.outputs) {
    set_type(*proto.add_output(), output, types.find(output)->second);
  }
  for (const Constant& constant : graph.constants) add_constant(proto, constant);
  for (const Node& node : graph.nodes) add_node(proto, node);
  add_opsets(model);
  onnx_io::write_own_fields(graph, model);
  return model;
}

Status check_weights(const Graph& graph, const std::map<std::string, Tensor>& weights) {
  for (const Weight& weight : graph.weights) {
    const auto value = weights.find(weight.name);
    if (value == weights.end()) return failed("weight '" + weight.name + "' has no value");
    if (value->second.type() != weight.type) {
      return failed("weight '" + weight.name + "' is " + to_string(weight.type) + ", its value " +
                    to_string(value->second.type()));
    }
  }
  return {};
}

// Weights into a file of their own beside the model.
Status add_weights_outside(const Graph& graph, const std::map<std::string, Tensor>& weights,
                           const std::string& path, onnx::GraphProto& proto) {
  AtomicFile file = TRY(AtomicFile::create(path));
  const std::string location = std::filesystem::path(path).filename().string();
  const std::vector<std::byte> padding(kAlignment);
  std::uint64_t offset = 0;
  for (const Weight& weight : graph.weights) {
    const Tensor& value = weights.at(weight.name);
    if (value.type().bytes() < kSmallWeight) {
      *proto.add_initializer() = onnx_io::tensor_to_proto(weight.name, value.ref());
      continue;
    }
    *proto.add_initializer() =
        onnx_io::external_tensor_proto(weight.name, value.type(), location, offset);
    TRY(file.write(std::span(value.data(), value.type().bytes())));
    const std::size_t rest = (kAlignment - value.type().bytes() % kAlignment) % kAlignment;
    TRY(file.write(std::span(padding).first(rest)));
    offset += value.type().bytes() + rest;
  }
  return file.commit();
}

// A model that ONNX's checker refuses is a bug of ours; better to say so than to hand it out.
Status check_model(const std::string& path) {
  try {
    onnx::checker::check_model(path);
  } catch (const std::exception& error) {
    return failed("'" + path + "' is refused by ONNX's checker: " + error.what());
  }
  return {};
}

}  // namespace

Status export_onnx(const Graph& graph, const std::map<std::string, Tensor>& weights,
                   const std::string& path, const ExportOptions& options) {
  const ValueTypes types = TRY(check_graph(graph));
  TRY(check_weights(graph, weights));
  std::size_t bytes = 0;
  for (const Weight& weight : graph.weights) bytes += weight.type.bytes();
  onnx::ModelProto model = model_without_weights(graph, types);
  if (bytes > kMostInside || options.external_weights) {
    TRY(add_weights_outside(graph, weights, path + ".data", *model.mutable_graph()));
  } else {
    for (const Weight& weight : graph.weights) {
      *model.mutable_graph()->add_initializer() =
          onnx_io::tensor_to_proto(weight.name, weights.at(weight.name).ref());
    }
  }
  if (model.ByteSizeLong() > std::numeric_limits<std::int32_t>::max()) {
    return unsupported("the constants of workload " + graph.name + " take more than 2 GiB");
  }
  TRY(write_file_atomically(path, model.SerializeAsString()));
  return check_model(path);
}

}  // namespace gradstone
