// SPDX-License-Identifier: Apache-2.0
#include "analysis/metric_catalogue.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/statistics.h"
#include "record/sample_names.h"

namespace gradstone {
namespace {

namespace names = sample_names;
using Value = std::optional<MetricValue>;

// Below so many windows or epochs Student's t makes an interval that tells nothing; a worker measures
// as many windows at least.
constexpr std::size_t kLeastForInterval = 5;

// The unit is filled in from the row. No figure with an interval can be negative.
Value figure(const Estimate& estimate) {
  std::optional<double> low = estimate.low;
  if (low) *low = std::max(*low, std::min(estimate.value, 0.0));
  return MetricValue{estimate.value, "", low, estimate.high};
}
Value figure_of(Estimate estimate, std::size_t count) {
  if (count < kLeastForInterval) estimate.low = estimate.high = std::nullopt;
  return figure(estimate);
}
Value figure(double value) { return MetricValue{value, "", {}, {}}; }

std::span<const double> samples_of(const RunRecord& record, std::string_view name) {
  const auto found = record.samples.find(std::string(name));
  if (found == record.samples.end()) return {};
  return found->second;
}

Value first_of(const RunRecord& record, std::string_view name) {
  const auto samples = samples_of(record, name);
  return samples.empty() ? std::nullopt : figure(samples.front());
}

Value last_of(const RunRecord& record, std::string_view name) {
  const auto samples = samples_of(record, name);
  return samples.empty() ? std::nullopt : figure(samples.back());
}

Value counted(const RunRecord& record, std::string_view key) {
  const Result<Json> section = member(record.context, kWorkloadSection);
  if (!section.ok()) return std::nullopt;
  const Result<double> count = number_member(*section, key);
  return count.ok() ? figure(*count) : std::nullopt;
}

Value throughput(const RunRecord& record) {
  const auto counts = samples_of(record, names::kWindowSamples);
  const auto seconds = samples_of(record, names::kWindowSeconds);
  if (counts.empty() || counts.size() != seconds.size()) return std::nullopt;
  return figure_of(ratio_estimate(counts, seconds), counts.size());
}

Value step_time(const RunRecord& record) {
  const auto samples = samples_of(record, names::kStepTime);
  return samples.empty() ? std::nullopt : figure(median_estimate(samples));
}

Value synchronisation_cost(const RunRecord& record) {
  const auto steps = samples_of(record, names::kStepTime);
  const auto batch = samples_of(record, names::kBatch);
  const Value rate = throughput(record);
  if (!rate || steps.empty() || batch.empty()) return std::nullopt;
  return figure(mean(steps) * rate->value / batch.front() - 1);
}

Value input_wait(const RunRecord& record) {
  const auto waits = samples_of(record, names::kInputWait);
  const auto seconds = samples_of(record, names::kWindowSeconds);
  if (waits.empty() || waits.size() != seconds.size()) return std::nullopt;
  return figure_of(ratio_estimate(waits, seconds), waits.size());
}

Value final_loss(const RunRecord& record) {
  constexpr std::size_t kLast = 20;
  const auto losses = samples_of(record, names::kLoss);
  if (losses.empty()) return std::nullopt;
  return figure(mean(losses.last(std::min(losses.size(), kLast))));
}

Value achieved_flops(const RunRecord& record) {
  const Value rate = throughput(record);
  const Value flops = counted(record, kTrainingFlops);
  if (!rate || !flops) return std::nullopt;
  const auto scaled = [&](std::optional<double> end) {
    if (end) *end *= flops->value;
    return end;
  };
  return figure(Estimate{rate->value * flops->value, scaled(rate->low), scaled(rate->high)});
}

Value peak_memory(const RunRecord& record) {
  const auto samples = samples_of(record, names::kPeakResidentBytes);
  if (samples.empty()) return std::nullopt;
  return figure(*std::max_element(samples.begin(), samples.end()));
}

Value epochs(const RunRecord& record) {
  const auto samples = samples_of(record, names::kEpochSeconds);
  return samples.empty() ? std::nullopt : figure(static_cast<double>(samples.size()));
}

constexpr std::array kCatalogue = std::to_array<MetricDef>({
    {"throughput", "samples/s", Better::kHigher,
     "training samples a second in the free-running windows: sum of samples over sum of seconds, "
     "interval by batch means, from 5 windows on",
     throughput},
    {"step_time", "s", Better::kLower,
     "median time of one training step in the synchronised window, interval by order statistics",
     step_time},
    {"synchronisation_cost", "1", Better::kLower,
     "how much longer a step takes when each is waited for: mean synchronised step time times "
     "throughput over batch, minus 1",
     synchronisation_cost},
    {"input_wait", "1", Better::kLower,
     "share of the free-running windows spent waiting for the next batch", input_wait},
    {"achieved_flops", "FLOP/s", Better::kHigher,
     "model FLOPs a second: throughput times training_flops_per_sample", achieved_flops},
    {"load_time", "s", Better::kLower, "time to load the network and its weights into the engine",
     [](const RunRecord& record) { return first_of(record, names::kLoadSeconds); }},
    {"first_step_time", "s", Better::kLower,
     "time of the very first step, with all that an engine prepares on the way",
     [](const RunRecord& record) { return first_of(record, names::kFirstStepSeconds); }},
    {"train_time", "s", Better::kLower, "time from the first update to the last",
     [](const RunRecord& record) { return first_of(record, names::kTrainSeconds); }},
    {"epoch_time", "s", Better::kLower,
     "mean time of one epoch of training, evaluation left out; interval by Student's t, from 5 "
     "epochs on",
     [](const RunRecord& record) {
       const auto samples = samples_of(record, names::kEpochSeconds);
       return samples.empty() ? std::nullopt : figure_of(mean_estimate(samples), samples.size());
     }},
    {"evaluation_time", "s", Better::kLower, "time of the last evaluation on the test split",
     [](const RunRecord& record) { return last_of(record, names::kEvaluationSeconds); }},
    {"test_accuracy", "1", Better::kHigher, "share of the test split classified rightly at the end",
     [](const RunRecord& record) { return last_of(record, names::kTestAccuracy); }},
    {"test_loss", "1", Better::kLower, "mean loss on the test split at the end",
     [](const RunRecord& record) { return last_of(record, names::kTestLoss); }},
    {"first_loss", "1", Better::kNeither, "training loss of the first step",
     [](const RunRecord& record) { return first_of(record, names::kLoss); }},
    {"final_loss", "1", Better::kLower, "mean training loss of the last 20 steps", final_loss},
    {"steps", "1", Better::kNeither, "updates made",
     [](const RunRecord& record) { return first_of(record, names::kSteps); }},
    {"epochs", "1", Better::kNeither, "passes over the training split that were completed", epochs},
    {"peak_memory", "B", Better::kLower, "largest resident set of the worker", peak_memory},
    {"parameters", "1", Better::kNeither, "elements of all trainable weights",
     [](const RunRecord& record) { return counted(record, kParameters); }},
    {"forward_flops_per_sample", "FLOP", Better::kNeither,
     "floating-point operations of the forward pass for one sample; a multiply-add counts two",
     [](const RunRecord& record) { return counted(record, kForwardFlops); }},
    {"training_flops_per_sample", "FLOP", Better::kNeither,
     "the same for the forward and the backward pass together",
     [](const RunRecord& record) { return counted(record, kTrainingFlops); }},
});

}  // namespace

std::string_view name_of(Better better) {
  switch (better) {
    case Better::kHigher:
      return "higher";
    case Better::kLower:
      return "lower";
    case Better::kNeither:
      return "neither";
  }
  CHECK(false, "a direction without a name");
}

std::span<const MetricDef> metric_catalogue() { return kCatalogue; }

const MetricDef* find_metric(std::string_view name) {
  for (const MetricDef& metric : kCatalogue) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

void compute_metrics(RunRecord& record) {
  for (const MetricDef& metric : kCatalogue) {
    if (std::optional<MetricValue> value = metric.compute(record)) {
      value->unit = metric.unit;
      record.metrics[std::string(metric.name)] = *std::move(value);
    }
  }
}

}  // namespace gradstone
