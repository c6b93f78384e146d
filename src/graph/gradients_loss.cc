// SPDX-License-Identifier: Apache-2.0
// Rules of normalizations and losses, composed of primitive operators. g is the cotangent of the
// output y.
#include "graph/gradients.h"
#include "graph/rule_parts.h"

namespace gradstone {
namespace {

// One element a channel, shaped to broadcast over a feature map.
std::string per_channel(GradientBuilder& b, const std::string& value) {
  Shape shape(b.shape_of(b.input(0)).size() - 1, 1);
  shape[0] = b.type_of(value).elements();
  return b.reshape(value, shape);
}

// y = scale (x - mean) / sqrt(var + epsilon) + bias
struct Normalized {
  std::string inverse_deviation;  // 1 / sqrt(var + epsilon)
  std::string value;              // (x - mean) / sqrt(var + epsilon)
};

Normalized normalized(GradientBuilder& b, bool training, const std::vector<std::int64_t>& axes) {
  const std::string x = b.input(0);
  const std::string mean = training ? b.mean(x, axes) : per_channel(b, b.input(3));
  const std::string centred = b.sub(x, mean);
  const std::string variance =
      training ? b.mean(b.mul(centred, centred), axes) : per_channel(b, b.input(4));
  const std::string deviation =
      b.append("sqrt", "Sqrt", {b.offset(variance, attribute_or(b.node(), "epsilon", 1e-5))});
  const std::string inverse = b.append("reciprocal", "Reciprocal", {deviation});
  return {inverse, b.mul(centred, inverse)};
}

// Cotangent of x through the statistics of the batch (Ioffe and Szegedy 2015, section 3, gathered):
// scale / deviation * (g - mean(g) - xhat mean(g xhat)).
std::string through_statistics(GradientBuilder& b, const Normalized& x, const std::string& g,
                               const std::vector<std::int64_t>& axes) {
  const std::string slope = b.mul(per_channel(b, b.input(1)), x.inverse_deviation);
  const std::string of_mean = b.mean(g, axes);
  const std::string of_variance = b.mul(x.value, b.mean(b.mul(g, x.value), axes));
  return b.mul(slope, b.sub(b.sub(g, of_mean), of_variance));
}

// y - softmax-weighted sum: the adjoint of LogSoftmax at probabilities `p`.
std::string log_softmax_adjoint(GradientBuilder& b, const std::string& p, const std::string& g,
                                std::int64_t axis) {
  return b.sub(g, b.mul(p, b.sum(g, {axis}, true)));
}

std::string negative_log_likelihood_grad(GradientBuilder& b, const std::string& g,
                                         const Shape& shape) {
  Attributes attributes = b.node().attributes;
  attributes["input_shape"] = shape;
  return b.append("log_probability", "NegativeLogLikelihoodGrad", {b.input(1), b.input(2), g},
                  attributes);
}

// Cotangent of the class weights w where g is that of a loss -w[label] l[label], l being logarithms
// (or whatever stands in their place). The mean is divided by the sum of the labels' weights W, so
// w[c] gets the sum over its labels of g (-l - mean) / W. Ignored labels have no part in it.
class ClassWeightRule {
 public:
  ClassWeightRule(GradientBuilder& b, std::string labels, std::string weights)
      : b_(b), labels_(std::move(labels)), weights_(std::move(weights)) {
    attributes_ = b.node().attributes;
    attributes_.erase("input_shape");
  }

  std::string cotangent(const std::string& logarithms, const std::string& g) {
    Attributes single = attributes_;
    single["reduction"] = "none";
    const std::string losses =
        b_.append("loss", "NegativeLogLikelihoodLoss", {logarithms, labels_}, single);
    std::string of_labels = b_.mul(g, losses);
    if (attribute_or(b_.node(), "reduction", "mean") == "mean") {
      const std::string mean = b_.append("mean", "NegativeLogLikelihoodLoss",
                                         {logarithms, labels_, weights_}, attributes_);
      const std::string share = b_.div(g, total_weight());
      of_labels = counted(b_.mul(share, b_.sub(losses, mean)));
    }
    return b_.append("class_weight", "GatherGrad", {classes(), of_labels},
                     {{"axis", std::int64_t{0}}, {"input_shape", b_.shape_of(weights_)}});
  }

 private:
  bool ignores() const { return attributes_.count("ignore_index") > 0; }
  std::string ignored_label() {
    const std::int64_t ignored = attribute_or(b_.node(), "ignore_index", std::int64_t{0});
    const Tensor label = Tensor::scalar(ignored);
    return b_.constant_value(converted(label.ref(), b_.type_of(labels_).dtype));
  }
  std::string is_ignored() { return b_.append("ignored", "Equal", {labels_, ignored_label()}); }
  // The value where a label counts, else 0.
  std::string counted(const std::string& value) {
    if (!ignores()) return value;
    return select(b_, is_ignored(), number_like(b_, 0, value), value);
  }
  // The labels, ignored ones replaced by class 0.
  std::string classes() {
    if (!ignores()) return labels_;
    return select(b_, is_ignored(), number_like(b_, 0, labels_), labels_);
  }
  std::string total_weight() {
    const std::string of_labels = counted(b_.append("gather", "Gather", {weights_, classes()}));
    return b_.sum_to(of_labels, {});
  }

  GradientBuilder& b_;
  std::string labels_, weights_;
  Attributes attributes_;
};

void give_class_weights(GradientBuilder& b, std::size_t index, const std::string& labels,
                        const std::pair<std::string, std::string>& logarithms_and_cotangent) {
  if (!b.wants(index)) return;
  const auto& [logarithms, g] = logarithms_and_cotangent;
  b.give(index, ClassWeightRule(b, labels, b.input(index)).cotangent(logarithms, g));
}

}  // namespace

// The running statistics are no function of anything to be differentiated: their cotangents, and
// in training those of the old statistics, are not passed on.
Status gradient_of_batch_normalization(GradientBuilder& b) {
  const std::string g = b.cotangent(0);
  if (g.empty()) return {};
  const bool training = attribute_or(b.node(), "training_mode", std::int64_t{0}) != 0;
  const std::vector<std::int64_t> axes = axes_but_channels(b.shape_of(g).size());
  const Normalized x = normalized(b, training, axes);
  if (b.wants(2)) b.give(2, b.sum(g, axes, false));
  if (b.wants(1)) b.give(1, b.sum(b.mul(g, x.value), axes, false));
  if (training) {
    if (b.wants(0)) b.give(0, through_statistics(b, x, g, axes));
    return {};
  }
  const std::string slope = b.mul(per_channel(b, b.input(1)), x.inverse_deviation);
  const std::string direct = b.mul(g, slope);
  b.give(0, direct);
  if (b.wants(3)) b.give(3, b.neg(b.sum(direct, axes, false)));
  if (b.wants(4)) {
    const std::string of_variance = b.mul(b.mul(direct, x.value), x.inverse_deviation);
    b.give(4, b.scale(b.sum(of_variance, axes, false), -0.5));
  }
  return {};
}

// y = x s^-beta with s = bias + alpha / size * window sum of x^2 (Krizhevsky et al. 2012, 3.3), so
// dx = g s^-beta - 2 alpha beta / size * x * adjoint window sum of (g x s^(-beta-1)).
Status gradient_of_lrn(GradientBuilder& b) {
  const std::string g = b.cotangent(), x = b.input(0);
  const DType dtype = b.type_of(x).dtype;
  const std::int64_t size = attribute_or(b.node(), "size", std::int64_t{1});
  const double alpha = attribute_or(b.node(), "alpha", 1e-4) / static_cast<double>(size);
  const double beta = attribute_or(b.node(), "beta", 0.75);
  const auto window_sum = [&](const std::string& value, std::int64_t transposed) {
    return b.append("window_sum", "ChannelWindowSum", {value},
                    {{"size", size}, {"transposed", transposed}});
  };
  const auto power = [&](const std::string& value, double exponent) {
    return b.append("pow", "Pow", {value, b.scalar(exponent, dtype)});
  };
  const std::string s =
      b.offset(b.scale(window_sum(b.mul(x, x), 0), alpha), attribute_or(b.node(), "bias", 1.0));
  const std::string direct = b.mul(g, power(s, -beta));
  const std::string crossed = window_sum(b.mul(b.mul(g, x), power(s, -beta - 1)), 1);
  b.give(0, b.sub(direct, b.scale(b.mul(x, crossed), 2 * alpha * beta)));
  return {};
}

// y (g - sum(g y))
Status gradient_of_softmax(GradientBuilder& b) {
  const std::string g = b.cotangent(), y = b.output(0);
  const std::int64_t axis = attribute_or(b.node(), "axis", std::int64_t{-1});
  b.give(0, b.mul(y, b.sub(g, b.sum(b.mul(g, y), {axis}, true))));
  return {};
}

Status gradient_of_log_softmax(GradientBuilder& b) {
  const std::int64_t axis = attribute_or(b.node(), "axis", std::int64_t{-1});
  const std::string p = b.append("exp", "Exp", {b.output(0)});
  b.give(0, log_softmax_adjoint(b, p, b.cotangent(), axis));
  return {};
}

// Outputs: the loss and the logarithms of the probabilities.
Status gradient_of_softmax_cross_entropy_loss(GradientBuilder& b) {
  if (!b.cotangent(0).empty()) give_class_weights(b, 2, b.input(1), {b.output(1), b.cotangent(0)});
  if (!b.wants(0)) return {};
  const Shape shape = b.shape_of(b.input(0));
  std::string g = b.cotangent(1);
  if (const std::string of_loss = b.cotangent(0); !of_loss.empty()) {
    const std::string of_logarithm = negative_log_likelihood_grad(b, of_loss, shape);
    g = g.empty() ? of_logarithm : b.add(g, of_logarithm);
  }
  const std::string p = b.append("softmax", "Softmax", {b.input(0)}, {{"axis", std::int64_t{1}}});
  b.give(0, log_softmax_adjoint(b, p, g, 1));
  return {};
}

Status gradient_of_negative_log_likelihood_loss(GradientBuilder& b) {
  give_class_weights(b, 2, b.input(1), {b.input(0), b.cotangent()});
  b.give(0, negative_log_likelihood_grad(b, b.cotangent(), Shape(b.shape_of(b.input(0)))));
  return {};
}

// The loss is linear in the logarithms, so it is the adjoint of its adjoint.
Status gradient_of_negative_log_likelihood_grad(GradientBuilder& b) {
  give_class_weights(b, 1, b.input(0), {b.cotangent(), b.input(2)});
  Attributes attributes = b.node().attributes;
  attributes.erase("input_shape");
  std::vector<std::string> inputs = {b.cotangent(), b.input(0)};
  if (!b.input(1).empty()) inputs.push_back(b.input(1));
  b.give(2, b.append("loss", "NegativeLogLikelihoodLoss", inputs, attributes));
  return {};
}

}  // namespace gradstone
