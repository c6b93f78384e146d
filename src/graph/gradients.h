// SPDX-License-Identifier: Apache-2.0
// One rule an operator: given the cotangents of a node's outputs, append the nodes that compute
// those of its inputs. Rules are named in the operator table; differentiate.h walks the graph.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/node_builder.h"

namespace gradstone {

// A graph that grows by backward nodes, and the forward node whose rule is at work. Backward nodes
// are named `grad/<forward node>/<label>`.
class GradientBuilder : public NodeBuilder {
 public:
  // `types` is check_graph's answer for `graph`; cotangents are wanted for values in `active`.
  GradientBuilder(Graph graph, ValueTypes types, std::set<std::string> active);

  // Output `index` of the node; one that the node leaves out is given a name.
  std::string output(std::size_t index);
  // Cotangent of output `index`; "" if nothing that is differentiated depends on it.
  std::string cotangent(std::size_t index = 0) const;
  bool wants(std::size_t index) const;  // input `index` needs a cotangent

  // Adds `value` to the cotangent of input `index`, whose type it has. Ignored if not wanted.
  void give(std::size_t index, const std::string& value);

  // For differentiate.cc only.
  std::string add_input(const std::string& wish, const TensorType& type);  // a new graph input
  Status differentiate_node(std::size_t index);  // calls the rule of forward node `index`
  void add_cotangent(const std::string& value, const std::string& cotangent);
  std::string cotangent_of(const std::string& value) const;  // "" if none
  // Name of the forward node of each appended node; "" for one that has none.
  const std::vector<std::string>& origins();

 private:
  void note_origins();  // of the nodes appended since the last call

  std::size_t forward_nodes_;
  std::set<std::string> active_;
  std::map<std::string, std::string> cotangents_;
  std::vector<std::string> origins_;
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
