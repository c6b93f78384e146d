// SPDX-License-Identifier: Apache-2.0
#include "cli/recipe_file.h"

#include <fmt/format.h>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "base/files.h"
#include "base/json.h"

namespace gradstone {
namespace {

Result<Json> to_json(const toml::node& node, int depth = 0) {
  if (depth > 32) return unreadable("tables are nested too deeply");
  if (const toml::table* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) {
      object[std::string(key.str())] = TRY(to_json(value, depth + 1));
    }
    return object;
  }
  if (const toml::array* array = node.as_array()) {
    Json list = Json::array();
    for (const toml::node& item : *array) list.push_back(TRY(to_json(item, depth + 1)));
    return list;
  }
  if (const auto* text = node.as_string()) return Json(text->get());
  if (const auto* number = node.as_integer()) return Json(number->get());
  if (const auto* number = node.as_floating_point()) return encode_number(number->get());
  if (const auto* boolean = node.as_boolean()) return Json(boolean->get());
  return unreadable("dates and times have no place here");
}

// Moves a key out of the table; null where it is not there.
Json taken(Json& table, const char* key) {
  const auto found = table.find(key);
  if (found == table.end()) return {};
  Json value = std::move(*found);
  table.erase(found);
  return value;
}

Status take_text(Json& table, const char* key, std::string& text) {
  const Json value = taken(table, key);
  if (value.is_null()) return {};
  if (!value.is_string()) return unreadable(std::string("key '") + key + "': expected a text");
  text = value.get<std::string>();
  return {};
}

Status take_texts(Json& table, const char* key, std::vector<std::string>& texts) {
  Json value = taken(table, key);
  if (value.is_null()) return {};
  if (value.is_string()) value = Json::array({value});
  const std::string place = std::string("key '") + key + "'";
  if (!value.is_array()) return unreadable(place + ": expected a list of texts");
  for (const Json& each : value) {
    if (!each.is_string()) return unreadable(place + ": expected a list of texts");
    texts.push_back(each.get<std::string>());
  }
  return {};
}

// The short form: one [optimizer] with its `rate`, a [schedule] and a [gradient_clip] beside it.
Status gather_optimizer(Json& table) {
  Json optimizer = taken(table, "optimizer");
  Json schedule = taken(table, "schedule");
  Json clip = taken(table, "gradient_clip");
  if (optimizer.is_null() && schedule.is_null() && clip.is_null()) return {};
  if (table.contains("optimizers")) {
    return unreadable("key 'optimizers': it stands for optimizer, schedule and gradient_clip");
  }
  for (const Json* part : {&optimizer, &schedule, &clip}) {
    if (!part->is_null() && !part->is_object()) {
      return unreadable("optimizer, schedule and gradient_clip are tables");
    }
  }
  Json choice = Json::object();
  const Json rate = optimizer.is_object() ? taken(optimizer, "rate") : Json();
  if (!rate.is_null()) {
    if (schedule.is_null()) schedule = Json::object();
    if (schedule.contains("base"))
      return unreadable("optimizer.rate and schedule.base are the same");
    schedule["base"] = rate;
  }
  if (!optimizer.is_null()) choice["optimizer"] = std::move(optimizer);
  if (!schedule.is_null()) choice["schedule"] = std::move(schedule);
  if (!clip.is_null()) choice["gradient_clip"] = std::move(clip);
  table["optimizers"] = Json::array({choice});
  return {};
}

}  // namespace

Result<RecipeFile> parse_recipe_file(std::string_view text) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return unreadable(fmt::format("line {}: {}", error.source().begin.line, error.description()));
  }
  Json table = TRY(to_json(parsed.table()));
  RecipeFile file;
  TRY(take_text(table, "loss", file.loss));
  TRY(take_text(table, "labels", file.labels));
  TRY(take_text(table, "batch_norm", file.batch_norm));
  TRY(take_texts(table, "freeze", file.freeze));
  TRY(gather_optimizer(table));
  file.states_batch = table.contains("batch");
  file.recipe = TRY(recipe_from_json(table));
  return file;
}

Result<RecipeFile> read_recipe_file(const std::string& path) {
  const std::string text = TRY(read_file(path));
  return parse_recipe_file(text).within("recipe '" + path + "'");
}

}  // namespace gradstone
