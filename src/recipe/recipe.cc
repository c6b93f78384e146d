// SPDX-License-Identifier: Apache-2.0
#include "recipe/recipe.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "recipe/json_fields.h"
#include "recipe/workload.h"

namespace gradstone {
namespace {

// In the order of LastBatch.
constexpr std::array<std::string_view, 3> kLastBatchNames = {"drop", "wrap", "smaller"};

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

const ParameterGroup* group_of(const Recipe& recipe, std::string_view weight) {
  for (const ParameterGroup& group : recipe.groups) {
    if (matches_pattern(group.pattern, weight)) return &group;
  }
  return nullptr;
}

Result<std::size_t> find_optimizer(const Recipe& recipe, std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < recipe.optimizers.size(); ++i) {
    if (name.empty() || recipe.optimizers[i].name == name) return i;
    known += (known.empty() ? "" : ", ") + in_quotes(recipe.optimizers[i].name);
  }
  return usage_error("unknown optimizer " + in_quotes(name) + "; the recipe has " +
                     (known.empty() ? "none" : known));
}

Status check_choice(const OptimizerChoice& choice) {
  TRY(check_optimizer(choice.optimizer));
  TRY(check_schedule(choice.schedule));
  TRY(check_gradient_clip(choice.gradient_clip));
  if (!(choice.weight_clip >= 0)) return usage_error("weight_clip must be at least 0");
  return {};
}

Status check_optimizers(const Recipe& recipe) {
  if (recipe.optimizers.empty()) return usage_error("the recipe has no optimizer");
  for (std::size_t i = 0; i < recipe.optimizers.size(); ++i) {
    const OptimizerChoice& choice = recipe.optimizers[i];
    const std::string place = "optimizer " + in_quotes(choice.name);
    for (std::size_t j = 0; j < i; ++j) {
      if (recipe.optimizers[j].name == choice.name) {
        return usage_error(place + " is there twice; give each a name of its own");
      }
    }
    TRY(check_choice(choice).within(place));
  }
  return {};
}

Status check_group(const Recipe& recipe, const ParameterGroup& group, const Graph& graph) {
  const bool matches =
      std::any_of(graph.weights.begin(), graph.weights.end(), [&](const Weight& weight) {
        return weight.trainable && matches_pattern(group.pattern, weight.name);
      });
  if (!matches) {
    const std::string first = graph.weights.empty() ? "none" : in_quotes(graph.weights[0].name);
    return usage_error("matches no trainable weight; the first weight is " + first);
  }
  if (!std::isfinite(group.rate_multiplier) || group.rate_multiplier < 0) {
    return usage_error("rate_multiplier must be finite and at least 0");
  }
  if (!std::isfinite(group.decay_multiplier) || group.decay_multiplier < 0) {
    return usage_error("decay_multiplier must be finite and at least 0");
  }
  TRY(find_optimizer(recipe, group.optimizer));
  return {};
}

Status check_batches(const Recipe& recipe) {
  if (recipe.batch < 1) return usage_error("batch must be at least 1");
  if (recipe.evaluation_batch < 1) return usage_error("evaluation_batch must be at least 1");
  if (recipe.epochs < 1) return usage_error("epochs must be at least 1");
  if (!(recipe.weight_average >= 0 && recipe.weight_average < 1)) {
    return usage_error("weight_average must be at least 0 and below 1");
  }
  return {};
}

// `values` must be empty, one, or one a channel of the image input.
Status check_channels(const std::vector<double>& values, std::string_view field,
                      const GraphInput* image) {
  if (values.size() <= 1 || !image || image->type.shape.size() != 4) return {};
  const std::int64_t channels = image->type.shape[1];
  if (static_cast<std::int64_t>(values.size()) == channels) return {};
  return usage_error("preprocess." + std::string(field) + " has " + std::to_string(values.size()) +
                     " values; the image has " + std::to_string(channels) + " channels");
}

Status check_preprocess(const Preprocess& preprocess, const GraphInput* image) {
  if (!std::isfinite(preprocess.scale) || preprocess.scale == 0) {
    return usage_error("preprocess.scale must be finite and not 0");
  }
  for (const double deviation : preprocess.deviation) {
    if (!(deviation > 0)) return usage_error("preprocess.deviation must be above 0");
  }
  TRY(check_channels(preprocess.mean, "mean", image));
  TRY(check_channels(preprocess.deviation, "deviation", image));
  if (preprocess.height < 0 || preprocess.width < 0) {
    return usage_error("preprocess.height and width must be at least 0");
  }
  if (!image || image->type.shape.size() != 4) return {};
  const std::int64_t height = image->type.shape[2], width = image->type.shape[3];
  if ((preprocess.height > 0 && preprocess.height != height) ||
      (preprocess.width > 0 && preprocess.width != width)) {
    return usage_error("preprocess makes images of " + std::to_string(preprocess.height) + " x " +
                       std::to_string(preprocess.width) + "; the graph takes " +
                       std::to_string(height) + " x " + std::to_string(width));
  }
  return {};
}

Json to_json(const OptimizerChoice& choice) {
  return {{"name", choice.name},
          {"optimizer", to_json(choice.optimizer)},
          {"schedule", to_json(choice.schedule)},
          {"gradient_clip", to_json(choice.gradient_clip)},
          {"weight_clip", encode_number(choice.weight_clip)}};
}

Result<OptimizerChoice> choice_from_json(const Json& json) {
  OptimizerChoice choice;
  JsonFields fields(json);
  fields.read("name", choice.name);
  fields.read_object("optimizer", optimizer_from_json, choice.optimizer);
  fields.read_object("schedule", schedule_from_json, choice.schedule);
  fields.read_object("gradient_clip", gradient_clip_from_json, choice.gradient_clip);
  fields.read("weight_clip", choice.weight_clip);
  TRY(fields.finish());
  return choice;
}

Json to_json(const ParameterGroup& group) {
  return {{"pattern", group.pattern},
          {"rate_multiplier", encode_number(group.rate_multiplier)},
          {"decay_multiplier", encode_number(group.decay_multiplier)},
          {"frozen", group.frozen},
          {"optimizer", group.optimizer}};
}

Result<ParameterGroup> group_from_json(const Json& json) {
  ParameterGroup group;
  JsonFields fields(json);
  fields.read("pattern", group.pattern);
  fields.read("rate_multiplier", group.rate_multiplier);
  fields.read("decay_multiplier", group.decay_multiplier);
  fields.read("frozen", group.frozen);
  fields.read("optimizer", group.optimizer);
  TRY(fields.finish());
  return group;
}

Json encode_numbers(const std::vector<double>& numbers) {
  Json array = Json::array();
  for (const double number : numbers) array.push_back(encode_number(number));
  return array;
}

Json to_json(const Preprocess& preprocess) {
  return {{"scale", encode_number(preprocess.scale)},
          {"mean", encode_numbers(preprocess.mean)},
          {"deviation", encode_numbers(preprocess.deviation)},
          {"height", preprocess.height},
          {"width", preprocess.width}};
}

Result<Preprocess> preprocess_from_json(const Json& json) {
  Preprocess preprocess;
  JsonFields fields(json);
  fields.read("scale", preprocess.scale);
  fields.read("mean", preprocess.mean);
  fields.read("deviation", preprocess.deviation);
  fields.read("height", preprocess.height);
  fields.read("width", preprocess.width);
  TRY(fields.finish());
  return preprocess;
}

}  // namespace

Status check_recipe(const Recipe& recipe, const Graph& graph) {
  TRY(check_optimizers(recipe));
  for (const ParameterGroup& group : recipe.groups) {
    TRY(check_group(recipe, group, graph).within("group " + in_quotes(group.pattern)));
  }
  TRY(check_batches(recipe));
  TRY(check_preprocess(recipe.preprocess, graph.find_input(kImageInput)));
  const std::vector<WeightPlan> plans = TRY(weight_plans(recipe, graph));
  if (plans.empty()) return usage_error("every weight is frozen; nothing is left to train");
  return {};
}

Json to_json(const Recipe& recipe) {
  Json optimizers = Json::array(), groups = Json::array();
  for (const OptimizerChoice& choice : recipe.optimizers) optimizers.push_back(to_json(choice));
  for (const ParameterGroup& group : recipe.groups) groups.push_back(to_json(group));
  return {{"optimizers", std::move(optimizers)},
          {"groups", std::move(groups)},
          {"batch", recipe.batch},
          {"evaluation_batch", recipe.evaluation_batch},
          {"epochs", recipe.epochs},
          {"last_batch", kLastBatchNames[static_cast<std::size_t>(recipe.last_batch)]},
          {"weight_average", encode_number(recipe.weight_average)},
          {"preprocess", to_json(recipe.preprocess)}};
}

Result<Recipe> recipe_from_json(const Json& json) {
  Recipe recipe;
  JsonFields fields(json);
  fields.read_objects("optimizers", choice_from_json, recipe.optimizers);
  fields.read_objects("groups", group_from_json, recipe.groups);
  fields.read("batch", recipe.batch);
  fields.read("evaluation_batch", recipe.evaluation_batch);
  fields.read("epochs", recipe.epochs);
  fields.read_name("last_batch", kLastBatchNames, recipe.last_batch);
  fields.read("weight_average", recipe.weight_average);
  fields.read_object("preprocess", preprocess_from_json, recipe.preprocess);
  TRY(fields.finish());
  return recipe;
}

Result<std::vector<WeightPlan>> weight_plans(const Recipe& recipe, const Graph& graph) {
  std::vector<WeightPlan> plans;
  for (const Weight& weight : graph.weights) {
    if (!weight.trainable) continue;
    const ParameterGroup* group = group_of(recipe, weight.name);
    if (!group) {
      plans.push_back({weight.name, 0, 1, 1});
      continue;
    }
    if (group->frozen) continue;
    const std::size_t optimizer =
        TRY(find_optimizer(recipe, group->optimizer).within("group " + in_quotes(group->pattern)));
    plans.push_back({weight.name, optimizer, group->rate_multiplier, group->decay_multiplier});
  }
  return plans;
}

bool matches_pattern(std::string_view pattern, std::string_view name) {
  constexpr std::size_t kNone = std::string_view::npos;
  std::size_t p = 0, n = 0;
  std::size_t star = kNone, resume = 0;  // the last '*' and where its text ends so far
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != kNone) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace gradstone
