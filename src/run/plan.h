// SPDX-License-Identifier: Apache-2.0
// From lists of choices to runs: the cartesian product in a stable order. Nothing is started here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "recipe/workload.h"
#include "run/engine_catalogue.h"
#include "run/spec.h"

namespace gradstone {

// What `gradstone run` was asked for. A list with one element is the usual case; an empty list of
// batches or threads means the default.
struct PlanRequest {
  std::vector<std::string> workloads;  // names
  std::vector<std::string> engines;    // references, or "all"
  std::vector<std::int64_t> batches;
  std::vector<int> threads;
  RunSpec common;  // every other choice; `plan` "" gets a new id
};

// Workloads change slowest, then engines, batches, threads; each list keeps its order and loses
// repetitions. Every spec is resolved and has passed check_spec. Usage errors: an unknown workload
// or engine with the nearest name, a contradiction of one of the specs.
Result<std::vector<RunSpec>> make_plan(const PlanRequest& request, const EngineCatalogue& engines,
                                       const std::vector<Workload>& workloads);

// nullptr where there is none of that name.
const Workload* find_workload(const std::vector<Workload>& workloads, std::string_view name);
// Usage error where there is none, with the nearest name.
Result<const Workload*> known_workload(const std::vector<Workload>& workloads,
                                       const std::string& name);
// The engines of several references, each once. Errors as EngineCatalogue::choose.
Result<std::vector<EngineChoice>> chosen_engines(const EngineCatalogue& engines,
                                                 const std::vector<std::string>& references);

// "20261130-093512-3fa9c1": UTC time of `unix_ms` and 24 random bits. For runs and plans.
std::string new_id(std::int64_t unix_ms);

}  // namespace gradstone
