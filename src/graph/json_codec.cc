// SPDX-License-Identifier: Apache-2.0
#include "graph/json_codec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/suggest.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

// Keys of attribute values, in the order of the variant Attribute.
constexpr std::array<std::string_view, 7> kKinds = {"int",    "float",   "string", "ints",
                                                    "floats", "strings", "graph"};

// ---- Writing ----

Json numbers_to_json(const std::vector<double>& numbers) {
  Json json = Json::array();
  for (const double number : numbers) json.push_back(encode_number(number));
  return json;
}

Json attribute_to_json(const Attribute& attribute) {
  Json value;
  if (const auto* number = std::get_if<double>(&attribute)) {
    value = encode_number(*number);
  } else if (const auto* numbers = std::get_if<std::vector<double>>(&attribute)) {
    value = numbers_to_json(*numbers);
  } else if (const auto* body = std::get_if<Subgraph>(&attribute)) {
    value = to_json(**body);
  } else {
    std::visit(
        [&](const auto& plain) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(plain)>, Subgraph>) value = plain;
        },
        attribute);
  }
  return {{std::string(kKinds[attribute.index()]), value}};
}

template <class T>
Json elements_to_json(const Tensor& tensor) {
  Json json = Json::array();
  for (const T element : tensor.as<T>()) {
    if constexpr (std::is_floating_point_v<T>) {
      json.push_back(encode_number(element));
    } else {
      json.push_back(element);
    }
  }
  return json;
}

Json values_to_json(const Tensor& tensor) {
  switch (tensor.type().dtype) {
    case DType::kFloat32:
      return elements_to_json<float>(tensor);
    case DType::kFloat64:
      return elements_to_json<double>(tensor);
    case DType::kInt8:
      return elements_to_json<std::int8_t>(tensor);
    case DType::kInt32:
      return elements_to_json<std::int32_t>(tensor);
    case DType::kInt64:
      return elements_to_json<std::int64_t>(tensor);
    case DType::kUInt8:
      return elements_to_json<std::uint8_t>(tensor);
    case DType::kBool:
      break;
  }
  return elements_to_json<bool>(tensor);
}

// An object that begins with a name and goes on with a type.
Json named_type(const std::string& name, const TensorType& type) {
  Json json = {{"name", name}};
  json.update(to_json(type));
  return json;
}

Json weight_to_json(const Weight& weight) {
  Json json = named_type(weight.name, weight.type);
  json["initializer"] = {{"distribution", std::string(name_of(weight.initializer.distribution))},
                         {"a", encode_number(weight.initializer.a)},
                         {"b", encode_number(weight.initializer.b)}};
  json["trainable"] = weight.trainable;
  return json;
}

Json constant_to_json(const Constant& constant) {
  Json json = named_type(constant.name, constant.value.type());
  json["values"] = values_to_json(constant.value);
  return json;
}

Json node_to_json(const Node& node) {
  Json attributes = Json::object();
  for (const auto& [name, value] : node.attributes) attributes[name] = attribute_to_json(value);
  Json json = {{"name", node.name}, {"op", node.op}};
  if (!node.domain.empty()) json["domain"] = node.domain;
  json["inputs"] = node.inputs;
  json["outputs"] = node.outputs;
  if (!attributes.empty()) json["attributes"] = attributes;
  return json;
}

template <class T, class Write>
Json list_to_json(const std::vector<T>& items, Write write) {
  Json json = Json::array();
  for (const T& item : items) json.push_back(write(item));
  return json;
}

// ---- Reading ----

// A misspelt key would otherwise be taken for an absent one.
Status expect_keys(const Json& json, const std::vector<std::string_view>& known) {
  if (!json.is_object()) return unreadable("expected an object");
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return unreadable("unknown key '" + key + "'" + did_you_mean(key, known));
    }
  }
  return {};
}

Result<TensorType> type_members(const Json& json) {
  const std::string dtype = TRY(string_member(json, "dtype"));
  const std::optional<DType> known = dtype_from_name(dtype);
  if (!known) return unreadable("key 'dtype': unknown element type '" + dtype + "'");
  TensorType type = {*known, TRY(integers_member(json, "shape"))};
  TRY(checked_element_count(type.shape));
  return type;
}

template <class T>
Result<T> element_from_json(const Json& json) {
  if constexpr (std::is_same_v<T, bool>) {
    if (json.is_boolean()) return json.get<bool>();
  } else if constexpr (std::is_floating_point_v<T>) {
    const double value = TRY(decode_number(json));
    if (!std::isfinite(value) || std::abs(value) <= std::numeric_limits<T>::max()) {
      return static_cast<T>(value);
    }
  } else if (json.is_number_unsigned()) {
    const auto value = json.get<std::uint64_t>();
    if (value <= std::uint64_t{std::numeric_limits<T>::max()}) return static_cast<T>(value);
  } else if (json.is_number_integer()) {
    const auto value = json.get<std::int64_t>();
    if (value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max()) {
      return static_cast<T>(value);
    }
  }
  return unreadable("element " + write_json(json) + " is no " +
                    std::string(name_of(DTypeOf<T>::value)));
}

// Allocates only after the text has been seen to hold as many values.
template <class T>
Result<Tensor> tensor_from_values(const TensorType& type, const Json& values) {
  Tensor tensor(type);
  const std::span<T> elements = tensor.as<T>();
  std::size_t i = 0;
  for (const Json& value : values) elements[i++] = TRY(element_from_json<T>(value));
  return tensor;
}

Result<Tensor> tensor_from_json(const Json& json) {
  const TensorType type = TRY(type_members(json));
  const Json values = TRY(member(json, "values"));
  if (!values.is_array()) return unreadable("key 'values': expected an array");
  if (static_cast<std::int64_t>(values.size()) != type.elements()) {
    return unreadable("has " + std::to_string(values.size()) + " values, the shape " +
                      to_string(type.shape) + " holds " + std::to_string(type.elements()));
  }
  switch (type.dtype) {
    case DType::kFloat32:
      return tensor_from_values<float>(type, values);
    case DType::kFloat64:
      return tensor_from_values<double>(type, values);
    case DType::kInt8:
      return tensor_from_values<std::int8_t>(type, values);
    case DType::kInt32:
      return tensor_from_values<std::int32_t>(type, values);
    case DType::kInt64:
      return tensor_from_values<std::int64_t>(type, values);
    case DType::kUInt8:
      return tensor_from_values<std::uint8_t>(type, values);
    case DType::kBool:
      break;
  }
  return tensor_from_values<bool>(type, values);
}

Result<GraphInput> input_from_json(const Json& json) {
  TRY(expect_keys(json, {"name", "dtype", "shape"}));
  GraphInput input;
  input.name = TRY(string_member(json, "name"));
  input.type = TRY(type_members(json));
  return input;
}

Result<Initializer> initializer_from_json(const Json& json) {
  TRY(expect_keys(json, {"distribution", "a", "b"}));
  const std::string name = TRY(string_member(json, "distribution"));
  const std::optional<Distribution> distribution = distribution_from_name(name);
  if (!distribution) return unreadable("unknown distribution '" + name + "'");
  return Initializer{*distribution, TRY(number_member(json, "a")), TRY(number_member(json, "b"))};
}

Result<Weight> weight_from_json(const Json& json) {
  TRY(expect_keys(json, {"name", "dtype", "shape", "initializer", "trainable"}));
  Weight weight;
  weight.name = TRY(string_member(json, "name"));
  weight.type = TRY(type_members(json));
  const Json initializer = TRY(member(json, "initializer"));
  weight.initializer = TRY(initializer_from_json(initializer).within("initializer"));
  weight.trainable = TRY(boolean_member(json, "trainable"));
  return weight;
}

Result<Constant> constant_from_json(const Json& json) {
  TRY(expect_keys(json, {"name", "dtype", "shape", "values"}));
  Constant constant;
  constant.name = TRY(string_member(json, "name"));
  constant.value = TRY(tensor_from_json(json));
  return constant;
}

Result<Graph> graph_members(const Json& json);

Result<Attribute> attribute_from_json(const Json& json) {
  if (!json.is_object() || json.size() != 1) {
    return unreadable("expected an object with one key, the kind");
  }
  const std::string kind = json.begin().key();
  if (kind == "int") return Attribute(TRY(integer_member(json, kind)));
  if (kind == "float") return Attribute(TRY(number_member(json, kind)));
  if (kind == "string") return Attribute(TRY(string_member(json, kind)));
  if (kind == "ints") return Attribute(TRY(integers_member(json, kind)));
  if (kind == "floats") return Attribute(TRY(numbers_member(json, kind)));
  if (kind == "strings") return Attribute(TRY(strings_member(json, kind)));
  if (kind == "graph") {
    Graph body = TRY(graph_members(json.begin().value()));
    return Attribute(std::make_shared<const Graph>(std::move(body)));
  }
  return unreadable("unknown kind '" + kind + "'" +
                    did_you_mean(kind, {kKinds.begin(), kKinds.end()}));
}

Result<Node> node_from_json(const Json& json) {
  TRY(expect_keys(json, {"name", "op", "domain", "inputs", "outputs", "attributes"}));
  Node node;
  node.name = TRY(string_member(json, "name"));
  node.op = TRY(string_member(json, "op"));
  if (json.contains("domain")) node.domain = TRY(string_member(json, "domain"));
  node.inputs = TRY(strings_member(json, "inputs"));
  node.outputs = TRY(strings_member(json, "outputs"));
  if (!json.contains("attributes")) return node;
  const Json attributes = TRY(member(json, "attributes"));
  if (!attributes.is_object()) return unreadable("key 'attributes': expected an object");
  for (const auto& [name, value] : attributes.items()) {
    node.attributes[name] = TRY(attribute_from_json(value).within("attribute '" + name + "'"));
  }
  return node;
}

Result<StateUpdate> state_update_from_json(const Json& json) {
  TRY(expect_keys(json, {"weight", "value"}));
  StateUpdate update;
  update.weight = TRY(string_member(json, "weight"));
  update.value = TRY(string_member(json, "value"));
  return update;
}

template <class T>
Status read_list(const Json& graph, const char* key, Result<T> (*read)(const Json&),
                 std::vector<T>& items) {
  const Json list = TRY(member(graph, key));
  if (!list.is_array()) {
    return unreadable("key '" + std::string(key) + "': expected an array");
  }
  for (const Json& item : list) {
    const std::string place = std::string(key) + "[" + std::to_string(items.size()) + "]";
    items.push_back(TRY(read(item).within(place)));
  }
  return {};
}

Result<Graph> graph_members(const Json& json) {
  TRY(expect_keys(json,
                  {"name", "inputs", "weights", "constants", "nodes", "outputs", "state_updates"}));
  Graph graph;
  graph.name = TRY(string_member(json, "name"));
  TRY(read_list(json, "inputs", input_from_json, graph.inputs));
  TRY(read_list(json, "weights", weight_from_json, graph.weights));
  TRY(read_list(json, "constants", constant_from_json, graph.constants));
  TRY(read_list(json, "nodes", node_from_json, graph.nodes));
  graph.outputs = TRY(strings_member(json, "outputs"));
  TRY(read_list(json, "state_updates", state_update_from_json, graph.state_updates));
  return graph;
}

}  // namespace

Json to_json(const TensorType& type) {
  return {{"dtype", std::string(name_of(type.dtype))}, {"shape", type.shape}};
}

Result<TensorType> tensor_type_from_json(const Json& json) {
  TRY(expect_keys(json, {"dtype", "shape"}));
  return type_members(json);
}

Json to_json(const Graph& graph) {
  Json json = {{"name", graph.name}};
  json["inputs"] = list_to_json(
      graph.inputs, [](const GraphInput& input) { return named_type(input.name, input.type); });
  json["weights"] = list_to_json(graph.weights, weight_to_json);
  json["constants"] = list_to_json(graph.constants, constant_to_json);
  json["nodes"] = list_to_json(graph.nodes, node_to_json);
  json["outputs"] = graph.outputs;
  json["state_updates"] = list_to_json(graph.state_updates, [](const StateUpdate& update) {
    return Json{{"weight", update.weight}, {"value", update.value}};
  });
  return json;
}

Result<Graph> graph_from_json(const Json& json) { return graph_members(json).within("graph"); }

}  // namespace gradstone
