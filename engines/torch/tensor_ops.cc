// SPDX-License-Identifier: Apache-2.0
// All operators but convolution and pooling: normalisation, losses, products, element-wise, shapes.
#include <limits>

#include "engines/torch/aten.h"
#include "engines/torch/lowering.h"
#include "engines/torch/support.h"
#include "graph/reduction.h"
#include "graph/slicing.h"

namespace gradstone::torch_engine {
namespace {

// y = f(x) and y = f(a, b).
template <class Function>
Step unary(const LoweringContext& context, Function function) {
  const Slot x = context.input(0), y = context.output(0);
  return [=](at::Tensor* v) { v[y] = function(v[x]); };
}
template <class Function>
Step binary(const LoweringContext& context, Function function) {
  const Slot a = context.input(0), b = context.input(1), y = context.output(0);
  return [=](at::Tensor* v) { v[y] = function(v[a], v[b]); };
}

std::int64_t rank_of(const LoweringContext& context) {
  return static_cast<std::int64_t>(context.input_shape(0).size());
}

// --- Element-wise

Result<Step> lower_relu(const LoweringContext& context) {
  if (context.may_overwrite_first) return unary(context, [](at::Tensor& x) { return x.relu_(); });
  return unary(context, [](const at::Tensor& x) { return at::relu(x); });
}
Result<Step> lower_tanh(const LoweringContext& context) {
  return unary(context, [](const at::Tensor& x) { return at::tanh(x); });
}
Result<Step> lower_sigmoid(const LoweringContext& context) {
  return unary(context, [](const at::Tensor& x) { return at::sigmoid(x); });
}
Result<Step> lower_exp(const LoweringContext& context) {
  return unary(context, [](const at::Tensor& x) { return at::exp(x); });
}
Result<Step> lower_log(const LoweringContext& context) {
  return unary(context, [](const at::Tensor& x) { return at::log(x); });
}
Result<Step> lower_sqrt(const LoweringContext& context) {
  return unary(context, [](const at::Tensor& x) { return at::sqrt(x); });
}
Result<Step> lower_neg(const LoweringContext& context) {
  return unary(context, [](const at::Tensor& x) { return at::neg(x); });
}
Result<Step> lower_reciprocal(const LoweringContext& context) {
  return unary(context, [](const at::Tensor& x) { return at::reciprocal(x); });
}
Result<Step> lower_cast(const LoweringContext& context) {
  const at::ScalarType type = scalar_type(context.output_types[0].dtype);
  return unary(context, [=](const at::Tensor& x) { return x.to(type); });
}
Result<Step> lower_identity(const LoweringContext& context) {
  return unary(context, [](const at::Tensor& x) { return x; });
}

// The sum may take the place of the first term if it has its shape.
bool fits_first(const LoweringContext& context) {
  return context.may_overwrite_first && context.input_type(0) == context.output_types[0];
}
Result<Step> lower_add(const LoweringContext& context) {
  if (fits_first(context)) {
    return binary(context, [](at::Tensor& a, const at::Tensor& b) { return a.add_(b); });
  }
  return binary(context, [](const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); });
}
Result<Step> lower_sub(const LoweringContext& context) {
  return binary(context, [](const at::Tensor& a, const at::Tensor& b) { return at::sub(a, b); });
}
Result<Step> lower_mul(const LoweringContext& context) {
  return binary(context, [](const at::Tensor& a, const at::Tensor& b) { return at::mul(a, b); });
}
Result<Step> lower_div(const LoweringContext& context) {
  if (is_floating(context.input_type(0).dtype)) {
    return binary(context, [](const at::Tensor& a, const at::Tensor& b) { return at::div(a, b); });
  }
  return binary(context, [](const at::Tensor& a, const at::Tensor& b) {
    return at::div(a, b, c10::string_view("trunc"));
  });
}
Result<Step> lower_pow(const LoweringContext& context) {
  return binary(context, [](const at::Tensor& a, const at::Tensor& b) { return at::pow(a, b); });
}

// --- Products

Result<Step> lower_gemm(const LoweringContext& context) {
  const Node& node = context.node();
  const double alpha = attribute_or(node, "alpha", 1.0);
  const double beta = attribute_or(node, "beta", 1.0);
  const bool trans_a = attribute_or(node, "transA", std::int64_t{0}) != 0;
  const bool trans_b = attribute_or(node, "transB", std::int64_t{0}) != 0;
  const Slot a = context.input(0), b = context.input(1), c = context.input(2);
  const Slot y = context.output(0);
  const bool bias_row = c == kAbsent || (context.input_shape(2).size() == 1 && beta == 1 &&
                                         context.input_shape(2)[0] == context.output_shape()[1]);
  if (!trans_a && trans_b && alpha == 1 && bias_row) {
    return Step([=](at::Tensor* v) { v[y] = at::linear(v[a], v[b], v[c]); });
  }
  return Step([=](at::Tensor* v) {
    const at::Tensor left = trans_a ? v[a].t() : v[a];
    const at::Tensor right = trans_b ? v[b].t() : v[b];
    v[y] =
        c == kAbsent ? at::mm(left, right).mul(alpha) : at::addmm(v[c], left, right, beta, alpha);
  });
}
Result<Step> lower_mat_mul(const LoweringContext& context) {
  return binary(context, [](const at::Tensor& a, const at::Tensor& b) { return at::matmul(a, b); });
}

// --- Shapes

Result<Step> lower_reshape(const LoweringContext& context) {
  const Shape shape = context.output_shape();
  return unary(context, [=](const at::Tensor& x) { return x.reshape(shape); });
}
Result<Step> lower_transpose(const LoweringContext& context) {
  Shape reversed;
  for (std::int64_t i = rank_of(context); i-- > 0;) reversed.push_back(i);
  const Shape order = attribute_or(context.node(), "perm", reversed);
  return unary(context, [=](const at::Tensor& x) { return x.permute(order); });
}
Result<Step> lower_expand(const LoweringContext& context) {
  const Shape shape = context.output_shape();
  return unary(context, [=](const at::Tensor& x) { return x.expand(shape); });
}
Result<Step> lower_concat(const LoweringContext& context) {
  const std::int64_t axis = attribute_or(context.node(), "axis", std::int64_t{0});
  const std::vector<Slot> inputs = context.inputs;
  const Slot y = context.output(0);
  return Step([=](at::Tensor* v) {
    std::vector<at::Tensor> parts;
    parts.reserve(inputs.size());
    for (const Slot input : inputs) parts.push_back(v[input]);
    v[y] = at::cat(parts, axis);
  });
}
Result<Step> lower_gather(const LoweringContext& context) {
  const std::int64_t given = attribute_or(context.node(), "axis", std::int64_t{0});
  const std::int64_t axis = given < 0 ? given + rank_of(context) : given;
  const std::int64_t extent = context.input_shape(0)[static_cast<std::size_t>(axis)];
  const bool rows = axis == 0 && rank_of(context) == 2;
  const Shape shape = context.output_shape();
  return binary(context, [=](const at::Tensor& data, const at::Tensor& indices) {
    const at::Tensor wide = indices.to(at::kLong);
    const at::Tensor from_start = at::where(wide.lt(0), wide.add(extent), wide);
    if (rows) return at::embedding(data, from_start);
    return at::index_select(data, axis, from_start.flatten()).reshape(shape);
  });
}

Result<Step> lower_slice(const LoweringContext& context) {
  const Slicing slicing = TRY(slicing_of(context.rules));
  return unary(context, [=](at::Tensor x) {
    for (std::size_t i = 0; i < slicing.starts.size(); ++i) {
      const auto axis = static_cast<std::int64_t>(i);
      const std::int64_t start = slicing.starts[i], step = slicing.steps[i];
      const std::int64_t last = start + (slicing.extents[i] - 1) * step;
      // ATen has no negative steps: the same elements are taken forwards and turned round.
      x = step > 0 ? x.slice(axis, start, last + 1, step)
                   : x.slice(axis, last, start + 1, -step).flip(axis);
    }
    return x;
  });
}
Result<Step> lower_pad(const LoweringContext& context) {
  const Padding padding = TRY(padding_of(context.rules));
  const Shape pads = aten_pads(padding.begin, padding.end);
  const double value = padding.value;
  return unary(context, [=](const at::Tensor& x) { return at::constant_pad_nd(x, pads, value); });
}

// --- Reductions

template <class Function>
Result<Step> reduction(const LoweringContext& context, Function function) {
  const Reduction reduction = TRY(reduction_of(context.rules));
  if (reduction.axes.empty()) return unary(context, [](const at::Tensor& x) { return x; });
  const Shape axes(reduction.axes.begin(), reduction.axes.end());
  const bool keep = reduction.keep_dims;
  return unary(context, [=](const at::Tensor& x) { return function(x, axes, keep); });
}
Result<Step> lower_reduce_mean(const LoweringContext& context) {
  return reduction(context, [](const at::Tensor& x, const Shape& axes, bool keep) {
    return at::mean(x, axes, keep);
  });
}
Result<Step> lower_reduce_sum(const LoweringContext& context) {
  return reduction(context, [](const at::Tensor& x, const Shape& axes, bool keep) {
    return at::sum(x, axes, keep, x.scalar_type());
  });
}

// --- Normalisation, dropout, losses

Result<Step> lower_softmax(const LoweringContext& context) {
  const std::int64_t axis = attribute_or(context.node(), "axis", std::int64_t{-1});
  return unary(context, [=](const at::Tensor& x) { return at::softmax(x, axis); });
}
Result<Step> lower_log_softmax(const LoweringContext& context) {
  const std::int64_t axis = attribute_or(context.node(), "axis", std::int64_t{-1});
  return unary(context, [=](const at::Tensor& x) { return at::log_softmax(x, axis); });
}

// The element of a constant scalar input, or `fallback` where the input is absent.
Result<double> constant_scalar(const LoweringContext& context, std::size_t input, double fallback) {
  if (context.input(input) == kAbsent) return fallback;
  if (context.rules.constants[input] == nullptr) {
    return unsupported("input " + std::to_string(input) + " that is no constant");
  }
  return element_as_double(context.rules.constants[input]->ref(), 0);
}

Result<Step> lower_dropout(const LoweringContext& context) {
  const double ratio = TRY(constant_scalar(context, 1, 0.5));
  const bool training = TRY(constant_scalar(context, 2, 0)) != 0;
  const Slot x = context.input(0), y = context.output(0), mask = context.output(1);
  if (mask == kAbsent) {
    return Step([=](at::Tensor* v) { v[y] = at::dropout(v[x], ratio, training); });
  }
  return Step(
      [=](at::Tensor* v) { std::tie(v[y], v[mask]) = at::native_dropout(v[x], ratio, training); });
}

// Batch norm of training. ATen's running variance is that of the sample (divisor n - 1); where the
// population's is asked for, the buffer is scaled around the call so that its new value comes out
// as momentum * old + (1 - momentum) * population variance.
struct BatchNorm {
  Slot x, scale, bias, mean, variance, y, running_mean, running_variance;
  bool training, in_place, population;
  double momentum;  // as ATen counts it: weight of the new value
  double epsilon;
  double samples;       // elements of a channel
  Shape channel_shape;  // [channels, 1, ...] that broadcasts with x

  void operator()(at::Tensor* v) const {
    if (training) {
      train(v);
    } else if (v[mean].requires_grad() || v[variance].requires_grad()) {
      // ATen's own has no gradient with respect to the statistics.
      const at::Tensor factor =
          (per_channel(v[variance]) + epsilon).rsqrt() * per_channel(v[scale]);
      v[y] = (v[x] - per_channel(v[mean])) * factor + per_channel(v[bias]);
    } else {
      v[y] =
          at::batch_norm(v[x], v[scale], v[bias], v[mean], v[variance], false, 0, epsilon, false);
    }
  }

 private:
  at::Tensor per_channel(const at::Tensor& value) const { return value.reshape(channel_shape); }

  void train(at::Tensor* v) const {
    at::Tensor new_mean = v[mean].variable_data();
    at::Tensor new_variance = v[variance].variable_data();
    if (!in_place) {
      new_mean = new_mean.clone();
      new_variance = new_variance.clone();
    }
    const double correction = population && samples > 1 ? (samples - 1) / samples : 1;
    if (correction != 1) new_variance.div_(correction);
    const bool single = population && samples == 1;  // the population variance is 0
    const at::Tensor kept = single ? new_variance.mul(1 - momentum) : at::Tensor();
    // variable_data: autograd keeps the statistics though its backward pass does not read them, and
    // would else complain of what is written to them below.
    v[y] = at::batch_norm(v[x], v[scale], v[bias], new_mean, new_variance.variable_data(), true,
                          momentum, epsilon, false);
    if (correction != 1) new_variance.mul_(correction);
    if (single) new_variance.copy_(kept);
    if (in_place) return;
    if (running_mean != kAbsent) v[running_mean] = new_mean;
    if (running_variance != kAbsent) v[running_variance] = new_variance;
  }
};

Result<Step> lower_batch_norm(const LoweringContext& context) {
  const Node& node = context.node();
  const Shape& shape = context.input_shape(0);
  BatchNorm norm{context.input(0), context.input(1),  context.input(2),  context.input(3),
                 context.input(4), context.output(0), context.output(1), context.output(2)};
  norm.training = attribute_or(node, "training_mode", std::int64_t{0}) != 0;
  norm.in_place = context.running_in_place;
  norm.population = attribute_or(node, "running_variance", "population") == "population";
  norm.momentum = 1 - attribute_or(node, "momentum", 0.9);
  norm.epsilon = attribute_or(node, "epsilon", 1e-5);
  norm.samples = static_cast<double>(element_count(shape) / shape[1]);
  norm.channel_shape = Shape(shape.size() - 1, 1);
  norm.channel_shape[0] = shape[1];
  return Step(norm);
}

std::int64_t reduction_code(const Node& node) {
  const std::string name = attribute_or(node, "reduction", "mean");
  if (name == "none") return at::Reduction::None;
  return name == "sum" ? at::Reduction::Sum : at::Reduction::Mean;
}
// Without the attribute nothing is ignored: a value that no label has.
std::int64_t ignored_label(const Node& node) {
  return attribute_or(node, "ignore_index", std::numeric_limits<std::int64_t>::min());
}

Result<Step> lower_cross_entropy(const LoweringContext& context) {
  const std::int64_t reduction = reduction_code(context.node());
  const std::int64_t ignored = ignored_label(context.node());
  const Slot scores = context.input(0), labels = context.input(1), weight = context.input(2);
  const Slot y = context.output(0), log_probabilities = context.output(1);
  return Step([=](at::Tensor* v) {
    const at::Tensor classes = v[labels].to(at::kLong);
    if (log_probabilities == kAbsent) {
      v[y] = at::cross_entropy_loss(v[scores], classes, v[weight], reduction, ignored);
      return;
    }
    v[log_probabilities] = at::log_softmax(v[scores], 1);
    v[y] = at::nll_loss_nd(v[log_probabilities], classes, v[weight], reduction, ignored);
  });
}

Result<Step> lower_negative_log_likelihood(const LoweringContext& context) {
  const std::int64_t reduction = reduction_code(context.node());
  const std::int64_t ignored = ignored_label(context.node());
  const Slot scores = context.input(0), labels = context.input(1), weight = context.input(2);
  const Slot y = context.output(0);
  return Step([=](at::Tensor* v) {
    v[y] = at::nll_loss_nd(v[scores], v[labels].to(at::kLong), v[weight], reduction, ignored);
  });
}

}  // namespace

const std::vector<Lowering>& tensor_lowerings() {
  static const std::vector<Lowering> rows = {
      {"Relu", lower_relu},
      {"Tanh", lower_tanh},
      {"Sigmoid", lower_sigmoid},
      {"Exp", lower_exp},
      {"Log", lower_log},
      {"Sqrt", lower_sqrt},
      {"Neg", lower_neg},
      {"Reciprocal", lower_reciprocal},
      {"Cast", lower_cast},
      {"Identity", lower_identity},
      {"Add", lower_add, true},
      {"Sub", lower_sub, true},
      {"Mul", lower_mul},
      {"Div", lower_div},
      {"Pow", lower_pow},
      {"Gemm", lower_gemm, true},
      {"MatMul", lower_mat_mul, true},
      {"Reshape", lower_reshape},
      {"Flatten", lower_reshape},
      {"Transpose", lower_transpose},
      {"Expand", lower_expand},
      {"Concat", lower_concat},
      {"Slice", lower_slice},
      {"Pad", lower_pad},
      {"Gather", lower_gather},
      {"ReduceMean", lower_reduce_mean},
      {"ReduceSum", lower_reduce_sum},
      {"BatchNormalization", lower_batch_norm, true},
      {"Dropout", lower_dropout},
      {"Softmax", lower_softmax},
      {"LogSoftmax", lower_log_softmax},
      {"SoftmaxCrossEntropyLoss", lower_cross_entropy},
      {"NegativeLogLikelihoodLoss", lower_negative_log_likelihood},
  };
  return rows;
}

const Lowering* find_lowering(const Node& node) {
  using Rows = std::vector<const std::vector<Lowering>*>;
  const Rows tables = node.domain.empty() ? Rows{&window_lowerings(), &tensor_lowerings()}
                                          : Rows{&gradient_lowerings()};
  for (const auto* rows : tables) {
    for (const Lowering& row : *rows) {
      if (row.op == node.op) return &row;
    }
  }
  return nullptr;
}

}  // namespace gradstone::torch_engine
