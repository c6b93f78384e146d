// SPDX-License-Identifier: Apache-2.0
// Every figure that Gradstone derives from a record: one row a figure. To add one, add its row and
// its test. docs/metrics.md is printed from this table.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "record/record.h"

namespace gradstone {

enum class Better { kHigher, kLower, kNeither };
std::string_view name_of(Better better);  // "higher", "lower", "neither"

struct MetricDef {
  std::string_view name;
  std::string_view unit;  // "1" has none
  Better better = Better::kNeither;
  std::string_view help;  // what it is, and how it is computed
  // From samples and context; nullopt where the record does not hold what it needs.
  std::optional<MetricValue> (*compute)(const RunRecord&) = nullptr;
};

// In the order in which reports show them.
std::span<const MetricDef> metric_catalogue();
const MetricDef* find_metric(std::string_view name);

// Fills record.metrics with every figure that its samples and context give.
void compute_metrics(RunRecord& record);

// Keys of context["workload"], counted from the graph by whoever makes the record. FLOPs count a
// multiply-add as two.
inline constexpr std::string_view kWorkloadSection = "workload";
inline constexpr std::string_view kParameters = "parameters";
inline constexpr std::string_view kForwardFlops = "forward_flops_per_sample";
inline constexpr std::string_view kTrainingFlops = "training_flops_per_sample";

}  // namespace gradstone
