// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "graph/gradients.h"
#include "graph/op_table.h"

namespace gradstone {

GradientBuilder::GradientBuilder(Graph graph, ValueTypes types, std::set<std::string> active)
    : NodeBuilder(std::move(graph), std::move(types), "grad/"),
      forward_nodes_(this->graph().nodes.size()),
      active_(std::move(active)) {}

std::string GradientBuilder::output(std::size_t index) {
  if (node_.outputs.size() <= index) node_.outputs.resize(index + 1);
  std::string& name = node_.outputs[index];
  if (name.empty()) {
    name = unique_name(node_.name + "/output" + std::to_string(index));
    graph_.nodes[node_index_].outputs = node_.outputs;
    declare(name, output_types(node_)[index]);
  }
  return name;
}

std::string GradientBuilder::cotangent(std::size_t index) const {
  return index < node_.outputs.size() ? cotangent_of(node_.outputs[index]) : std::string();
}

bool GradientBuilder::wants(std::size_t index) const { return active_.count(input(index)) > 0; }

void GradientBuilder::give(std::size_t index, const std::string& value) {
  if (wants(index)) add_cotangent(input(index), value);
}

void GradientBuilder::add_cotangent(const std::string& value, const std::string& cotangent) {
  CHECK(type_of(cotangent) == type_of(value), "a cotangent differs in type from its value");
  std::string& sum = cotangents_[value];
  sum = sum.empty() ? cotangent : append("accumulate", "Add", {sum, cotangent});
}

std::string GradientBuilder::cotangent_of(const std::string& value) const {
  const auto found = cotangents_.find(value);
  return found == cotangents_.end() ? std::string() : found->second;
}

std::string GradientBuilder::add_input(const std::string& wish, const TensorType& type) {
  const std::string name = unique_name(wish);
  declare(name, type);
  graph_.inputs.push_back({name, type});
  return name;
}

Status GradientBuilder::differentiate_node(std::size_t index) {
  note_origins();
  node_index_ = index;
  node_ = graph_.nodes[index];
  const OpDef* row = find_op(node_.domain, node_.op);
  const std::string place = "node " + node_.name + " (" + node_.op + ")";
  if (!row->gradient) return unsupported(place + ": the operator has no gradient");
  const Status status = row->gradient(*this).within(place);
  note_origins();
  node_ = {};
  return status;
}

void GradientBuilder::note_origins() {
  origins_.resize(graph_.nodes.size() - forward_nodes_, node_.name);
}

const std::vector<std::string>& GradientBuilder::origins() {
  note_origins();
  return origins_;
}

std::vector<std::int64_t> axes_but_channels(std::size_t rank) {
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  axes.erase(axes.begin() + 1);
  return axes;
}

}  // namespace gradstone
