// SPDX-License-Identifier: Apache-2.0
// Products, normalisation, dropout and losses; and the table of all operators.
#include <limits>
#include <numeric>
#include <span>

#include "engines/torch/lowering_forms.h"
#include "engines/torch/support.h"

namespace gradstone::torch_engine {
namespace {

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
  if (!trans_a && trans_b && alpha == 1 && bias_row && is_floating(context.input_type(0).dtype)) {
    return Step([=](at::Tensor* v) { v[y] = at::linear(v[a], v[b], v[c]); });
  }
  // ATen multiplies no integers with a factor that is a fraction.
  const DType dtype = context.input_type(0).dtype;
  const at::ScalarType type = scalar_type(dtype);
  if (!is_floating(dtype)) {
    return Step([=](at::Tensor* v) {
      const at::Tensor left = trans_a ? v[a].t() : v[a];
      const at::Tensor right = trans_b ? v[b].t() : v[b];
      const at::Tensor product = at::mm(left, right);
      if (alpha == 1 && c == kAbsent) {
        v[y] = product;
      } else if (alpha == 1 && beta == 1) {
        v[y] = product + v[c];
      } else {
        const at::Tensor scaled = product.to(at::kDouble) * alpha;
        v[y] = (c == kAbsent ? scaled : scaled + v[c].to(at::kDouble) * beta).to(type);
      }
    });
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

// Letters, ellipsis and the order of an output that is not named mean the same to ATen.
Result<Step> lower_einsum(const LoweringContext& context) {
  const std::string equation = attribute_or(context.node(), "equation", "");
  const std::vector<Slot> inputs = context.inputs;
  const Slot y = context.output(0);
  return Step([=](at::Tensor* v) {
    std::vector<at::Tensor> operands;
    for (const Slot input : inputs) operands.push_back(v[input]);
    v[y] = at::einsum(equation, operands);
  });
}

// --- Normalisation, dropout, losses

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

// Mean and inverse deviation as outputs: at::native_layer_norm has them, but without gradients.
Step layer_norm_with_statistics(const LoweringContext& context, const Shape& axes) {
  const double epsilon = attribute_or(context.node(), "epsilon", 1e-5);
  const Slot x = context.input(0), scale = context.input(1), bias = context.input(2);
  const Slot y = context.output(0), mean = context.output(1), inverse = context.output(2);
  const at::ScalarType of_mean = scalar_type(context.output_types[1].dtype);
  const at::ScalarType of_inverse = scalar_type(context.output_types[2].dtype);
  return [=](at::Tensor* v) {
    const at::Tensor center = at::mean(v[x], axes, true);
    const at::Tensor variance = at::var(v[x], axes, /*unbiased=*/false, /*keepdim=*/true);
    const at::Tensor factor = (variance + epsilon).rsqrt();
    v[y] = (v[x] - center) * factor * v[scale];
    if (bias != kAbsent) v[y] = v[y] + v[bias];
    if (mean != kAbsent) v[mean] = center.to(of_mean);
    if (inverse != kAbsent) v[inverse] = factor.to(of_inverse);
  };
}

Result<Step> lower_layer_norm(const LoweringContext& context) {
  const std::int64_t axis = axis_of(context.node(), -1, rank_of(context));
  const Shape& shape = context.input_shape(0);
  const Shape normalized(shape.begin() + axis, shape.end());
  const bool alike = context.input_shape(1) == normalized &&
                     (context.input(2) == kAbsent || context.input_shape(2) == normalized);
  if (!alike || context.output(1) != kAbsent || context.output(2) != kAbsent) {
    Shape axes(normalized.size());
    std::iota(axes.begin(), axes.end(), axis);
    return layer_norm_with_statistics(context, axes);
  }
  const double epsilon = attribute_or(context.node(), "epsilon", 1e-5);
  return ternary(context,
                 [=](const at::Tensor& x, const at::Tensor& scale, const at::Tensor& bias) {
                   return at::layer_norm(x, normalized, scale, bias, epsilon);
                 });
}

Result<Step> lower_instance_norm(const LoweringContext& context) {
  const double epsilon = attribute_or(context.node(), "epsilon", 1e-5);
  return ternary(context, [=](const at::Tensor& x, const at::Tensor& scale,
                              const at::Tensor& bias) {
    return at::instance_norm(x, scale, bias, {}, {}, /*use_input_stats=*/true, 0.0, epsilon, false);
  });
}

// (x - mean) / (deviation + 1e-9), as ONNX's function has it.
Result<Step> lower_mean_variance_norm(const LoweringContext& context) {
  const Shape axes = attribute_or(context.node(), "axes", Shape{0, 2, 3});
  if (axes.empty()) return unsupported("an empty list of axes, which means all to ATen");
  return unary(context, [=](const at::Tensor& x) {
    const at::Tensor deviation = at::var(x, axes, /*unbiased=*/false, /*keepdim=*/true).sqrt();
    return (x - at::mean(x, axes, true)) / (deviation + 1e-9);
  });
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

// ATen has no gradient with respect to the class weights: where one is wanted, the loss is written out.
struct LogLikelihood {
  Slot labels, weight;
  std::int64_t reduction, ignored;

  at::Tensor operator()(at::Tensor* v, const at::Tensor& log_probabilities) const {
    const at::Tensor given = v[labels].to(at::kLong);
    if (!weight_wanted(v)) {
      // Its backward pass fails on a transposed view.
      return at::nll_loss_nd(log_probabilities.contiguous(), given, v[weight], reduction, ignored);
    }
    const at::Tensor counted = given.ne(ignored);
    const at::Tensor classes = given.mul(counted);
    const at::Tensor shares =
        v[weight].index_select(0, classes.flatten()).reshape(classes.sizes()) * counted;
    const at::Tensor picked = log_probabilities.gather(1, classes.unsqueeze(1)).squeeze(1);
    const at::Tensor losses = (picked * shares).neg();
    if (reduction == at::Reduction::None) return losses;
    return reduction == at::Reduction::Sum ? losses.sum() : losses.sum() / shares.sum();
  }
  bool weight_wanted(at::Tensor* v) const {
    return v[weight].defined() && v[weight].requires_grad();
  }
};

LogLikelihood log_likelihood(const LoweringContext& context) {
  return {context.input(1), context.input(2), reduction_code(context.node()),
          ignored_label(context.node())};
}

Result<Step> lower_cross_entropy(const LoweringContext& context) {
  const LogLikelihood likelihood = log_likelihood(context);
  const Slot scores = context.input(0), y = context.output(0);
  const Slot log_probabilities = context.output(1);
  return Step([=](at::Tensor* v) {
    if (log_probabilities == kAbsent && !likelihood.weight_wanted(v)) {
      v[y] = at::cross_entropy_loss(v[scores], v[likelihood.labels].to(at::kLong),
                                    v[likelihood.weight], likelihood.reduction, likelihood.ignored);
      return;
    }
    const at::Tensor logarithms = at::log_softmax(v[scores], 1);
    if (log_probabilities != kAbsent) v[log_probabilities] = logarithms;
    v[y] = likelihood(v, logarithms);
  });
}

Result<Step> lower_negative_log_likelihood(const LoweringContext& context) {
  const LogLikelihood likelihood = log_likelihood(context);
  const Slot scores = context.input(0), y = context.output(0);
  return Step([=](at::Tensor* v) { v[y] = likelihood(v, v[scores]); });
}

}  // namespace

const std::vector<Lowering>& tensor_lowerings() {
  static const std::vector<Lowering> rows = {
      {"Gemm", lower_gemm, true},
      {"MatMul", lower_mat_mul, true},
      {"Einsum", lower_einsum},
      {"BatchNormalization", lower_batch_norm, true},
      {"LayerNormalization", lower_layer_norm},
      {"InstanceNormalization", lower_instance_norm},
      {"MeanVarianceNormalization", lower_mean_variance_norm},
      {"Dropout", lower_dropout},
      {"SoftmaxCrossEntropyLoss", lower_cross_entropy},
      {"NegativeLogLikelihoodLoss", lower_negative_log_likelihood},
  };
  return rows;
}

const Lowering* find_lowering(const Node& node) {
  using Rows = const std::vector<Lowering>& (*)();
  static constexpr Rows kOnnx[] = {window_lowerings,   tensor_lowerings,    elementwise_lowerings,
                                   layout_lowerings,   reduction_lowerings, sampling_lowerings,
                                   sequence_lowerings, host_lowerings};
  static constexpr Rows kOwn[] = {gradient_lowerings, own_sampling_lowerings,
                                  own_sequence_lowerings, own_host_lowerings};
  std::span<const Rows> tables;
  if (node.domain.empty()) tables = kOnnx;
  if (node.domain == kGradstoneDomain) tables = kOwn;
  for (const Rows rows : tables) {
    for (const Lowering& row : rows()) {
      if (row.op == node.op) return &row;
    }
  }
  return nullptr;
}

}  // namespace gradstone::torch_engine
