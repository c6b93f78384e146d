// SPDX-License-Identifier: Apache-2.0
#include "recipe/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "recipe/json_fields.h"

namespace gradstone {
namespace {

// In the order of ScheduleKind.
constexpr std::array<std::string_view, 8> kKindNames = {
    "constant",     "step",        "multi_step",      "inverse",
    "inverse_time", "exponential", "epoch_annealing", "inverse_square_root"};

// Ratio of the learning rate to `base`, before any warm-up.
double decay(const Schedule& schedule, std::int64_t step, std::int64_t epoch) {
  const double steps = static_cast<double>(step);
  switch (schedule.kind) {
    case ScheduleKind::kConstant:
      break;
    case ScheduleKind::kStep:
      return std::pow(schedule.factor, static_cast<double>(step / schedule.every));
    case ScheduleKind::kMultiStep: {
      const auto& boundaries = schedule.boundaries;
      const auto passed = std::upper_bound(boundaries.begin(), boundaries.end(), step);
      return std::pow(schedule.factor, static_cast<double>(passed - boundaries.begin()));
    }
    case ScheduleKind::kInverse:
      return std::pow(1 + schedule.factor * steps, -schedule.power);
    case ScheduleKind::kInverseTime:
      return 1 / (1 + schedule.factor * steps);
    case ScheduleKind::kExponential:
      return std::pow(schedule.factor, steps / static_cast<double>(schedule.every));
    case ScheduleKind::kEpochAnnealing:
      return std::pow(schedule.factor, -static_cast<double>(epoch));
    case ScheduleKind::kInverseSquareRoot: {
      const double falling = 1 / std::sqrt(steps + 1);
      if (schedule.warmup_steps == 0) return falling;
      const double rising =
          (steps + 1) * std::pow(static_cast<double>(schedule.warmup_steps), -1.5);
      return std::min(falling, rising);
    }
  }
  return 1;
}

Error field_error(std::string_view field, std::string_view rule) {
  return usage_error("schedule." + std::string(field) + " must be " + std::string(rule));
}

}  // namespace

std::string_view name_of(ScheduleKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

double learning_rate(const Schedule& schedule, std::int64_t step, std::int64_t epoch) {
  const double rate = schedule.base * decay(schedule, step, epoch);
  if (schedule.kind == ScheduleKind::kInverseSquareRoot || step >= schedule.warmup_steps) {
    return rate;
  }
  return rate * static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps);
}

Status check_schedule(const Schedule& schedule) {
  if (!(schedule.base >= 0) || std::isinf(schedule.base)) {
    return field_error("base", "a finite number of at least 0");
  }
  const bool is_inverse =
      schedule.kind == ScheduleKind::kInverse || schedule.kind == ScheduleKind::kInverseTime;
  if (!std::isfinite(schedule.factor) || schedule.factor < 0 ||
      (schedule.factor == 0 && !is_inverse)) {
    return field_error("factor", is_inverse ? "at least 0" : "above 0");
  }
  if (!std::isfinite(schedule.power)) return field_error("power", "finite");
  if (schedule.every < 1) return field_error("every", "at least 1");
  const auto& boundaries = schedule.boundaries;
  if (!std::is_sorted(boundaries.begin(), boundaries.end()) ||
      (!boundaries.empty() && boundaries[0] < 0)) {
    return field_error("boundaries", "steps from 0 in ascending order");
  }
  if (schedule.warmup_steps < 0) return field_error("warmup_steps", "at least 0");
  return {};
}

Json to_json(const Schedule& schedule) {
  return {{"kind", name_of(schedule.kind)},
          {"base", encode_number(schedule.base)},
          {"factor", encode_number(schedule.factor)},
          {"power", encode_number(schedule.power)},
          {"every", schedule.every},
          {"boundaries", schedule.boundaries},
          {"warmup_steps", schedule.warmup_steps}};
}

Result<Schedule> schedule_from_json(const Json& json) {
  Schedule schedule;
  JsonFields fields(json);
  fields.read_name("kind", kKindNames, schedule.kind);
  fields.read("base", schedule.base);
  fields.read("factor", schedule.factor);
  fields.read("power", schedule.power);
  fields.read("every", schedule.every);
  fields.read("boundaries", schedule.boundaries);
  fields.read("warmup_steps", schedule.warmup_steps);
  TRY(fields.finish());
  return schedule;
}

}  // namespace gradstone
