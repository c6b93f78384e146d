// SPDX-License-Identifier: Apache-2.0
#include "conformance/forward_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "conformance/compare.h"

namespace gradstone {
namespace {

using Values = std::map<std::string, Tensor>;

double constant_or(const Graph& graph, const Node& node, std::size_t input, double fallback) {
  if (input >= node.inputs.size()) return fallback;
  const Constant* constant = graph.find_constant(node.inputs[input]);
  return constant == nullptr ? fallback : element_as_double(constant->value.ref(), 0);
}

double dropout_ratio(const Graph& graph, const Node& node) {
  return constant_or(graph, node, 1, 0.5);
}

bool drops(const Graph& graph, const Node& node) {
  return node.domain.empty() && node.op == "Dropout" && constant_or(graph, node, 2, 0) != 0 &&
         dropout_ratio(graph, node) > 0;
}

const Node* node_of(const Graph& graph, const std::string& value) {
  for (const Node& node : graph.nodes) {
    if (std::find(node.outputs.begin(), node.outputs.end(), value) != node.outputs.end()) {
      return &node;
    }
  }
  return nullptr;
}

// Values that depend on random numbers.
std::set<std::string> random_values(const Graph& graph) {
  std::set<std::string> random;
  for (const Node& node : graph.nodes) {
    const bool depends = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](const auto& name) { return random.count(name) > 0; });
    if (depends || drops(graph, node)) random.insert(node.outputs.begin(), node.outputs.end());
  }
  return random;
}

const Tensor* value_or_null(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

struct Dropped {
  const Tensor& x;
  const Tensor& y;
  const Tensor* mask;  // nullptr: not an output
  double ratio;
};

std::optional<std::string> wrong_dropout(const Dropped& dropped) {
  std::int64_t kept = 0, seen = 0;
  for (std::int64_t i = 0; i < dropped.y.type().elements(); ++i) {
    const double x = element_as_double(dropped.x.ref(), i),
                 y = element_as_double(dropped.y.ref(), i);
    const double scaled = x / (1 - dropped.ratio);
    const bool is_kept = y != 0;
    if (is_kept && std::abs(y - scaled) > 1e-6 * std::abs(scaled)) {
      return fmt::format("at {}: {:.9g} is neither 0 nor {:.9g}, the input scaled",
                         index_text(dropped.y.shape(), i), y, scaled);
    }
    if (x == 0) continue;
    ++seen;
    kept += is_kept;
    if (dropped.mask != nullptr && (element_as_double(dropped.mask->ref(), i) != 0) != is_kept) {
      return "the mask at " + index_text(dropped.y.shape(), i) + " says otherwise than the value";
    }
  }
  const double expected = static_cast<double>(seen) * (1 - dropped.ratio);
  const double deviation = std::sqrt(expected * dropped.ratio);
  if (std::abs(static_cast<double>(kept) - expected) <= 6 * deviation + 1) return std::nullopt;
  return fmt::format("{} of {} elements are kept with ratio {}", kept, seen, dropped.ratio);
}

// A training Dropout of what the data set feeds.
std::optional<std::string> wrong_dropout_node(const PreparedCase& prepared, const Node& node,
                                              const Values& values) {
  const Tensor* x = value_or_null(prepared.feeds, node.inputs[0]);
  const Tensor* y = value_or_null(values, node.outputs[0]);
  if (x == nullptr || y == nullptr || x->type() != y->type()) return std::nullopt;
  const Tensor* mask = node.outputs.size() > 1 ? value_or_null(values, node.outputs[1]) : nullptr;
  return wrong_dropout({*x, *y, mask, dropout_ratio(prepared.graph, node)});
}

// The expected rows, then rows of -1.
std::optional<std::string> wrong_selection(const Tensor& actual, const Tensor& expected) {
  const Shape &a = actual.shape(), &e = expected.shape();
  if (actual.type().dtype != expected.type().dtype || a.size() != 2 || e.size() != 2 ||
      a[1] != e[1] || a[0] < e[0]) {
    return "is " + to_string(actual.type()) + ", expected at least the rows of " +
           to_string(expected.type());
  }
  Tensor padded(actual.type());
  const auto target = padded.as<std::int64_t>();
  const auto rows = expected.as<std::int64_t>();
  std::fill(target.begin(), target.end(), -1);
  std::copy(rows.begin(), rows.end(), target.begin());
  return difference(actual.ref(), padded.ref(), {});
}

std::optional<std::string> wrong_output(const PreparedCase& prepared, const std::string& name,
                                        const Tensor& actual, const Tensor& expected) {
  const Node* node = node_of(prepared.graph, name);
  if (node != nullptr && node->op == "NonMaxSuppression" && node->domain.empty()) {
    return wrong_selection(actual, expected);
  }
  return difference(actual.ref(), expected.ref(),
                    data_tolerance(expected.type().dtype, prepared.name));
}

}  // namespace

bool draws_random_numbers(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return drops(graph, node); });
}

std::optional<std::string> wrong_outputs(const PreparedCase& prepared, const Values& values) {
  const Graph& graph = prepared.graph;
  if (graph.outputs.size() != prepared.expected.size()) {
    return fmt::format("the graph has {} outputs, the data set {}", graph.outputs.size(),
                       prepared.expected.size());
  }
  const std::set<std::string> random = random_values(graph);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string& name = graph.outputs[i];
    const Tensor* actual = value_or_null(values, name);
    if (actual == nullptr) return "output '" + name + "': no value came";
    const Tensor& expected = prepared.expected[i];
    std::optional<std::string> fault;
    if (random.count(name) == 0) {
      fault = wrong_output(prepared, name, *actual, expected);
    } else if (actual->type() != expected.type()) {
      fault = "is " + to_string(actual->type()) + ", expected " + to_string(expected.type());
    }
    if (fault) return "output '" + name + "': " + *fault;
  }
  for (const Node& node : graph.nodes) {
    if (!drops(graph, node)) continue;
    if (const auto fault = wrong_dropout_node(prepared, node, values)) {
      return "output '" + node.outputs[0] + "' of Dropout: " + *fault;
    }
  }
  return std::nullopt;
}

}  // namespace gradstone
