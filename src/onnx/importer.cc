// SPDX-License-Identifier: Apache-2.0
#include "onnx/importer.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <set>

#include "base/suggest.h"
#include "graph/shape_rules.h"
#include "onnx/input_types.h"
#include "onnx/newer_fields.h"
#include "onnx/own_fields.h"
#include "onnx/tensors.h"

namespace gradstone::onnx_io {
namespace {

// A file of a few lines can call functions that call functions, or loop for ever.
constexpr std::int64_t kMostSteps = 500'000;

std::string node_label(const onnx::NodeProto& node) {
  if (!node.name().empty()) return printable_name(node.name());
  for (const std::string& output : node.output()) {
    if (!output.empty()) return printable_name(output);
  }
  return printable_name(node.op_type());
}

Attribute graph_attribute(const FileAttribute& value, bool& fits) {
  fits = true;
  if (const auto* v = std::get_if<std::int64_t>(&value)) return *v;
  if (const auto* v = std::get_if<double>(&value)) return *v;
  if (const auto* v = std::get_if<std::string>(&value)) return *v;
  if (const auto* v = std::get_if<std::vector<std::int64_t>>(&value)) return *v;
  if (const auto* v = std::get_if<std::vector<double>>(&value)) return *v;
  if (const auto* v = std::get_if<std::vector<std::string>>(&value)) return *v;
  fits = false;
  return std::int64_t{0};
}

// An empty list does not say what it is a list of.
void fit_empty_list(AttributeKind kind, Attribute& value) {
  const auto* ints = std::get_if<std::vector<std::int64_t>>(&value);
  if (ints == nullptr || !ints->empty()) return;
  if (kind == AttributeKind::kFloats) value = std::vector<double>();
  if (kind == AttributeKind::kStrings) value = std::vector<std::string>();
}

// Whether leaving the attribute out means the same, by ONNX's own table.
bool is_default(const FileNode& node, const std::string& name, const FileAttribute& value,
                ExternalData& external) {
  const onnx::OpSchema* schema =
      onnx::OpSchemaRegistry::Schema(node.op, static_cast<int>(kOurOpset), node.domain);
  if (schema == nullptr) return false;
  const auto known = schema->attributes().find(name);
  if (known == schema->attributes().end()) return false;
  const Result<FileAttribute> standard =
      attribute_from_proto(known->second.default_value, external);
  bool given_fits = false, standard_fits = false;
  const Attribute given = graph_attribute(value, given_fits);
  if (!standard.ok()) return false;
  const Attribute fallback = graph_attribute(*standard, standard_fits);
  return given_fits && standard_fits && given == fallback;
}

// What is said of an operator that neither graphs, nor the file, nor ONNX define.
Error unknown_operator(const FileNode& node) {
  std::vector<std::string_view> names;
  for (const OpDef& row : op_table()) {
    if (row.domain == node.domain) names.push_back(row.name);
  }
  const std::string where =
      node.domain.empty() ? "" : " of domain '" + printable_name(node.domain) + "'";
  return unsupported("there is no such operator" + where + " here" + did_you_mean(node.op, names) +
                     "; see `gradstone list operators`");
}

const AttributeDef* find_attribute(const OpDef& op, std::string_view name) {
  for (const AttributeDef& row : op.attributes) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// An attribute that we hid: of the table's kind, or a float64 as text.
void add_own_attribute(const AttributeDef* row, const FileAttribute& value,
                       std::map<std::string, Attribute>& attributes) {
  if (row == nullptr) return;  // somebody else's
  const std::string name(row->name);
  bool fits = false;
  Attribute own = graph_attribute(value, fits);
  const auto* text = std::get_if<std::string>(&own);
  const auto* texts = std::get_if<std::vector<std::string>>(&own);
  if (row->kind == AttributeKind::kFloat && text != nullptr) {
    if (const std::optional<double> number = number_of(*text)) attributes[name] = *number;
  } else if (row->kind == AttributeKind::kFloats && texts != nullptr) {
    std::vector<double> numbers;
    for (const std::string& each : *texts) numbers.push_back(number_of(each).value_or(0));
    attributes[name] = numbers;
  } else if (fits && own.index() == static_cast<std::size_t>(row->kind)) {
    attributes[name] = std::move(own);
  }
}

Result<std::map<std::string, Attribute>> graph_attributes(const FileNode& node, const OpDef& op,
                                                          ExternalData& external) {
  std::map<std::string, Attribute> attributes;
  for (const auto& [name, value] : node.attributes) {
    if (is_own_attribute(name)) continue;
    const AttributeDef* known = find_attribute(op, name);
    bool fits = false;
    Attribute own = graph_attribute(value, fits);
    if (known == nullptr) {
      if (is_default(node, name, value, external)) continue;
      std::vector<std::string_view> names;
      for (const AttributeDef& row : op.attributes) names.push_back(row.name);
      return unsupported("attribute '" + printable_name(name) + "' has no place in a graph" +
                         did_you_mean(name, names));
    }
    fit_empty_list(known->kind, own);
    if (!fits || own.index() != static_cast<std::size_t>(known->kind)) {
      return unreadable("attribute '" + name + "' is of the wrong kind");
    }
    attributes.emplace(name, std::move(own));
  }
  for (const auto& [name, value] : node.attributes) {
    if (!is_own_attribute(name)) continue;
    add_own_attribute(find_attribute(op, std::string_view(name).substr(2)), value, attributes);
  }
  return attributes;
}

}  // namespace

const std::string* Scope::find(const std::string& name) const {
  const auto found = values.find(name);
  if (found != values.end()) return &found->second;
  return outer == nullptr ? nullptr : outer->find(name);
}

Importer::Importer(const ModelFile& file, const ImportOptions& options, ExternalData& external,
                   Assembler& assembler)
    : file_(file), options_(options), external_(external), assembler_(assembler) {
  for (const onnx::FunctionProto& function : file.proto.functions()) {
    functions_.emplace(key_of(function), &function);
  }
}

Status Importer::define(Scope& scope, const std::string& name, const std::string& value) {
  if (scope.values.emplace(name, value).second) return {};
  return unreadable("the name '" + printable_name(name) + "' is taken by another value");
}

Status Importer::add_initializers(const onnx::GraphProto& graph, Scope& scope) {
  if (graph.sparse_initializer_size() > 0) {
    return unsupported("sparse initializers; save the model with dense ones");
  }
  for (const onnx::TensorProto& proto : graph.initializer()) {
    if (options_.bound.count(proto.name()) > 0 && scope.outer == nullptr) continue;
    const std::string place = "initializer " + printable_name(proto.name());
    Tensor value = TRY(tensor_from_proto(proto, external_).within(place));
    const std::string name = assembler_.reserve(scope.prefix + proto.name());
    TRY(define(scope, proto.name(), name).within(place));
    // What holds one number and no axis is a factor in the arithmetic, no parameter.
    const bool trains = is_floating(value.type().dtype) && !value.shape().empty() &&
                        value.type().elements() > 0 && scope.outer == nullptr;
    if (trains) {
      assembler_.add_weight(name, std::move(value));
    } else {
      assembler_.add_constant(name, std::move(value));
    }
  }
  return {};
}

Status Importer::add_input(const onnx::ValueInfoProto& input, Scope& scope) {
  if (scope.values.count(input.name()) > 0) return {};  // it has an initializer
  const std::string name = assembler_.reserve(input.name());
  const auto bound = options_.bound.find(input.name());
  if (bound != options_.bound.end()) {
    assembler_.add_constant(name, bound->second);
  } else {
    TensorType type = TRY(input_type(input, options_));
    assembler_.add_input(name, std::move(type));
  }
  return define(scope, input.name(), name);
}

Result<Roots> Importer::run() {
  const onnx::GraphProto& graph = file_.proto.graph();
  const FileAttributes none;
  Scope scope;
  scope.opsets = &file_.opsets;
  scope.attributes = &none;
  TRY(check_options(graph, options_));
  TRY(add_initializers(graph, scope));
  for (const onnx::ValueInfoProto& input : graph.input()) {
    TRY(add_input(input, scope).within("input " + printable_name(input.name())));
  }
  TRY(walk(graph.node(), scope));
  Roots roots;
  for (const onnx::ValueInfoProto& output : graph.output()) {
    const std::string place = "output " + printable_name(output.name());
    roots.outputs.push_back(TRY(output_value(output.name(), scope).within(place)));
  }
  if (roots.outputs.empty()) return unreadable("the graph has no outputs");
  add_own_fields(scope, roots);
  return roots;
}

// What we wrote into the file, as far as it still fits.
void Importer::add_own_fields(const Scope& scope, Roots& roots) const {
  const OwnFields own = read_own_fields(file_.proto);
  for (const std::string& name : own.states) {
    const std::string* state = scope.find(name);
    if (state != nullptr && assembler_.is_weight(*state)) roots.states.push_back(*state);
  }
  for (const StateUpdate& update : own.state_updates) {
    const std::string* weight = scope.find(update.weight);
    const std::string* value = scope.find(update.value);
    if (weight == nullptr || value == nullptr || !assembler_.is_weight(*weight)) continue;
    const bool is_state =
        std::find(roots.states.begin(), roots.states.end(), *weight) != roots.states.end();
    if (is_state && assembler_.type_of(*weight) == assembler_.type_of(*value)) {
      roots.state_updates.push_back({*weight, *value});
    }
  }
}

// An output is made by a node and has the file's name, whatever it was replaced by.
Result<std::string> Importer::output_value(const std::string& name, const Scope& scope) {
  const std::string* value = scope.find(name);
  if (value == nullptr) return unreadable("nothing makes it");
  if (*value == name && assembler_.is_computed(name)) return name;
  Node node;
  node.name = name;
  node.op = "Identity";
  node.inputs = {*value};
  node.outputs = {assembler_.reserve(name)};
  const std::string output = node.outputs[0];
  TRY(assembler_.append_node(std::move(node)));
  return output;
}

Status Importer::count_step() {
  if (++steps_ <= kMostSteps) return {};
  return unsupported("the model has more than " + std::to_string(kMostSteps) +
                     " nodes when its functions and loops are written out");
}

Status Importer::walk(const Nodes& nodes, Scope& scope) {
  for (const onnx::NodeProto& node : nodes) {
    TRY(count_step());
    // Inferring shapes ends with `(Conv): ...`; everything else gets the operator here.
    const Status status = walk_node(node, scope);
    if (status.ok()) continue;
    const Error& error = status.error();
    const std::string place = "node " + scope.prefix + node_label(node);
    if (error.message.front() == '(') return Error{error.kind, place + " " + error.message};
    return error.within(place + " (" + printable_name(node.op_type()) + ")");
  }
  return {};
}

Result<FileNode> Importer::file_node(const onnx::NodeProto& proto, const Scope& scope) {
  FileNode node;
  node.name = scope.prefix + node_label(proto);
  node.op = proto.op_type();
  node.domain = plain_domain(proto.domain());
  // Operators that ONNX has only in later opsets are written as ours.
  if (node.domain == kGradstoneDomain && find_op(node.domain, node.op) == nullptr) node.domain = "";
  for (const std::string& input : proto.input()) {
    const std::string* value = input.empty() ? nullptr : scope.find(input);
    if (!input.empty() && value == nullptr) {
      return unreadable("reads '" + printable_name(input) +
                        "', which nothing before it makes (no such value, a cycle, or nodes out "
                        "of order)");
    }
    node.inputs.push_back(input.empty() ? "" : *value);
  }
  node.attributes = TRY(attributes_of(proto, *scope.attributes, external_));
  return node;
}

Status Importer::walk_node(const onnx::NodeProto& proto, Scope& scope) {
  FileNode node = TRY(file_node(proto, scope));
  std::optional<Names> values = TRY(control_flow(node, scope));
  if (const onnx::FunctionProto* function = local_function(proto); function != nullptr) {
    values = TRY(call(*function, node));
  }
  if (!values) return place(proto, std::move(node), scope);
  if (proto.output_size() > static_cast<int>(values->size())) {
    return unreadable("has " + std::to_string(proto.output_size()) + " outputs, its body " +
                      std::to_string(values->size()));
  }
  for (int i = 0; i < proto.output_size(); ++i) {
    if (proto.output(i).empty()) continue;
    const std::string& value = (*values)[static_cast<std::size_t>(i)];
    if (value.empty()) return unreadable("output " + std::to_string(i) + " has no value");
    TRY(define(scope, proto.output(i), value));
  }
  return {};
}

// An operator: as the table has it, or by ONNX's definition.
Status Importer::place(const onnx::NodeProto& proto, FileNode node, Scope& scope) {
  for (const std::string& output : proto.output()) {
    if (output.empty()) {
      node.outputs.push_back("");
      continue;
    }
    const std::string name = assembler_.reserve(scope.prefix + output);
    TRY(define(scope, output, name));
    node.outputs.push_back(name);
  }
  const Names reserved = node.outputs;
  Rewriter rewriter(assembler_, node);
  const auto opset = scope.opsets->find("");
  if (node.domain.empty()) {
    TRY(upgrade(rewriter, opset == scope.opsets->end() ? kOurOpset : opset->second));
  }
  std::optional<Names> values;
  if (rewriter.replaced()) {
    values = rewriter.results();
  } else if (find_op(node.domain, node.op) == nullptr) {
    values = TRY(call_definition(node));
    if (!values) return unknown_operator(node);
  }
  if (!values) return append(std::move(node));
  for (std::size_t i = 0; i < reserved.size(); ++i) {
    if (reserved[i].empty()) continue;
    if (i >= values->size() || (*values)[i].empty()) {
      return unsupported("output " + std::to_string(i) + " is not made here");
    }
    if ((*values)[i] == reserved[i]) continue;
    assembler_.release(reserved[i]);
    scope.values[proto.output(static_cast<int>(i))] = (*values)[i];
  }
  return {};
}

Status Importer::append(FileNode node) {
  Node own;
  own.name = node.name;
  own.op = node.op;
  own.domain = node.domain;
  own.inputs = node.inputs;
  own.outputs = node.outputs;
  own.attributes = TRY(graph_attributes(node, *find_op(node.domain, node.op), external_));
  return assembler_.append(std::move(own));
}

}  // namespace gradstone::onnx_io
