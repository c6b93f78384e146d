// SPDX-License-Identifier: Apache-2.0
#include "run/spec.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cmath>
#include <vector>

#include "base/suggest.h"
#include "data/data_set.h"

namespace gradstone {
namespace {

Error unknown_size(const Workload& workload, std::string_view name) {
  std::vector<std::string_view> names;
  std::string list;
  for (const WorkloadSize& size : workload.sizes) {
    names.push_back(size.name);
    list += (list.empty() ? "" : ", ") + size.name;
  }
  return usage_error("workload " + workload.name + " has no size '" + std::string(name) + "'" +
                     did_you_mean(name, names) + "; it has " + list);
}

Status check_from(std::string_view option, double value, double least) {
  if (std::isfinite(value) && value >= least) return {};
  return usage_error(fmt::format("{} must be at least {}", option, least));
}

Status check_measure(const MeasurePlan& measure) {
  TRY(check_from("--steps", static_cast<double>(measure.steps), 0));
  TRY(check_from("--epochs", static_cast<double>(measure.epochs), 0));
  if (measure.steps > 0 && measure.epochs > 0) {
    return usage_error("--steps and --epochs exclude each other; give one");
  }
  return {};
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
}

// A command line in the making.
class Words {
 public:
  void flag(std::string_view name) { text_ += " " + std::string(name); }
  void option(std::string_view name, std::string_view value) {
    flag(name);
    text_ += " " + shell_quoted(value);
  }
  void option_unless(std::string_view name, std::string_view value, std::string_view fallback) {
    if (value != fallback) option(name, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_ = "gradstone run";
};

}  // namespace

std::string shell_quoted(std::string_view text) {
  bool plain = !text.empty();
  for (const char c : text) plain = plain && is_plain(c);
  if (plain) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

Status check_spec(const RunSpec& spec, const Workload& workload) {
  CHECK(spec.workload == workload.name, "a spec is checked against its own workload");
  if (!spec.size.empty() && find_size(workload, spec.size) == nullptr) {
    return unknown_size(workload, spec.size);
  }
  TRY(check_from("--batch", static_cast<double>(spec.batch), 0));
  TRY(check_from("--threads", spec.threads, 0));
  if (!is_floating(spec.dtype)) {
    return usage_error("--dtype " + std::string(name_of(spec.dtype)) +
                       ": networks are trained in float32 or float64");
  }
  if (spec.device.empty()) return usage_error("--device must not be empty; the default is cpu");
  TRY(check_measure(spec.measure));
  if (!spec.data.empty()) TRY(parse_data_reference(spec.data));
  if (!spec.weights_in.empty() && ::access(spec.weights_in.c_str(), R_OK) != 0) {
    return usage_error("--weights " + spec.weights_in + ": no such file can be read");
  }
  if (!std::isfinite(spec.time_limit_seconds) || spec.time_limit_seconds <= 0) {
    return usage_error("--time-limit must be more than 0");
  }
  return check_from("--memory-limit", static_cast<double>(spec.memory_limit_bytes), 0);
}

RunSpec resolved(const RunSpec& spec, const Workload& workload) {
  RunSpec whole = spec;
  const WorkloadSize& size =
      spec.size.empty() ? workload.sizes.at(0) : *find_size(workload, spec.size);
  whole.size = size.name;
  if (whole.batch == 0) whole.batch = size.recipe.batch;
  if (whole.threads == 0) whole.threads = usable_processors();
  if (whole.data.empty()) whole.data = size.default_data;
  return whole;
}

std::string command_of(const RunSpec& spec) {
  const RunSpec defaults;
  Words words;
  if (spec.model.empty()) {
    words.option("--workload", spec.workload);
    words.option_unless("--size", spec.size, "");
  }
  for (const auto& [option, value] : spec.model) words.option(option, value);
  words.option("--engine", to_string(spec.engine));
  words.option_unless("--data", spec.data, "");
  words.option_unless("--batch", std::to_string(spec.batch), "0");
  words.option_unless("--threads", std::to_string(spec.threads), "0");
  words.option("--seed", std::to_string(spec.seed));
  words.option("--dropout", name_of(spec.dropout));
  words.option_unless("--dtype", name_of(spec.dtype), name_of(defaults.dtype));
  words.option_unless("--device", spec.device, defaults.device);
  words.option_unless("--math", spec.math, "");
  if (spec.deterministic) words.flag("--deterministic");
  words.option_unless("--steps", std::to_string(spec.measure.steps), "0");
  words.option_unless("--epochs", std::to_string(spec.measure.epochs), "0");
  if (!spec.measure.evaluate) words.flag("--no-evaluation");
  words.option_unless("--weights", spec.weights_in, "");
  words.option_unless("--time-limit", fmt::to_string(spec.time_limit_seconds),
                      fmt::to_string(defaults.time_limit_seconds));
  words.option_unless("--memory-limit", std::to_string(spec.memory_limit_bytes), "0");
  return words.text();
}

Json settings_of(const RunSpec& spec) {
  return {{"workload", spec.workload},
          {"size", spec.size},
          {"engine", to_string(spec.engine.engine)},
          {"engine_kind", spec.engine.engine.kind},
          {"engine_argument", spec.engine.argument},
          {"batch", spec.batch},
          {"threads", spec.threads},
          {"dtype", name_of(spec.dtype)},
          {"device", spec.device},
          {"math", spec.math},
          {"deterministic", spec.deterministic},
          {"seed", spec.seed},
          {"dropout", name_of(spec.dropout)},
          {"steps", spec.measure.steps},
          {"epochs", spec.measure.epochs},
          {"precision", encode_number(spec.measure.precision)},
          {"max_seconds", encode_number(spec.measure.max_seconds)},
          {"evaluate", spec.measure.evaluate},
          {"data", spec.data},
          {"weights", spec.weights_in}};
}

std::vector<int> processor_affinity() {
  std::vector<int> processors;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return processors;  // over 1024 processors
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

int usable_processors() {
  const std::size_t count = processor_affinity().size();
  return count > 0 ? static_cast<int>(count) : static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace gradstone
