// SPDX-License-Identifier: Apache-2.0
// A graph that grows by nodes derived from one of its nodes: what gradient rules (gradients.h) and
// expansions (expansion.h) are written with. Values are named by strings, "" being an absent one.
// Every appended node is shape-checked at once; a node that does not fit is a bug in the rule.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/node_rules.h"

namespace gradstone {

using Attributes = std::map<std::string, Attribute>;

class NodeBuilder {
 public:
  NodeBuilder(const NodeBuilder&) = delete;  // constants are pointed to
  NodeBuilder& operator=(const NodeBuilder&) = delete;

  // The node whose rule is at work.
  const Node& node() const { return node_; }
  std::string input(std::size_t index) const;
  const TensorType& type_of(const std::string& value) const;
  const Shape& shape_of(const std::string& value) const { return type_of(value).shape; }
  NodeInputs node_inputs() const;                   // the node as shape rules see it
  const Tensor* constant(std::size_t index) const;  // nullptr: the input is no Constant

  // Appends one node with one output and returns its value. The operator is ONNX's, or else ours.
  std::string append(std::string_view label, std::string_view op, std::vector<std::string> inputs,
                     Attributes attributes = {});
  // The same with the first `outputs` outputs of the operator.
  std::vector<std::string> append_many(std::string_view label, std::string_view op,
                                       std::vector<std::string> inputs, std::size_t outputs,
                                       Attributes attributes = {});

  // Appends the nodes of `body` (an attribute that was checked) with its inputs replaced by the
  // given values of the same types; nodes are named `<label>/<body's node>`. Returns its outputs.
  std::vector<std::string> append_graph(std::string_view label, const Graph& body,
                                        const std::vector<std::string>& inputs);

  // Short forms. Operands broadcast; a form that would change nothing returns its operand.
  std::string add(const std::string& a, const std::string& b);
  std::string sub(const std::string& a, const std::string& b);
  std::string mul(const std::string& a, const std::string& b);
  std::string div(const std::string& a, const std::string& b);
  std::string neg(const std::string& a);
  std::string matmul(const std::string& a, const std::string& b);
  std::string scale(const std::string& a, double factor);
  std::string offset(const std::string& a, double summand);
  std::string sum(const std::string& a, const std::vector<std::int64_t>& axes, bool keep_axes);
  std::string mean(const std::string& a, const std::vector<std::int64_t>& axes);  // keeps axes
  std::string reshape(const std::string& a, const Shape& shape);
  std::string expand(const std::string& a, const Shape& shape);
  std::string sum_to(const std::string& a, const Shape& shape);
  std::string swap_last_axes(const std::string& a);
  // Elements begin[i], ..., end[i] - 1 of axis i.
  std::string slice(const std::string& a, const Shape& begin, const Shape& end);
  std::string cast(const std::string& a, DType dtype);

  // Constants: a scalar, and a vector of integers.
  std::string scalar(double value, DType dtype);
  std::string integers(const std::vector<std::int64_t>& values);
  std::string constant_value(const Tensor& value);

  const Graph& graph() const { return graph_; }  // without the added constants
  const std::deque<Constant>& added_constants() const { return added_constants_; }

 protected:
  // `types` is check_graph's answer for `graph`; appended nodes are named
  // `<prefix><node>/<label>`.
  NodeBuilder(Graph graph, ValueTypes types, std::string prefix);
  ~NodeBuilder() = default;

  std::vector<TensorType> output_types(const Node& node) const;  // all that the operator has
  void append_node(Node node);                                   // declares its outputs
  std::string place() const;                                     // of new nodes: `<prefix><node>/`
  std::string unique_name(const std::string& wish);
  void declare(const std::string& value, TensorType type);

  Graph graph_;
  Node node_;  // a copy: graph_.nodes grows

 private:
  std::string constant_named(const std::string& wish, Tensor value);

  std::string prefix_;
  ValueTypes types_;
  std::set<std::string> names_;             // of nodes and values
  std::map<std::string, int> last_number_;  // behind a wished name, to make it unique
  std::deque<Constant> added_constants_;    // a deque: constant_values_ points into it
  ConstantMap constant_values_;
  std::map<std::string, std::string> constants_;  // added ones by content, to share them
};

}  // namespace gradstone
