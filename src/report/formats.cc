// SPDX-License-Identifier: Apache-2.0
#include "report/formats.h"

#include <algorithm>
#include <array>

#include "analysis/metric_catalogue.h"
#include "base/suggest.h"
#include "report/figures.h"

namespace gradstone {
namespace {

constexpr std::string_view kGreen = "\x1b[32m", kYellow = "\x1b[33m", kRed = "\x1b[31m";

std::string_view outcome_color(std::string_view cell) {
  if (cell == name_of(Outcome::kOk)) return kGreen;
  if (cell == name_of(Outcome::kUnsupported)) return kYellow;
  return kRed;
}

Json setting(const RunRecord& record, const char* key) {
  const Result<Json> settings = member(record.context, "settings");
  if (!settings.ok()) return nullptr;
  const Result<Json> value = member(*settings, key);
  return value.ok() ? *value : Json();
}

// One figure of the comparison; a dash where the run has none.
Json figure_cell(const RunRecord& record, const char* name, bool spread) {
  const auto found = record.metrics.find(name);
  if (found == record.metrics.end()) return nullptr;
  const MetricValue& metric = found->second;
  return bare_figure_text(metric.value, metric.unit) + (spread ? spread_text(metric) : "");
}

// One line a run. Column titles carry the units that cells leave out.
Table comparison(const std::vector<RunRecord>& records) {
  Table table;
  table.columns = {
      {"run", false, 5},     {"workload"},         {"engine"},
      {"batch", true, 6},    {"threads", true, 7}, {"outcome", false, 0, outcome_color},
      {"samples/s", true},   {"step", true, 3},    {"loss", true, 1},
      {"accuracy", true, 1}, {"memory", true, 4}};
  for (const RunRecord& record : records) {
    const std::string size = record.size.empty() ? "" : "/" + record.size;
    table.rows.push_back(
        {record.id, record.workload + size, record.engine, setting(record, "batch"),
         setting(record, "threads"), name_of(record.outcome),
         figure_cell(record, "throughput", true), figure_cell(record, "step_time", false),
         figure_cell(record, "final_loss", false), figure_cell(record, "test_accuracy", false),
         figure_cell(record, "peak_memory", false)});
  }
  return table;
}

// Every figure of one run: those of the catalogue in its order, then others.
Table figures_of(const RunRecord& record) {
  Table table;
  table.columns = {{"metric"}, {"value", true}, {"95% interval"}};
  const auto add = [&](const std::string& name, const MetricValue& metric) {
    table.rows.push_back({name, figure_text(metric.value, metric.unit), interval_text(metric)});
  };
  for (const MetricDef& row : metric_catalogue()) {
    const auto found = record.metrics.find(std::string(row.name));
    if (found != record.metrics.end()) add(found->first, found->second);
  }
  for (const auto& [name, metric] : record.metrics) {
    if (find_metric(name) == nullptr) add(name, metric);
  }
  return table;
}

void add_once(std::vector<std::string>& lines, std::string line) {
  if (line.empty() || std::find(lines.begin(), lines.end(), line) != lines.end()) return;
  lines.push_back(std::move(line));
}

std::vector<std::string> machine_lines(const std::vector<RunRecord>& records) {
  std::vector<std::string> lines;
  for (const RunRecord& record : records) add_once(lines, machine_line(record.context));
  return lines;
}

// What a person must know beside the figures: reasons of outcomes, then warnings, each once.
std::vector<std::string> remarks(const std::vector<RunRecord>& records) {
  std::vector<std::string> lines;
  for (const RunRecord& record : records) {
    if (record.message.empty()) continue;
    lines.push_back(record.id + " (" + record.engine +
                    "): " + std::string(name_of(record.outcome)) + ": " + record.message);
  }
  for (const RunRecord& record : records) {
    const Result<std::vector<std::string>> warnings = strings_member(record.context, "warnings");
    if (!warnings.ok()) continue;
    for (const std::string& warning : *warnings) add_once(lines, "warning: " + warning);
  }
  return lines;
}

std::string write_table(const std::vector<RunRecord>& records, const TextStyle& style) {
  std::string text;
  for (const std::string& line : machine_lines(records)) {
    text += wrapped(line, style.width, 2) + "\n";
  }
  text += table_text(comparison(records), style);
  if (records.size() == 1 && !records[0].metrics.empty()) {
    text += "\n" + table_text(figures_of(records[0]), style);
  }
  for (const std::string& line : remarks(records)) text += wrapped(line, style.width, 2) + "\n";
  return text;
}

std::string write_markdown(const std::vector<RunRecord>& records, const TextStyle&) {
  std::string text;
  for (const std::string& line : machine_lines(records)) text += line + "\n\n";
  text += table_markdown(comparison(records));
  if (records.size() == 1 && !records[0].metrics.empty()) {
    text += "\n" + table_markdown(figures_of(records[0]));
  }
  const std::vector<std::string> lines = remarks(records);
  if (!lines.empty()) text += "\n";
  for (const std::string& line : lines) text += "* " + line + "\n";
  return text;
}

std::string write_json_format(const std::vector<RunRecord>& records, const TextStyle&) {
  return write_json(records_to_json(records), 1) + "\n";
}

std::string write_json_lines(const std::vector<RunRecord>& records, const TextStyle&) {
  std::string text;
  for (const RunRecord& record : records) {
    Json line = {{"schema", records_to_json({})["schema"]}};
    line.update(to_json(record));
    text += write_json(line) + "\n";
  }
  return text;
}

// One line a figure, so that a new metric is no new column. A run without figures has one line.
std::string write_csv(const std::vector<RunRecord>& records, const TextStyle&) {
  Table table;
  for (const char* title : {"run", "plan", "label", "workload", "size", "engine", "device", "rank",
                            "outcome", "message", "metric", "value", "low", "high", "unit"}) {
    table.columns.push_back({title});
  }
  const auto number = [](const std::optional<double>& value) {
    return value ? number_or_null(*value) : Json();
  };
  for (const RunRecord& record : records) {
    const std::vector<Json> run = {
        record.id,     record.plan,   record.label, record.workload,         record.size,
        record.engine, record.device, record.rank,  name_of(record.outcome), record.message};
    const auto add = [&](std::vector<Json> figure) {
      std::vector<Json>& row = table.rows.emplace_back(run);
      row.insert(row.end(), figure.begin(), figure.end());
    };
    for (const auto& [name, metric] : record.metrics) {
      add({name, number(metric.value), number(metric.low), number(metric.high), metric.unit});
    }
    if (record.metrics.empty()) add({nullptr, nullptr, nullptr, nullptr, nullptr});
  }
  return table_csv(table);
}

constexpr std::array<ReportFormat, 5> kFormats = {
    {{"table", "for a terminal", write_table},
     {"md", "Markdown", write_markdown},
     {"json", "one document with everything, schema gradstone/1", write_json_format},
     {"jsonl", "the same, one record a line, each as soon as it is done", write_json_lines, true},
     {"csv", "one line a figure", write_csv}}};

std::string text_or(const Json& object, const char* key) {
  const Result<std::string> text = string_member(object, key);
  return text.ok() ? *text : "";
}

}  // namespace

std::span<const ReportFormat> report_formats() { return kFormats; }

Result<const ReportFormat*> find_report_format(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ReportFormat& format : kFormats) {
    if (format.name == name) return &format;
    names.push_back(format.name);
  }
  std::string known;
  for (const std::string_view each : names)
    known += (known.empty() ? "" : ", ") + std::string(each);
  return usage_error("--format: unknown format '" + std::string(name) + "'" +
                     did_you_mean(name, names) + " (" + known + ")");
}

std::string machine_line(const Json& context) {
  const Result<Json> machine = member(context, "machine");
  if (!machine.ok()) return "";
  std::string line;
  const auto append = [&line](const std::string& text) {
    if (text.empty()) return;
    if (!line.empty()) line += ", ";
    line += text;
  };
  const Result<std::int64_t> cpus = integer_member(*machine, "logical_cpus");
  std::string cpu = text_or(*machine, "cpu");
  if (cpus.ok() && *cpus > 0) cpu = std::to_string(*cpus) + " x " + (cpu.empty() ? "CPU" : cpu);
  const Result<bool> virtual_machine = boolean_member(*machine, "hypervisor");
  if (virtual_machine.ok() && *virtual_machine) cpu += " (virtual machine)";
  append(cpu);
  const Result<double> memory = number_member(*machine, "memory_bytes");
  if (memory.ok() && *memory > 0) append(bare_figure_text(*memory, "B"));
  append(text_or(*machine, "system"));
  const std::string kernel = text_or(*machine, "kernel");
  if (!kernel.empty()) append("kernel " + kernel);
  return line;
}

}  // namespace gradstone
