// SPDX-License-Identifier: Apache-2.0
#include "store/record_rows.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/hash.h"

namespace gradstone {

// A metric whose step is NULL is of the whole run. Series are little-endian float64;
// their digest (XXH3-128) tells damage that would otherwise pass for a measurement.
const char* const kCreateTables = R"(
CREATE TABLE runs (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  plan TEXT NOT NULL,
  label TEXT NOT NULL,
  workload TEXT NOT NULL,
  size TEXT NOT NULL,
  engine TEXT NOT NULL,
  device TEXT NOT NULL,
  rank INTEGER NOT NULL,
  world_size INTEGER NOT NULL,
  started_ms INTEGER NOT NULL,
  finished_ms INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  message TEXT NOT NULL,
  command TEXT NOT NULL,
  context TEXT NOT NULL) STRICT;
CREATE INDEX runs_by_plan ON runs (plan);
CREATE INDEX runs_by_label ON runs (label);
CREATE INDEX runs_by_start ON runs (started_ms);
CREATE TABLE metrics (
  run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
  rank INTEGER NOT NULL,
  name TEXT NOT NULL,
  step INTEGER,
  value REAL,
  low REAL,
  high REAL,
  unit TEXT NOT NULL) STRICT;
CREATE INDEX metrics_of_run ON metrics (run);
CREATE TABLE series (
  run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
  rank INTEGER NOT NULL,
  name TEXT NOT NULL,
  data BLOB NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (run, rank, name)) STRICT;
)";

namespace {

constexpr std::string_view kInsertRun =
    "INSERT INTO runs (id, plan, label, workload, size, engine, device, rank, world_size, "
    "started_ms, finished_ms, outcome, message, command, context) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr std::string_view kInsertMetric =
    "INSERT INTO metrics (run, rank, name, step, value, low, high, unit) "
    "VALUES (?, ?, ?, NULL, ?, ?, ?, ?)";
constexpr std::string_view kInsertSeries =
    "INSERT INTO series (run, rank, name, data, digest) VALUES (?, ?, ?, ?, ?)";

std::vector<std::byte> pack(const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * 8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(values[i]);
    for (int k = 0; k < 8; ++k) bytes[i * 8 + k] = static_cast<std::byte>(bits >> (8 * k));
  }
  return bytes;
}

std::vector<double> unpack(std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() / 8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t bits = 0;
    for (int k = 0; k < 8; ++k) bits |= static_cast<std::uint64_t>(bytes[i * 8 + k]) << (8 * k);
    values[i] = std::bit_cast<double>(bits);
  }
  return values;
}

void bind_optional(Statement& statement, int index, const std::optional<double>& value) {
  if (value && !std::isnan(*value)) {
    statement.bind(index, *value);
  } else {
    statement.bind_null(index);
  }
}

Status insert_metrics(Database& database, const RunRecord& record, std::int64_t run) {
  Statement insert = TRY(database.prepare(kInsertMetric));
  for (const auto& [name, metric] : record.metrics) {
    insert.bind(1, run);
    insert.bind(2, std::int64_t{record.rank});
    insert.bind(3, name);
    bind_optional(insert, 4, metric.value);
    bind_optional(insert, 5, metric.low);
    bind_optional(insert, 6, metric.high);
    insert.bind(7, metric.unit);
    TRY(insert.run());
  }
  return {};
}

Status insert_series(Database& database, const RunRecord& record, std::int64_t run) {
  Statement insert = TRY(database.prepare(kInsertSeries));
  for (const auto& [name, values] : record.samples) {
    insert.bind(1, run);
    insert.bind(2, std::int64_t{record.rank});
    insert.bind(3, name);
    const std::vector<std::byte> data = pack(values);
    insert.bind(4, std::span<const std::byte>(data));
    insert.bind(5, hash_hex(data));
    TRY(insert.run());
  }
  return {};
}

Error broken_row(const Database& database, std::string_view id, std::string_view what) {
  return unreadable("store " + database.path() + ": run " + std::string(id) + ": " +
                    std::string(what) + "; the file is damaged: name another with --store");
}

Status load_metrics(Database& database, std::int64_t run, RunRecord& record) {
  Statement query = TRY(database.prepare(
      "SELECT name, value, low, high, unit FROM metrics WHERE run = ? AND rank = ? "
      "AND step IS NULL"));
  query.bind(1, run);
  query.bind(2, std::int64_t{record.rank});
  while (TRY(query.step())) {
    MetricValue& metric = record.metrics[query.text(0)];
    metric.value = query.number(1).value_or(std::numeric_limits<double>::quiet_NaN());
    metric.low = query.number(2);
    metric.high = query.number(3);
    metric.unit = query.text(4);
  }
  return {};
}

Status load_series(Database& database, std::int64_t run, RunRecord& record) {
  Statement query =
      TRY(database.prepare("SELECT name, data, digest FROM series WHERE run = ? AND rank = ?"));
  query.bind(1, run);
  query.bind(2, std::int64_t{record.rank});
  while (TRY(query.step())) {
    const std::span<const std::byte> data = query.blob(1);
    if (data.size() % 8 != 0 || hash_hex(data) != query.text(2)) {
      return broken_row(database, record.id, "series '" + query.text(0) + "' has changed");
    }
    record.samples[query.text(0)] = unpack(data);
  }
  return {};
}

}  // namespace

Status check_columns(Database& database) {
  for (const std::string_view statement : {kInsertRun, kInsertMetric, kInsertSeries}) {
    TRY(database.prepare(statement));
  }
  return {};
}

Status insert_rows(Database& database, const RunRecord& record) {
  Statement insert = TRY(database.prepare(kInsertRun));
  insert.bind(1, record.id);
  insert.bind(2, record.plan);
  insert.bind(3, record.label);
  insert.bind(4, record.workload);
  insert.bind(5, record.size);
  insert.bind(6, record.engine);
  insert.bind(7, record.device);
  insert.bind(8, std::int64_t{record.rank});
  insert.bind(9, std::int64_t{record.world_size});
  insert.bind(10, record.started_ms);
  insert.bind(11, record.finished_ms);
  insert.bind(12, name_of(record.outcome));
  insert.bind(13, record.message);
  insert.bind(14, record.command);
  insert.bind(15, write_json(record.context));
  TRY(insert.run());
  const std::int64_t run = database.last_row();
  TRY(insert_metrics(database, record, run));
  return insert_series(database, record, run);
}

namespace {

struct LoadedRow {
  std::int64_t number = 0;
  RunRecord record;  // without context and samples
  std::string context;
};

Result<std::optional<LoadedRow>> load_row(Database& database, std::string_view id) {
  Statement query = TRY(database.prepare(
      "SELECT number, plan, label, workload, size, engine, device, rank, world_size, started_ms, "
      "finished_ms, outcome, message, command, context FROM runs WHERE id = ?"));
  query.bind(1, id);
  if (!TRY(query.step())) return std::optional<LoadedRow>();
  LoadedRow row;
  RunRecord& record = row.record;
  record.id = id;
  record.plan = query.text(1);
  record.label = query.text(2);
  record.workload = query.text(3);
  record.size = query.text(4);
  record.engine = query.text(5);
  record.device = query.text(6);
  record.rank = static_cast<int>(query.integer(7));
  record.world_size = static_cast<int>(query.integer(8));
  record.started_ms = query.integer(9);
  record.finished_ms = query.integer(10);
  const std::optional<Outcome> outcome = outcome_from_name(query.text(11));
  if (!outcome) return broken_row(database, id, "outcome '" + query.text(11) + "' is not known");
  record.outcome = *outcome;
  record.message = query.text(12);
  record.command = query.text(13);
  row.number = query.integer(0);
  row.context = query.text(14);
  TRY(load_metrics(database, row.number, record));
  return std::optional<LoadedRow>(std::move(row));
}

}  // namespace

Result<std::optional<RunRecord>> load_figures(Database& database, std::string_view id) {
  std::optional<LoadedRow> row = TRY(load_row(database, id));
  if (!row) return std::optional<RunRecord>();
  return std::optional<RunRecord>(std::move(row->record));
}

Result<std::optional<RunRecord>> load_rows(Database& database, std::string_view id) {
  std::optional<LoadedRow> row = TRY(load_row(database, id));
  if (!row) return std::optional<RunRecord>();
  Result<Json> context = parse_json(row->context);
  if (!context.ok()) return broken_row(database, id, "context: " + context.error().message);
  row->record.context = *std::move(context);
  TRY(load_series(database, row->number, row->record));
  return std::optional<RunRecord>(std::move(row->record));
}

}  // namespace gradstone
