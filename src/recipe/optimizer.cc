// SPDX-License-Identifier: Apache-2.0
#include "recipe/optimizer.h"

#include <array>
#include <cmath>

#include "recipe/json_fields.h"

namespace gradstone {
namespace {

// In the order of Rule, EpsilonPlace and GradientClip::Kind.
constexpr std::array<std::string_view, 8> kRuleNames = {
    "sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad", "adadelta"};
constexpr std::array<std::string_view, 3> kEpsilonNames = {"outside_root", "inside_root",
                                                           "outside_hat"};
constexpr std::array<std::string_view, 3> kClipNames = {"none", "value", "global_norm"};

Error field_error(std::string_view field, std::string_view rule) {
  return usage_error("optimizer." + std::string(field) + " must be " + std::string(rule));
}

struct FractionField {
  std::string_view name;
  double value;
};

Status check_ranges(const Optimizer& optimizer) {
  for (const auto& [name, value] : {FractionField{"momentum", optimizer.momentum},
                                    {"beta1", optimizer.beta1},
                                    {"beta2", optimizer.beta2},
                                    {"alpha", optimizer.alpha}}) {
    if (!(value >= 0 && value < 1)) return field_error(name, "at least 0 and below 1");
  }
  if (!(optimizer.dampening >= 0 && optimizer.dampening <= 1)) {
    return field_error("dampening", "from 0 to 1");
  }
  for (const auto& [name, value] : {FractionField{"epsilon", optimizer.epsilon},
                                    {"initial_accumulator", optimizer.initial_accumulator},
                                    {"weight_decay", optimizer.weight_decay}}) {
    if (!(value >= 0) || std::isinf(value)) return field_error(name, "finite and at least 0");
  }
  return {};
}

}  // namespace

std::string_view name_of(Rule rule) { return kRuleNames[static_cast<std::size_t>(rule)]; }

std::vector<std::string> slots_of(const Optimizer& optimizer) {
  switch (optimizer.rule) {
    case Rule::kSgd:
      return {};
    case Rule::kMomentum:
    case Rule::kNesterov:
      return {"velocity"};
    case Rule::kAdam:
    case Rule::kAdamW:
      return {"mean", "square"};
    case Rule::kRmsProp: {
      std::vector<std::string> slots = {"square"};
      if (optimizer.centered) slots.push_back("mean");
      if (optimizer.momentum > 0) slots.push_back("velocity");
      return slots;
    }
    case Rule::kAdaGrad:
      return {"square_sum"};
    case Rule::kAdaDelta:
      break;
  }
  return {"square", "step_square"};
}

double initial_slot_value(const Optimizer& optimizer, std::string_view slot) {
  return slot == "square_sum" ? optimizer.initial_accumulator : 0;
}

bool decouples_decay(const Optimizer& optimizer) {
  return optimizer.decoupled || optimizer.rule == Rule::kAdamW;
}

Status check_optimizer(const Optimizer& optimizer) {
  TRY(check_ranges(optimizer));
  const Rule rule = optimizer.rule;
  const bool is_adam = rule == Rule::kAdam || rule == Rule::kAdamW;
  // A setting that its rule does not read is refused: it would be silently without effect.
  if (optimizer.momentum != 0 && rule != Rule::kMomentum && rule != Rule::kNesterov &&
      rule != Rule::kRmsProp) {
    return field_error("momentum", "0 for rule '" + std::string(name_of(rule)) +
                                       "'; use rule 'momentum' or 'nesterov'");
  }
  if (optimizer.dampening != 0 && (rule != Rule::kMomentum || optimizer.rate_in_velocity)) {
    return field_error("dampening", "0 except for rule 'momentum' without rate_in_velocity");
  }
  if (optimizer.centered && rule != Rule::kRmsProp) {
    return field_error("centered", "false except for rule 'rmsprop'");
  }
  if (optimizer.initial_accumulator != 0 && rule != Rule::kAdaGrad) {
    return field_error("initial_accumulator", "0 except for rule 'adagrad'");
  }
  if (optimizer.epsilon_place == EpsilonPlace::kOutsideHat && !is_adam) {
    return field_error("epsilon_place",
                       "'outside_root' or 'inside_root' except for rules 'adam' and 'adamw'");
  }
  return {};
}

Json to_json(const Optimizer& optimizer) {
  return {{"rule", name_of(optimizer.rule)},
          {"momentum", encode_number(optimizer.momentum)},
          {"dampening", encode_number(optimizer.dampening)},
          {"rate_in_velocity", optimizer.rate_in_velocity},
          {"beta1", encode_number(optimizer.beta1)},
          {"beta2", encode_number(optimizer.beta2)},
          {"alpha", encode_number(optimizer.alpha)},
          {"epsilon", encode_number(optimizer.epsilon)},
          {"epsilon_place", kEpsilonNames[static_cast<std::size_t>(optimizer.epsilon_place)]},
          {"centered", optimizer.centered},
          {"initial_accumulator", encode_number(optimizer.initial_accumulator)},
          {"weight_decay", encode_number(optimizer.weight_decay)},
          {"decoupled", optimizer.decoupled}};
}

Result<Optimizer> optimizer_from_json(const Json& json) {
  Optimizer optimizer;
  JsonFields fields(json);
  fields.read_name("rule", kRuleNames, optimizer.rule);
  fields.read("momentum", optimizer.momentum);
  fields.read("dampening", optimizer.dampening);
  fields.read("rate_in_velocity", optimizer.rate_in_velocity);
  fields.read("beta1", optimizer.beta1);
  fields.read("beta2", optimizer.beta2);
  fields.read("alpha", optimizer.alpha);
  fields.read("epsilon", optimizer.epsilon);
  fields.read_name("epsilon_place", kEpsilonNames, optimizer.epsilon_place);
  fields.read("centered", optimizer.centered);
  fields.read("initial_accumulator", optimizer.initial_accumulator);
  fields.read("weight_decay", optimizer.weight_decay);
  fields.read("decoupled", optimizer.decoupled);
  TRY(fields.finish());
  return optimizer;
}

Status check_gradient_clip(const GradientClip& clip) {
  if (clip.kind == GradientClip::Kind::kNone) return {};
  if (!(clip.limit > 0)) return usage_error("gradient_clip.limit must be above 0");
  return {};
}

Json to_json(const GradientClip& clip) {
  return {{"kind", kClipNames[static_cast<std::size_t>(clip.kind)]},
          {"limit", encode_number(clip.limit)}};
}

Result<GradientClip> gradient_clip_from_json(const Json& json) {
  GradientClip clip;
  JsonFields fields(json);
  fields.read_name("kind", kClipNames, clip.kind);
  fields.read("limit", clip.limit);
  TRY(fields.finish());
  return clip;
}

}  // namespace gradstone
