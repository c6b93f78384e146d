// SPDX-License-Identifier: Apache-2.0
// Rules of matrix products, convolutions and pooling. g is the cotangent of the output.
#include <numeric>

#include "graph/gradients.h"

namespace gradstone {
namespace {

// The node's attributes without those that only its own form has, and with `extra`.
Attributes attributes_with(const Node& node, const Attributes& extra) {
  Attributes attributes = node.attributes;
  attributes.erase("input_shape");
  attributes.erase("weight_shape");
  for (const auto& [name, value] : extra) attributes[name] = value;
  return attributes;
}

std::string conv(GradientBuilder& b, const std::string& x, const std::string& w) {
  return b.append("conv", "Conv", {x, w}, attributes_with(b.node(), {}));
}

std::string conv_grad_input(GradientBuilder& b, const std::string& w, const std::string& g,
                            const Shape& shape) {
  return b.append("input", "ConvGradInput", {w, g},
                  attributes_with(b.node(), {{"input_shape", shape}}));
}

std::string conv_grad_weight(GradientBuilder& b, const std::string& x, const std::string& g,
                             const Shape& shape) {
  return b.append("weight", "ConvGradWeight", {x, g},
                  attributes_with(b.node(), {{"weight_shape", shape}}));
}

std::string gemm(GradientBuilder& b, const std::string& a, bool transpose_a, const std::string& c,
                 bool transpose_c) {
  const double alpha = attribute_or(b.node(), "alpha", 1.0);
  return b.append("gemm", "Gemm", {a, c},
                  {{"alpha", alpha},
                   {"transA", static_cast<std::int64_t>(transpose_a)},
                   {"transB", static_cast<std::int64_t>(transpose_c)}});
}

}  // namespace

// y = alpha a' b' + beta c, where ' transposes if asked to.
Status gradient_of_gemm(GradientBuilder& b) {
  const std::string g = b.cotangent(), left = b.input(0), right = b.input(1);
  const bool transpose_a = attribute_or(b.node(), "transA", std::int64_t{0}) != 0;
  const bool transpose_b = attribute_or(b.node(), "transB", std::int64_t{0}) != 0;
  if (b.wants(0)) {
    b.give(0, transpose_a ? gemm(b, right, transpose_b, g, true)
                          : gemm(b, g, false, right, !transpose_b));
  }
  if (b.wants(1)) {
    b.give(1, transpose_b ? gemm(b, g, true, left, transpose_a)
                          : gemm(b, left, !transpose_a, g, false));
  }
  if (b.wants(2)) {
    const std::string sum = b.sum_to(g, Shape(b.shape_of(b.input(2))));
    b.give(2, b.scale(sum, attribute_or(b.node(), "beta", 1.0)));
  }
  return {};
}

// Vectors are read as a matrix of one row (left) or one column (right); stacks of matrices
// broadcast.
Status gradient_of_matmul(GradientBuilder& b) {
  const Shape left_shape = b.shape_of(b.input(0)), right_shape = b.shape_of(b.input(1));
  Shape left_matrix = left_shape, right_matrix = right_shape, g_shape = b.shape_of(b.output(0));
  if (left_shape.size() == 1) {
    left_matrix.insert(left_matrix.begin(), 1);
    g_shape.insert(g_shape.end() - (right_shape.size() == 1 ? 0 : 1), 1);
  }
  if (right_shape.size() == 1) {
    right_matrix.push_back(1);
    g_shape.push_back(1);
  }
  const std::string g = b.reshape(b.cotangent(), g_shape);
  if (b.wants(0)) {
    const std::string right = b.reshape(b.input(1), right_matrix);
    const std::string product = b.matmul(g, b.swap_last_axes(right));
    b.give(0, b.reshape(b.sum_to(product, left_matrix), left_shape));
  }
  if (b.wants(1)) {
    const std::string left = b.reshape(b.input(0), left_matrix);
    const std::string product = b.matmul(b.swap_last_axes(left), g);
    b.give(1, b.reshape(b.sum_to(product, right_matrix), right_shape));
  }
  return {};
}

Status gradient_of_conv(GradientBuilder& b) {
  const std::string g = b.cotangent(), x = b.input(0), w = b.input(1);
  if (b.wants(0)) b.give(0, conv_grad_input(b, w, g, Shape(b.shape_of(x))));
  if (b.wants(1)) b.give(1, conv_grad_weight(b, x, g, Shape(b.shape_of(w))));
  if (b.wants(2)) b.give(2, b.sum(g, axes_but_channels(b.shape_of(g).size()), false));
  return {};
}

Status gradient_of_conv_grad_input(GradientBuilder& b) {
  const std::string g = b.cotangent(), w = b.input(0), dy = b.input(1);
  if (b.wants(0)) b.give(0, conv_grad_weight(b, g, dy, Shape(b.shape_of(w))));
  if (b.wants(1)) b.give(1, conv(b, g, w));
  return {};
}

Status gradient_of_conv_grad_weight(GradientBuilder& b) {
  const std::string g = b.cotangent(), x = b.input(0), dy = b.input(1);
  if (b.wants(0)) b.give(0, conv_grad_input(b, g, dy, Shape(b.shape_of(x))));
  if (b.wants(1)) b.give(1, conv(b, x, g));
  return {};
}

Status gradient_of_max_pool(GradientBuilder& b) {
  b.give(0, b.append("input", "MaxPoolGrad", {b.input(0), b.cotangent()},
                     attributes_with(b.node(), {})));
  return {};
}

// Which element is the maximum does not change with X, so X gets nothing.
Status gradient_of_max_pool_grad(GradientBuilder& b) {
  if (!b.wants(1)) return {};
  b.give(1, b.append("gather", "MaxPoolGather", {b.input(0), b.cotangent()},
                     attributes_with(b.node(), {})));
  return {};
}

Status gradient_of_max_pool_gather(GradientBuilder& b) {
  if (!b.wants(1)) return {};
  b.give(1, b.append("input", "MaxPoolGrad", {b.input(0), b.cotangent()},
                     attributes_with(b.node(), {})));
  return {};
}

Status gradient_of_average_pool(GradientBuilder& b) {
  b.give(0, b.append("input", "AveragePoolGrad", {b.cotangent()},
                     attributes_with(b.node(), {{"input_shape", b.shape_of(b.input(0))}})));
  return {};
}

Status gradient_of_average_pool_grad(GradientBuilder& b) {
  b.give(0, b.append("pool", "AveragePool", {b.cotangent()}, attributes_with(b.node(), {})));
  return {};
}

Status gradient_of_global_average_pool(GradientBuilder& b) {
  const Shape shape = b.shape_of(b.input(0));
  const std::int64_t area =
      std::accumulate(shape.begin() + 2, shape.end(), std::int64_t{1}, std::multiplies<>());
  b.give(0, b.expand(b.scale(b.cotangent(), 1 / static_cast<double>(area)), shape));
  return {};
}

Status gradient_of_channel_window_sum(GradientBuilder& b) {
  const std::int64_t transposed = attribute_or(b.node(), "transposed", std::int64_t{0});
  b.give(0, b.append("window_sum", "ChannelWindowSum", {b.cotangent()},
                     attributes_with(b.node(), {{"transposed", 1 - transposed}})));
  return {};
}

}  // namespace gradstone
