// SPDX-License-Identifier: Apache-2.0
// The options of `gradstone run`, as typed, and the plan that they ask for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/model_workload.h"
#include "run/plan.h"

namespace CLI {
class App;
}

namespace gradstone {

// Lists and numbers are text here: plan_request reads them, and is stricter than CLI11. "" is what
// was not given (the command line refuses empty values).
struct RunOptions {
  std::vector<std::string> workloads;
  ModelOptions model;
  std::vector<std::string> engines = {"all"};
  std::vector<std::string> batches, threads;
  std::string size, data, device = "cpu", math, label, weights;
  std::string dtype = "float32", dropout = "native";
  std::string steps, epochs, seed, time_limit, memory_limit;
  bool deterministic = false, no_evaluation = false;
  // Not of the runs themselves:
  bool save = false, dry_run = false, quiet = false, verbose = false, strict = false;
  std::string store, format = "table", output;
};

void add_run_options(CLI::App& app, RunOptions& options);

// The elements of lists by comma: `-b 8 -b 16,32` is three. Usage error for an empty one.
Result<std::vector<std::string>> split_lists(std::string_view option,
                                             const std::vector<std::string>& lists);
// Of --dtype.
Result<DType> training_dtype(const std::string& text);

// Usage error for text that is no dtype, number, duration, size ... or a label that could not be
// named again.
Result<PlanRequest> plan_request(const RunOptions& options);

}  // namespace gradstone
