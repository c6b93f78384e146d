// SPDX-License-Identifier: Apache-2.0
// Connectionist temporal classification (Graves, Fernandez, Gomez and Schmidhuber 2006; equation
// numbers are theirs), in log space and in double. l' is the label sequence with blanks between,
// before and behind: states 0 .. 2 L.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernel.h"

namespace gradstone::kernels {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_sum(double a, double b) {
  const double most = std::max(a, b);
  if (most == kNever) return kNever;
  return most + std::log(std::exp(a - most) + std::exp(b - most));
}

// One sequence of the batch.
template <class T>
struct Sequence {
  const T* logits = nullptr;  // of step 0 and class 0
  std::int64_t stride = 0;    // from step to step
  std::int64_t steps = 0;
  std::vector<std::int64_t> states;  // l'
  std::int64_t blank = 0;

  std::size_t size() const { return states.size(); }
  double log_probability(std::int64_t step, std::size_t state) const {
    return static_cast<double>(logits[step * stride + states[state]]);
  }
  // Whether a path may come to `state` from two before: not over a label, nor from a label to the
  // same one without a blank between.
  bool skips_to(std::size_t state) const {
    return state >= 2 && states[state] != blank && states[state] != states[state - 2];
  }
};

using Table = std::vector<std::vector<double>>;  // [step][state]

// alpha_t(s), the probability of all ways to have emitted l'_0 .. l'_s by step t: (5) to (7).
template <class T>
Table forward_table(const Sequence<T>& sequence) {
  Table alpha(static_cast<std::size_t>(sequence.steps),
              std::vector<double>(sequence.size(), kNever));
  for (std::int64_t t = 0; t < sequence.steps; ++t) {
    std::vector<double>& now = alpha[static_cast<std::size_t>(t)];
    for (std::size_t s = 0; s < sequence.size(); ++s) {
      double before = kNever;
      if (t == 0) {
        before = s < 2 ? 0 : kNever;
      } else {
        const std::vector<double>& last = alpha[static_cast<std::size_t>(t - 1)];
        before = last[s];
        if (s >= 1) before = log_sum(before, last[s - 1]);
        if (sequence.skips_to(s)) before = log_sum(before, last[s - 2]);
      }
      now[s] = before + sequence.log_probability(t, s);
    }
  }
  return alpha;
}

// The same from the end, (9) to (11), but without the probability of step t itself: what follows
// after l'_s was emitted at t.
template <class T>
Table backward_table(const Sequence<T>& sequence) {
  const std::size_t size = sequence.size();
  Table beta(static_cast<std::size_t>(sequence.steps), std::vector<double>(size, kNever));
  for (std::int64_t t = sequence.steps; t-- > 0;) {
    std::vector<double>& now = beta[static_cast<std::size_t>(t)];
    for (std::size_t s = 0; s < size; ++s) {
      if (t == sequence.steps - 1) {
        now[s] = s + 2 >= size ? 0 : kNever;
        continue;
      }
      const std::vector<double>& next = beta[static_cast<std::size_t>(t + 1)];
      const auto through = [&](std::size_t to) {
        return next[to] + sequence.log_probability(t + 1, to);
      };
      now[s] = through(s);
      if (s + 1 < size) now[s] = log_sum(now[s], through(s + 1));
      if (s + 2 < size && sequence.skips_to(s + 2)) now[s] = log_sum(now[s], through(s + 2));
    }
  }
  return beta;
}

// log p(l | x): the last label or the blank behind it ends the path (8). No steps emit nothing.
template <class T>
double log_likelihood(const Sequence<T>& sequence, const Table& alpha) {
  const std::size_t size = sequence.size();
  if (sequence.steps == 0) return size == 1 ? 0 : kNever;
  const std::vector<double>& last = alpha.back();
  return size == 1 ? last[0] : log_sum(last[size - 1], last[size - 2]);
}

// What the inputs of a node say, checked.
template <class T>
struct Batch {
  std::vector<Sequence<T>> sequences;
  std::vector<double> scale;  // of each loss in the reduced one
  bool reduced = true;
  bool zero_infinity = false;
};

Result<std::vector<std::int64_t>> lengths_of(const KernelCall& call, std::size_t input,
                                             std::int64_t most, const std::string& what) {
  const Tensor values = converted(call.inputs[input], DType::kInt64);
  const std::span<const std::int64_t> lengths = values.as<std::int64_t>();
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    if (lengths[n] >= 0 && lengths[n] <= most) continue;
    return failed(what + " " + std::to_string(lengths[n]) + " of sequence " + std::to_string(n) +
                  " is outside 0.." + std::to_string(most));
  }
  return std::vector<std::int64_t>(lengths.begin(), lengths.end());
}

// l' of one sequence.
Result<std::vector<std::int64_t>> states_of(std::span<const std::int64_t> labels,
                                            std::int64_t blank, std::int64_t classes) {
  std::vector<std::int64_t> states = {blank};
  for (const std::int64_t label : labels) {
    if (label < 0 || label >= classes || label == blank) {
      return failed("label " + std::to_string(label) + " is the blank or outside 0.." +
                    std::to_string(classes - 1));
    }
    states.insert(states.end(), {label, blank});
  }
  return states;
}

template <class T>
Result<Batch<T>> batch_of(const KernelCall& call) {
  const Shape& shape = call.input_shape(0);
  const std::int64_t batch = shape[1], classes = shape[2], width = call.input_shape(1)[1];
  const auto steps = TRY(lengths_of(call, 2, shape[0], "input length"));
  const auto lengths = TRY(lengths_of(call, 3, width, "label length"));
  const Tensor labels = converted(call.inputs[1], DType::kInt64);
  const std::string reduction = attribute_or(call.node, "reduction", "mean");
  Batch<T> result;
  result.reduced = reduction != "none";
  result.zero_infinity = attribute_or(call.node, "zero_infinity", std::int64_t{0}) != 0;
  for (std::int64_t n = 0; n < batch; ++n) {
    const auto i = static_cast<std::size_t>(n);
    Sequence<T> sequence;
    sequence.logits = call.input<T>(0).data() + n * classes;
    sequence.stride = batch * classes;
    sequence.steps = steps[i];
    sequence.blank = attribute_or(call.node, "blank", std::int64_t{0});
    const auto own = labels.as<std::int64_t>().subspan(static_cast<std::size_t>(n * width),
                                                       static_cast<std::size_t>(lengths[i]));
    sequence.states =
        TRY(states_of(own, sequence.blank, classes).within("sequence " + std::to_string(n)));
    result.sequences.push_back(std::move(sequence));
    const auto weight = static_cast<double>(batch * std::max<std::int64_t>(lengths[i], 1));
    result.scale.push_back(reduction == "mean" ? 1 / weight : 1);
  }
  return result;
}

template <class T>
Status ctc_loss(const KernelCall& call) {
  const Batch<T> batch = TRY(batch_of<T>(call));
  const std::span<T> loss = call.output<T>(0);
  double total = 0;
  for (std::size_t n = 0; n < batch.sequences.size(); ++n) {
    const Sequence<T>& sequence = batch.sequences[n];
    const double likelihood = log_likelihood(sequence, forward_table(sequence));
    const double value = likelihood == kNever && batch.zero_infinity ? 0 : -likelihood;
    if (!batch.reduced) loss[n] = static_cast<T>(value);
    total += batch.scale[n] * value;
  }
  if (batch.reduced) loss[0] = static_cast<T>(total);
  return {};
}

// d(-log p) / d log y_t(k) = -1/p times the sum over the states s of label k of alpha_t(s) beta_t(s):
// (14) with the factor y of d log y. Where no path exists it is NaN, or 0 with zero_infinity.
template <class T>
Status ctc_loss_grad(const KernelCall& call) {
  const Batch<T> batch = TRY(batch_of<T>(call));
  const std::span<const T> cotangent = call.input<T>(4);
  const std::span<T> gradient = call.output<T>(0);
  std::fill(gradient.begin(), gradient.end(), T(0));
  const std::int64_t classes = call.input_shape(0)[2];
  std::vector<double> row(static_cast<std::size_t>(classes));
  for (std::size_t n = 0; n < batch.sequences.size(); ++n) {
    const Sequence<T>& sequence = batch.sequences[n];
    const Table alpha = forward_table(sequence), beta = backward_table(sequence);
    const double likelihood = log_likelihood(sequence, alpha);
    if (likelihood == kNever && batch.zero_infinity) continue;
    const double factor = -batch.scale[n] * static_cast<double>(cotangent[batch.reduced ? 0 : n]);
    for (std::int64_t t = 0; t < sequence.steps; ++t) {
      std::fill(row.begin(), row.end(), 0.0);
      for (std::size_t s = 0; s < sequence.size(); ++s) {
        const auto step = static_cast<std::size_t>(t);
        row[static_cast<std::size_t>(sequence.states[s])] +=
            std::exp(alpha[step][s] + beta[step][s] - likelihood);
      }
      T* target = gradient.data() + t * sequence.stride + static_cast<std::int64_t>(n) * classes;
      for (std::int64_t k = 0; k < classes; ++k) {
        target[k] = static_cast<T>(factor * row[static_cast<std::size_t>(k)]);
      }
    }
  }
  return {};
}

}  // namespace

std::vector<KernelRow> ctc_kernels() {
  return {{kGradstoneDomain, "CTCLoss", ctc_loss<float>, ctc_loss<double>},
          {kGradstoneDomain, "CTCLossGrad", ctc_loss_grad<float>, ctc_loss_grad<double>}};
}

}  // namespace gradstone::kernels
