// SPDX-License-Identifier: Apache-2.0
// One run as data: what was asked, what came of it, on which machine. Everything that stores,
// compares or prints reads this and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace gradstone {

enum class Outcome {
  kOk,
  kUnsupported,
  kOutOfMemory,
  kTimedOut,
  kCrashed,
  kDiverged,
  kWrongResult,
  kInvalid,
};
std::string_view name_of(Outcome outcome);  // "ok", "out_of_memory", ...
std::optional<Outcome> outcome_from_name(std::string_view name);

// A figure. `low` and `high` bound the 95 % interval where there is one.
struct MetricValue {
  double value = 0;
  std::string unit;
  std::optional<double> low, high;
};

struct RunRecord {
  std::string id;     // "20261130-093512-3fa9c1": unique, sorts by the second of its start
  std::string plan;   // id of the command that made it
  std::string label;  // as given by --label
  std::string workload, size,
      engine;  // engine as "name@version", with ":argument" where one was given
  int rank = 0, world_size = 1;
  std::string device = "cpu";
  std::int64_t started_ms = 0;   // Unix time
  std::int64_t finished_ms = 0;  // 0: never finished

  Outcome outcome = Outcome::kInvalid;
  std::string message;  // why, when not ok; the framework's own words inside
  std::string command;  // repeats the run

  // Figures by name; the names, units and formulas stand in analysis/metric_catalogue.h.
  std::map<std::string, MetricValue> metrics;
  // Raw samples by name, in order of time: "loss" (one a training step), "step_time" (s, the
  // synchronised window), ...
  std::map<std::string, std::vector<double>> samples;
  // Everything else that matters: context["settings"], ["machine"], ["engine"], ["environment"],
  // ["data"], ...
  Json context = Json::object();
};

// The schema "gradstone/1" (docs/record-json.md). Reading refuses other schemas by name.
Json to_json(const RunRecord& record);
Result<RunRecord> record_from_json(const Json& json);
Json records_to_json(const std::vector<RunRecord>& records);
// Of a document of records, or of one record as `--format jsonl` writes it on a line.
Result<std::vector<RunRecord>> records_from_json(const Json& json);

}  // namespace gradstone
