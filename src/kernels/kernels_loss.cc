// SPDX-License-Identifier: Apache-2.0
// Cross entropy. Scores are [N, C, d...], labels [N, d...] of int32 or int64; a label equal to
// ignore_index adds nothing. Sums are taken in double.
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/kernel.h"

namespace gradstone::kernels {
namespace {

struct LossGeometry {
  std::int64_t samples = 0, classes = 0, positions = 0;
  // Place in the scores of class `c` for label number `i`.
  std::int64_t score(std::int64_t i, std::int64_t c) const {
    return (i / positions * classes + c) * positions + i % positions;
  }
  std::int64_t labels() const { return samples * positions; }
};

LossGeometry geometry_of(const Shape& scores) {
  LossGeometry geometry{scores[0], scores[1], 1};
  for (std::size_t i = 2; i < scores.size(); ++i) geometry.positions *= scores[i];
  return geometry;
}

// The labels as int64 with ignored ones as -1. An error names the first that is out of range.
Result<std::vector<std::int64_t>> read_labels(const KernelCall& call, std::size_t input,
                                              std::int64_t classes) {
  const std::int64_t none = std::numeric_limits<std::int64_t>::min();
  const std::int64_t ignored = attribute_or(call.node, "ignore_index", none);
  const Tensor values = converted(call.inputs[input], DType::kInt64);
  std::vector<std::int64_t> labels;
  for (const std::int64_t label : values.as<std::int64_t>()) {
    if (label == ignored && ignored != none) {
      labels.push_back(-1);
    } else if (label >= 0 && label < classes) {
      labels.push_back(label);
    } else {
      return failed("label " + std::to_string(label) + " at position " +
                    std::to_string(labels.size()) + " is outside 0.." +
                    std::to_string(classes - 1));
    }
  }
  return labels;
}

// Weight of each label: of its class, 1 without class weights, 0 if ignored.
template <class T>
std::vector<double> label_weights(const KernelCall& call, const std::vector<std::int64_t>& labels,
                                  std::size_t weight_input) {
  std::vector<double> weights;
  weights.reserve(labels.size());
  for (const std::int64_t label : labels) {
    double weight = label < 0 ? 0 : 1;
    if (label >= 0 && call.has_input(weight_input)) {
      weight = static_cast<double>(call.input<T>(weight_input)[static_cast<std::size_t>(label)]);
    }
    weights.push_back(weight);
  }
  return weights;
}

double sum(const std::vector<double>& values) {
  double total = 0;
  for (const double value : values) total += value;
  return total;
}

// The loss from log probabilities, which `log_probability(place)` gives.
template <class T, class LogProbability>
Status negative_log_likelihood(const KernelCall& call, LogProbability log_probability) {
  const LossGeometry geometry = geometry_of(call.input_shape(0));
  const auto labels = TRY(read_labels(call, 1, geometry.classes));
  const std::vector<double> weights = label_weights<T>(call, labels, 2);
  const std::string reduction = attribute_or(call.node, "reduction", "mean");
  const std::span<T> loss = call.output<T>(0);
  double total = 0;
  for (std::int64_t i = 0; i < geometry.labels(); ++i) {
    const std::int64_t label = labels[i];
    const double value = label < 0 ? 0.0 : -weights[i] * log_probability(geometry.score(i, label));
    if (reduction == "none") loss[i] = static_cast<T>(value);
    total += value;
  }
  if (reduction == "mean") loss[0] = static_cast<T>(total / sum(weights));
  if (reduction == "sum") loss[0] = static_cast<T>(total);
  return {};
}

template <class T>
Status negative_log_likelihood_loss(const KernelCall& call) {
  const std::span<const T> scores = call.input<T>(0);
  return negative_log_likelihood<T>(
      call, [&](std::int64_t at) { return static_cast<double>(scores[at]); });
}

// log softmax over the classes, in double.
template <class T>
std::vector<double> log_probabilities(std::span<const T> scores, const LossGeometry& geometry) {
  std::vector<double> result(scores.size());
  for (std::int64_t i = 0; i < geometry.labels(); ++i) {
    double maximum = -std::numeric_limits<double>::infinity(), total = 0;
    for (std::int64_t c = 0; c < geometry.classes; ++c) {
      maximum = std::max(maximum, static_cast<double>(scores[geometry.score(i, c)]));
    }
    for (std::int64_t c = 0; c < geometry.classes; ++c) {
      total += std::exp(static_cast<double>(scores[geometry.score(i, c)]) - maximum);
    }
    for (std::int64_t c = 0; c < geometry.classes; ++c) {
      const std::int64_t at = geometry.score(i, c);
      result[at] = static_cast<double>(scores[at]) - maximum - std::log(total);
    }
  }
  return result;
}

template <class T>
Status softmax_cross_entropy_loss(const KernelCall& call) {
  const LossGeometry geometry = geometry_of(call.input_shape(0));
  const std::vector<double> logs = log_probabilities(call.input<T>(0), geometry);
  if (call.wants_output(1)) {
    const std::span<T> out = call.output<T>(1);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(logs[i]);
  }
  if (!call.wants_output(0)) return {};
  return negative_log_likelihood<T>(call, [&](std::int64_t at) { return logs[at]; });
}

// Inputs: labels, class weights or "", cotangent of the loss.
template <class T>
Status negative_log_likelihood_grad(const KernelCall& call) {
  const LossGeometry geometry = geometry_of(call.output_shape(0));
  const auto labels = TRY(read_labels(call, 0, geometry.classes));
  const std::vector<double> weights = label_weights<T>(call, labels, 1);
  const std::string reduction = attribute_or(call.node, "reduction", "mean");
  const std::span<const T> cotangent = call.input<T>(2);
  const std::span<T> out = call.output<T>(0);
  const double scale = reduction == "mean" ? 1 / sum(weights) : 1.0;
  for (T& value : out) value = 0;
  for (std::int64_t i = 0; i < geometry.labels(); ++i) {
    if (labels[i] < 0) continue;
    const auto incoming = static_cast<double>(cotangent[reduction == "none" ? i : 0]);
    out[geometry.score(i, labels[i])] = static_cast<T>(-weights[i] * scale * incoming);
  }
  return {};
}

}  // namespace

std::vector<KernelRow> loss_kernels() {
  return {{"", "SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss<float>,
           softmax_cross_entropy_loss<double>},
          {"", "NegativeLogLikelihoodLoss", negative_log_likelihood_loss<float>,
           negative_log_likelihood_loss<double>},
          {kGradstoneDomain, "NegativeLogLikelihoodGrad", negative_log_likelihood_grad<float>,
           negative_log_likelihood_grad<double>}};
}

}  // namespace gradstone::kernels
