// SPDX-License-Identifier: Apache-2.0
#include "record/record.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace gradstone {
namespace {

constexpr std::string_view kSchema = "gradstone/1";
// A document of records wraps a context in a few levels more, and must be read again.
constexpr int kMaxContextLevels = 150;
static_assert(kMaxContextLevels + 10 < kMaxJsonDepth);

struct OutcomeName {
  Outcome outcome;
  std::string_view name;
};
constexpr std::array<OutcomeName, 8> kOutcomes = {{{Outcome::kOk, "ok"},
                                                   {Outcome::kUnsupported, "unsupported"},
                                                   {Outcome::kOutOfMemory, "out_of_memory"},
                                                   {Outcome::kTimedOut, "timed_out"},
                                                   {Outcome::kCrashed, "crashed"},
                                                   {Outcome::kDiverged, "diverged"},
                                                   {Outcome::kWrongResult, "wrong_result"},
                                                   {Outcome::kInvalid, "invalid"}}};

// The text fields, so that writing and reading cannot drift apart.
struct TextField {
  const char* key;
  std::string RunRecord::*member;
  bool required;
};
constexpr std::array<TextField, 9> kTextFields = {{{"run", &RunRecord::id, true},
                                                   {"plan", &RunRecord::plan, false},
                                                   {"label", &RunRecord::label, false},
                                                   {"workload", &RunRecord::workload, true},
                                                   {"size", &RunRecord::size, false},
                                                   {"engine", &RunRecord::engine, true},
                                                   {"device", &RunRecord::device, false},
                                                   {"message", &RunRecord::message, false},
                                                   {"command", &RunRecord::command, false}}};

// A number of a report: null stands for what JSON has no spelling for.
Result<double> number_of(const Json& json, const std::string& key) {
  if (json.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (json.is_number()) return json.get<double>();
  return unreadable("key '" + key + "': expected a number or null");
}

Result<std::int64_t> integer_or(const Json& object, const char* key, std::int64_t fallback) {
  if (!object.contains(key)) return fallback;
  return integer_member(object, key);
}

Json metric_to_json(const MetricValue& metric) {
  Json json = {{"value", number_or_null(metric.value)}, {"unit", metric.unit}};
  if (metric.low) json["low"] = number_or_null(*metric.low);
  if (metric.high) json["high"] = number_or_null(*metric.high);
  return json;
}

Result<MetricValue> metric_from_json(const Json& json) {
  MetricValue metric;
  metric.value = TRY(number_of(TRY(member(json, "value")), "value"));
  metric.unit = TRY(string_member(json, "unit"));
  if (json.contains("low")) metric.low = TRY(number_of(json["low"], "low"));
  if (json.contains("high")) metric.high = TRY(number_of(json["high"], "high"));
  return metric;
}

Result<std::vector<double>> series_from_json(const Json& json, const std::string& key) {
  if (!json.is_array()) return unreadable("key '" + key + "': expected an array of numbers");
  std::vector<double> values;
  values.reserve(json.size());
  for (const Json& element : json) values.push_back(TRY(number_of(element, key)));
  return values;
}

// An id names files and is typed by people.
Status check_id(const std::string& id) {
  const auto is_right = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  };
  if (!id.empty() && id.size() <= 80 && std::all_of(id.begin(), id.end(), is_right)) return {};
  return unreadable("key 'run': expected 1 to 80 letters, digits, '-', '_' or '.'");
}

Status read_ranks(const Json& json, RunRecord& record) {
  const std::int64_t rank = TRY(integer_or(json, "rank", 0));
  const std::int64_t world_size = TRY(integer_or(json, "world_size", 1));
  if (world_size < 1 || world_size > 1'000'000 || rank < 0 || rank >= world_size) {
    return unreadable("key 'rank': expected 0 <= rank < world_size <= 1000000");
  }
  record.rank = static_cast<int>(rank);
  record.world_size = static_cast<int>(world_size);
  return {};
}

Status read_figures(const Json& json, RunRecord& record) {
  for (const char* key : {"metrics", "samples", "context"}) {
    if (json.contains(key) && !json[key].is_object()) {
      return unreadable(std::string("key '") + key + "': expected an object");
    }
  }
  if (json.contains("metrics")) {
    for (const auto& [name, metric] : json["metrics"].items()) {
      Result<MetricValue> read = metric_from_json(metric);
      if (!read.ok()) return read.error().within("metric '" + name + "'");
      record.metrics[name] = *read;
    }
  }
  if (json.contains("samples")) {
    for (const auto& [name, series] : json["samples"].items()) {
      record.samples[name] = TRY(series_from_json(series, name));
    }
  }
  if (!json.contains("context")) return {};
  record.context = json["context"];
  if (nests_deeper(record.context, kMaxContextLevels)) {
    return unreadable("key 'context': nested deeper than " + std::to_string(kMaxContextLevels));
  }
  return {};
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  for (const OutcomeName& row : kOutcomes) {
    if (row.outcome == outcome) return row.name;
  }
  CHECK(false, "an outcome without a name");
}

std::optional<Outcome> outcome_from_name(std::string_view name) {
  for (const OutcomeName& row : kOutcomes) {
    if (row.name == name) return row.outcome;
  }
  return std::nullopt;
}

Json to_json(const RunRecord& record) {
  Json json = Json::object();
  for (const TextField& field : kTextFields) json[field.key] = record.*field.member;
  json["rank"] = record.rank;
  json["world_size"] = record.world_size;
  json["started_ms"] = record.started_ms;
  json["finished_ms"] = record.finished_ms;
  json["outcome"] = name_of(record.outcome);
  json["metrics"] = Json::object();
  for (const auto& [name, metric] : record.metrics) json["metrics"][name] = metric_to_json(metric);
  json["samples"] = Json::object();
  for (const auto& [name, values] : record.samples) {
    Json& series = json["samples"][name] = Json::array();
    for (const double value : values) series.push_back(number_or_null(value));
  }
  json["context"] = record.context;
  return json;
}

Result<RunRecord> record_from_json(const Json& json) {
  if (!json.is_object()) return unreadable("expected an object with key 'run'");
  RunRecord record;
  for (const TextField& field : kTextFields) {
    if (!field.required && !json.contains(field.key)) continue;
    record.*field.member = TRY(string_member(json, field.key));
  }
  TRY(check_id(record.id));
  TRY(read_ranks(json, record));
  record.started_ms = TRY(integer_or(json, "started_ms", 0));
  record.finished_ms = TRY(integer_or(json, "finished_ms", 0));
  const std::string outcome = TRY(string_member(json, "outcome"));
  const std::optional<Outcome> known = outcome_from_name(outcome);
  if (!known) return unreadable("key 'outcome': '" + outcome + "' is not an outcome");
  record.outcome = *known;
  TRY(read_figures(json, record));
  return record;
}

Json records_to_json(const std::vector<RunRecord>& records) {
  Json json = {{"schema", kSchema}, {"records", Json::array()}};
  for (const RunRecord& record : records) json["records"].push_back(to_json(record));
  return json;
}

Result<std::vector<RunRecord>> records_from_json(const Json& json) {
  const std::string schema = TRY(string_member(json, "schema"));
  if (schema != kSchema) {
    return unreadable("schema '" + schema + "': this Gradstone reads '" + std::string(kSchema) +
                      "'");
  }
  if (!json.contains("records") && json.contains("run")) {  // a line of `--format jsonl`
    return std::vector<RunRecord>{TRY(record_from_json(json))};
  }
  const Json list = TRY(member(json, "records"));
  if (!list.is_array()) return unreadable("key 'records': expected an array");
  std::vector<RunRecord> records;
  for (const Json& element : list) {
    Result<RunRecord> record = record_from_json(element);
    if (!record.ok()) {
      return record.error().within("record " + std::to_string(records.size() + 1));
    }
    records.push_back(*std::move(record));
  }
  return records;
}

}  // namespace gradstone
