// SPDX-License-Identifier: Apache-2.0
// The options of `gradstone run`, as typed, and the plan that they ask for.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "run/plan.h"

namespace CLI {
class App;
}

namespace gradstone {

struct RunOptions {
  std::vector<std::string> workloads;
  std::vector<std::string> engines = {"all"};
  std::vector<std::int64_t> batches;
  std::vector<int> threads;
  std::string size, data, device = "cpu", math, label, weights;
  std::string dtype = "float32", dropout = "native";
  std::string time_limit, memory_limit;
  std::int64_t steps = 0, epochs = 0;
  std::uint64_t seed = 1;
  bool deterministic = false, no_evaluation = false;
  // Not of the runs themselves:
  bool save = false, dry_run = false, quiet = false, verbose = false, strict = false;
  std::string store, format = "table", output;
};

void add_run_options(CLI::App& app, RunOptions& options);

// Usage error for text that is no dtype, duration, size ...
Result<PlanRequest> plan_request(const RunOptions& options);

}  // namespace gradstone
