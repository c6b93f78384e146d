// SPDX-License-Identifier: Apache-2.0
// One rule an operator: given the cotangents of a node's outputs, append the nodes that compute
// those of its inputs. Rules are named in the operator table; differentiate.h walks the graph.
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

// A graph that grows by backward nodes, and the forward node whose rule is at work. Values are
// named by strings, "" being an absent one. Every appended node is shape-checked at once; a node
// that does not fit is a bug in the rule. Backward nodes are named `grad/<forward node>/<label>`.
class GradientBuilder {
 public:
  // `types` is check_graph's answer for `graph`; cotangents are wanted for values in `active`.
  GradientBuilder(Graph graph, ValueTypes types, std::set<std::string> active);
  GradientBuilder(const GradientBuilder&) = delete;  // constants are pointed to
  GradientBuilder& operator=(const GradientBuilder&) = delete;

  // What a rule reads. `output(i)` of an output that the node leaves out gives it a name.
  const Node& node() const { return node_; }
  std::string input(std::size_t index) const;
  std::string output(std::size_t index);
  const TensorType& type_of(const std::string& value) const;
  const Shape& shape_of(const std::string& value) const { return type_of(value).shape; }
  NodeInputs node_inputs() const;                   // the node as shape rules see it
  const Tensor* constant(std::size_t index) const;  // nullptr: the input is no Constant
  // Cotangent of output `index`; "" if nothing that is differentiated depends on it.
  std::string cotangent(std::size_t index = 0) const;
  bool wants(std::size_t index) const;  // input `index` needs a cotangent

  // Adds `value` to the cotangent of input `index`, whose type it has. Ignored if not wanted.
  void give(std::size_t index, const std::string& value);

  // Appends one node with one output and returns its value. The operator is ONNX's, or else ours.
  std::string append(std::string_view label, std::string_view op, std::vector<std::string> inputs,
                     Attributes attributes = {});

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

  // For differentiate.cc only.
  std::string add_input(const std::string& wish, const TensorType& type);  // a new graph input
  Status differentiate_node(std::size_t index);  // calls the rule of forward node `index`
  void add_cotangent(const std::string& value, const std::string& cotangent);
  std::string cotangent_of(const std::string& value) const;  // "" if none
  const Graph& graph() const { return graph_; }              // without the added constants
  const std::deque<Constant>& added_constants() const { return added_constants_; }
  // Name of the forward node of each appended node; "" for one that has none.
  const std::vector<std::string>& origins() const { return origins_; }

 private:
  std::vector<TensorType> output_types(const Node& node) const;  // all that the operator has
  std::string unique_name(const std::string& wish);
  void declare(const std::string& value, TensorType type);
  std::string constant_named(const std::string& wish, Tensor value);

  Graph graph_;
  ValueTypes types_;
  std::set<std::string> active_;
  std::set<std::string> names_;  // of nodes and values
  std::map<std::string, std::string> cotangents_;
  std::deque<Constant> added_constants_;  // a deque: constant_values_ points into it
  ConstantMap constant_values_;
  std::map<std::string, std::string> constants_;  // added ones by content, to share them
  std::vector<std::string> origins_;
  Node node_;  // a copy: graph_.nodes grows
  std::size_t node_index_ = 0;
};

// All axes of a feature map [N, C, ...] but the channels'.
std::vector<std::int64_t> axes_but_channels(std::size_t rank);

// Elementwise, with the adjoint of broadcasting.
Status gradient_of_add(GradientBuilder& builder);
Status gradient_of_sub(GradientBuilder& builder);
Status gradient_of_mul(GradientBuilder& builder);
Status gradient_of_div(GradientBuilder& builder);
Status gradient_of_pow(GradientBuilder& builder);
Status gradient_of_neg(GradientBuilder& builder);
Status gradient_of_exp(GradientBuilder& builder);
Status gradient_of_log(GradientBuilder& builder);
Status gradient_of_sqrt(GradientBuilder& builder);
Status gradient_of_reciprocal(GradientBuilder& builder);
Status gradient_of_relu(GradientBuilder& builder);
Status gradient_of_tanh(GradientBuilder& builder);
Status gradient_of_sigmoid(GradientBuilder& builder);
Status gradient_of_identity(GradientBuilder& builder);
Status gradient_of_cast(GradientBuilder& builder);
Status gradient_of_dropout(GradientBuilder& builder);
Status gradient_of_heaviside_step(GradientBuilder& builder);  // zero: nothing to append

// Elements moved, repeated or summed.
Status gradient_of_reshape(GradientBuilder& builder);  // and Flatten
Status gradient_of_transpose(GradientBuilder& builder);
Status gradient_of_concat(GradientBuilder& builder);
Status gradient_of_slice(GradientBuilder& builder);
Status gradient_of_pad(GradientBuilder& builder);
Status gradient_of_expand(GradientBuilder& builder);
Status gradient_of_sum_to(GradientBuilder& builder);
Status gradient_of_gather(GradientBuilder& builder);
Status gradient_of_gather_grad(GradientBuilder& builder);
Status gradient_of_reduce_sum(GradientBuilder& builder);
Status gradient_of_reduce_mean(GradientBuilder& builder);

// Products of matrices, windows over images.
Status gradient_of_gemm(GradientBuilder& builder);
Status gradient_of_matmul(GradientBuilder& builder);
Status gradient_of_conv(GradientBuilder& builder);
Status gradient_of_conv_grad_input(GradientBuilder& builder);
Status gradient_of_conv_grad_weight(GradientBuilder& builder);
Status gradient_of_max_pool(GradientBuilder& builder);
Status gradient_of_max_pool_grad(GradientBuilder& builder);
Status gradient_of_max_pool_gather(GradientBuilder& builder);
Status gradient_of_average_pool(GradientBuilder& builder);
Status gradient_of_average_pool_grad(GradientBuilder& builder);
Status gradient_of_global_average_pool(GradientBuilder& builder);
Status gradient_of_channel_window_sum(GradientBuilder& builder);

// Normalization and losses.
Status gradient_of_batch_normalization(GradientBuilder& builder);
Status gradient_of_lrn(GradientBuilder& builder);
Status gradient_of_softmax(GradientBuilder& builder);
Status gradient_of_log_softmax(GradientBuilder& builder);
Status gradient_of_softmax_cross_entropy_loss(GradientBuilder& builder);
Status gradient_of_negative_log_likelihood_loss(GradientBuilder& builder);
Status gradient_of_negative_log_likelihood_grad(GradientBuilder& builder);

}  // namespace gradstone
