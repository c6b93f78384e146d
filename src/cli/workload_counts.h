// SPDX-License-Identifier: Apache-2.0
// What one sample costs a workload, counted from its graph. For `list workloads` and for the
// context of runs.
#pragma once

#include <cstdint>
#include <optional>

#include "recipe/workload.h"
#include "record/record.h"

namespace gradstone {

struct WorkloadCounts {
  std::int64_t parameters = 0;
  // Of the training graph for one sample. A multiply-add counts two FLOPs.
  std::int64_t forward_multiply_adds = 0;  // of Conv and Gemm-like operators only
  std::int64_t forward_flops = 0;
  std::optional<std::int64_t> training_flops;  // forward and backward; none without a gradient
};

// An error is that of check_graph.
Result<WorkloadCounts> count_workload(const WorkloadSize& size);

// RunRecord::context["workload"], with the keys of analysis/metric_catalogue.h.
Json to_json(const WorkloadCounts& counts);

}  // namespace gradstone
