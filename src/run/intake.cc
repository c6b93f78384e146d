// SPDX-License-Identifier: Apache-2.0
#include "run/intake.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "recipe/workload.h"
#include "record/sample_names.h"

namespace gradstone {
namespace {

// Sections of the context that only the core writes.
constexpr std::array<std::string_view, 11> kOwnSections = {
    "settings",  "limits",  "environment", "worker",   "affinity", "weights",
    "gradstone", "machine", "warnings",    "workload", "model"};

constexpr double kLeastLoss = -1e-3;  // rounding reaches a little below 0

Error too_much(std::string what) { return {ErrorKind::kOutOfMemory, std::move(what)}; }

// Whether a sample of that name, of those that are no losses, can be so large.
bool is_possible(std::string_view name, double value) {
  if (!std::isfinite(value) || value < 0) return false;
  return name != sample_names::kTestAccuracy || value <= 1;
}

bool is_loss(std::string_view name) {
  return name == sample_names::kLoss || name == sample_names::kTestLoss;
}

// The first sample that cannot be, in words; "" where there is none.
std::string impossible_sample(const RunRecord& record, bool loss_from_zero) {
  for (const sample_names::SampleName& known : sample_names::kAll) {
    const auto series = record.samples.find(std::string(known.name));
    if (series == record.samples.end()) continue;
    for (std::size_t i = 0; i < series->second.size(); ++i) {
      const double value = series->second[i];
      if (is_loss(known.name)) {
        if (loss_from_zero && value < kLeastLoss) {
          return fmt::format("{} {:.6g}, number {}: a cross-entropy is never negative", known.name,
                             value, i + 1);
        }
      } else if (!is_possible(known.name, value)) {
        return fmt::format("{} {:.6g}, number {}: expected {}", known.name, value, i + 1,
                           known.name == sample_names::kTestAccuracy ? "a share from 0 to 1"
                                                                     : "a finite number from 0");
      }
    }
  }
  return "";
}

}  // namespace

Status Intake::check_value(const Json& value) {
  if (nests_deeper(value, limits_.levels)) {
    return unreadable("a value nested deeper than " + std::to_string(limits_.levels));
  }
  fact_bytes_ += write_json(value).size();
  if (fact_bytes_ <= limits_.fact_bytes) return {};
  return too_much("facts of more than " + std::to_string(limits_.fact_bytes) + " bytes");
}

Status Intake::describe(Json engine) {
  if (!engine.is_object()) return {};
  TRY(check_value(engine).within("the engine's description"));
  record_.context["engine"] = std::move(engine);
  return {};
}

Status Intake::take(SamplesEvent event) {
  if (event.name.size() > limits_.name_bytes) return unreadable("samples with too long a name");
  samples_ += event.values.size();
  if (samples_ > limits_.samples) {
    return too_much("more than " + std::to_string(limits_.samples) + " samples");
  }
  std::vector<double>& samples = record_.samples[event.name];
  if (record_.samples.size() > limits_.series) {
    record_.samples.erase(event.name);
    return too_much("more than " + std::to_string(limits_.series) + " series of samples");
  }
  samples.insert(samples.end(), event.values.begin(), event.values.end());
  return {};
}

Status Intake::take(FactEvent event) {
  if (std::find(kOwnSections.begin(), kOwnSections.end(), event.section) != kOwnSections.end()) {
    return unreadable("a fact of section '" + event.section + "', which is the core's");
  }
  if (std::max(event.section.size(), event.key.size()) > limits_.name_bytes) {
    return unreadable("a fact with too long a section or key");
  }
  if (++facts_ > limits_.facts) {
    return too_much("more than " + std::to_string(limits_.facts) + " facts");
  }
  TRY(check_value(event.value).within("fact '" + event.section + "." + event.key + "'"));
  record_.context[event.section][event.key] = std::move(event.value);
  return {};
}

Finished Intake::end(Finished finished) const {
  if (finished.message.size() > limits_.message_bytes) {
    finished.message.resize(limits_.message_bytes);
    finished.message += "... (cut)";
  }
  if (finished.outcome != Outcome::kOk && finished.message.empty()) {
    finished.message = "the engine gave no reason";
  }
  return finished;
}

Finished judged(Finished finished, const RunRecord& record, bool loss_from_zero) {
  if (finished.outcome != Outcome::kOk) return finished;
  if (const std::string fault = impossible_sample(record, loss_from_zero); !fault.empty()) {
    return {Outcome::kWrongResult, "the engine said ok, but sent " + fault};
  }
  const auto losses = record.samples.find(std::string(sample_names::kLoss));
  const auto is_finite = [](double loss) { return std::isfinite(loss); };
  if (losses != record.samples.end() &&
      std::none_of(losses->second.begin(), losses->second.end(), is_finite)) {
    return {Outcome::kDiverged, "the engine said ok, but no training loss is a finite number"};
  }
  return finished;
}

bool loss_is_from_zero(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (!node.outputs.empty() && node.outputs[0] == kLossValue) {
      return node.op == "SoftmaxCrossEntropyLoss" && node.domain.empty();
    }
  }
  return false;
}

}  // namespace gradstone
