// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

namespace gradstone {
namespace {

template <class T>
const T* find_named(const std::vector<T>& items, std::string_view name) {
  for (const T& item : items) {
    if (item.name == name) return &item;
  }
  return nullptr;
}

template <class T>
T attribute_value(const Node& node, std::string_view name, T fallback) {
  const auto found = node.attributes.find(std::string(name));
  if (found == node.attributes.end()) return fallback;
  const T* value = std::get_if<T>(&found->second);
  CHECK(value != nullptr, "attribute read as another kind; check_graph comes first");
  return *value;
}

}  // namespace

const Weight* Graph::find_weight(std::string_view name) const { return find_named(weights, name); }
const GraphInput* Graph::find_input(std::string_view name) const {
  return find_named(inputs, name);
}
const Constant* Graph::find_constant(std::string_view name) const {
  return find_named(constants, name);
}

std::int64_t attribute_or(const Node& node, std::string_view name, std::int64_t fallback) {
  return attribute_value(node, name, fallback);
}
double attribute_or(const Node& node, std::string_view name, double fallback) {
  return attribute_value(node, name, fallback);
}
std::string attribute_or(const Node& node, std::string_view name, std::string_view fallback) {
  return attribute_value(node, name, std::string(fallback));
}
std::vector<std::int64_t> attribute_or(const Node& node, std::string_view name,
                                       std::vector<std::int64_t> fallback) {
  return attribute_value(node, name, std::move(fallback));
}
std::vector<double> attribute_or(const Node& node, std::string_view name,
                                 std::vector<double> fallback) {
  return attribute_value(node, name, std::move(fallback));
}
std::vector<std::string> attribute_or(const Node& node, std::string_view name,
                                      std::vector<std::string> fallback) {
  return attribute_value(node, name, std::move(fallback));
}
Subgraph subgraph_of(const Node& node, std::string_view name) {
  return attribute_value(node, name, Subgraph());
}

}  // namespace gradstone
