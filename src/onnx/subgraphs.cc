// SPDX-License-Identifier: Apache-2.0
// Graphs in attributes that stay graphs. Ours see nothing around them, ONNX's do.
#include <set>

#include "onnx/importer.h"

namespace gradstone::onnx_io {
namespace {

// Deeper than protobuf lets messages nest.
constexpr int kMostDepth = 64;

// Names that the graph reads, its own and those of graphs inside it.
void collect_reads(const onnx::GraphProto& graph, int depth, std::set<std::string>& names) {
  if (depth > kMostDepth) return;
  for (const onnx::ValueInfoProto& output : graph.output()) names.insert(output.name());
  for (const onnx::NodeProto& node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_reads(attribute.g(), depth + 1, names);
    }
  }
}

}  // namespace

Status Importer::capture(const onnx::GraphProto& body, const Scope& outer, Importer& inner,
                         Scope& scope, Names& captured) {
  std::set<std::string> reads;
  collect_reads(body, 0, reads);
  for (const onnx::NodeProto& node : body.node()) {
    for (const std::string& output : node.output()) reads.erase(output);
  }
  std::map<std::string, std::string> known;  // values around it to values inside
  for (const std::string& name : reads) {
    const std::string* value = scope.values.count(name) > 0 ? nullptr : outer.find(name);
    if (value == nullptr || value->empty()) continue;
    const auto before = known.find(*value);
    if (before != known.end()) {
      TRY(inner.define(scope, name, before->second));
      continue;
    }
    const std::string own = inner.assembler_.reserve(name);
    if (const Tensor* constant = assembler_.constant(*value)) {
      inner.assembler_.add_constant(own, *constant);
    } else {
      inner.assembler_.add_input(own, assembler_.type_of(*value));
      captured.push_back(*value);
    }
    known.emplace(*value, own);
    TRY(inner.define(scope, name, own));
  }
  return {};
}

Result<Graph> Importer::subgraph(const onnx::GraphProto& body, const Scope& outer,
                                 const std::vector<TensorType>& inputs, Names& captured) {
  if (depth_ >= kMostDepth) return unreadable("graphs are nested too deeply");
  if (body.input_size() != static_cast<int>(inputs.size())) {
    return unreadable("it has " + std::to_string(body.input_size()) + " inputs; expected " +
                      std::to_string(inputs.size()));
  }
  Assembler assembler(body.name().empty() ? "body" : printable_name(body.name()));
  Importer inner(file_, options_, external_, assembler);
  inner.depth_ = depth_ + 1;
  inner.steps_ = steps_;
  Scope scope;
  scope.opsets = outer.opsets;
  scope.attributes = outer.attributes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = body.input(static_cast<int>(i)).name();
    const std::string own = assembler.reserve(name);
    assembler.add_input(own, inputs[i]);
    TRY(inner.define(scope, name, own));
  }
  TRY(inner.add_initializers(body, scope));
  TRY(capture(body, outer, inner, scope, captured));
  TRY(inner.walk(body.node(), scope));
  steps_ = inner.steps_;
  Roots roots;
  for (const onnx::ValueInfoProto& output : body.output()) {
    roots.outputs.push_back(TRY(inner.output_value(output.name(), scope)));
  }
  return std::move(assembler).finish(roots).graph;
}

}  // namespace gradstone::onnx_io
