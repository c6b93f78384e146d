// SPDX-License-Identifier: Apache-2.0
#include "protocol/program_spec.h"

#include <array>

#include "graph/json_codec.h"

namespace gradstone {
namespace {

constexpr std::array<std::string_view, 2> kModeNames = {"training", "inference"};  // as Mode

Json encode(const BackwardSpec& backward) {
  return {
      {"from", backward.from}, {"fed_cotangents", backward.fed_cotangents}, {"wrt", backward.wrt}};
}

Json encode(const WeightUpdate& update) {
  return {{"weight", update.weight},
          {"rate_multiplier", encode_number(update.rate_multiplier)},
          {"decay_multiplier", encode_number(update.decay_multiplier)}};
}

template <class T>
Json encode_list(const std::vector<T>& items, Json (*write)(const T&)) {
  Json json = Json::array();
  for (const T& item : items) json.push_back(write(item));
  return json;
}

Json encode(const UpdateSpec& update) {
  return {{"optimizer", to_json(update.optimizer)},
          {"gradient_clip", to_json(update.gradient_clip)},
          {"weight_clip", encode_number(update.weight_clip)},
          {"weight_average", encode_number(update.weight_average)},
          {"weights", encode_list<WeightUpdate>(update.weights, encode)}};
}

Json encode(const ProgramSpec& program) {
  Json json = {{"name", program.name},
               {"graph", to_json(program.graph)},
               {"mode", kModeNames[static_cast<std::size_t>(program.mode)]},
               {"outputs", program.outputs}};
  if (program.backward) json["backward"] = encode(*program.backward);
  json["updates"] = encode_list<UpdateSpec>(program.updates, encode);
  return json;
}

template <class T>
Status read_list(const Json& object, const char* key, Result<T> (*read)(const Json&),
                 std::vector<T>& items) {
  const Json list = TRY(member(object, key));
  if (!list.is_array()) return unreadable("key '" + std::string(key) + "': expected an array");
  for (const Json& item : list) {
    const std::string place = std::string(key) + "[" + std::to_string(items.size()) + "]";
    items.push_back(TRY(read(item).within(place)));
  }
  return {};
}

Result<BackwardSpec> backward_from_json(const Json& json) {
  BackwardSpec backward;
  backward.from = TRY(strings_member(json, "from"));
  backward.fed_cotangents = TRY(boolean_member(json, "fed_cotangents"));
  backward.wrt = TRY(strings_member(json, "wrt"));
  return backward;
}

Result<WeightUpdate> weight_update_from_json(const Json& json) {
  WeightUpdate update;
  update.weight = TRY(string_member(json, "weight"));
  update.rate_multiplier = TRY(number_member(json, "rate_multiplier"));
  update.decay_multiplier = TRY(number_member(json, "decay_multiplier"));
  return update;
}

Result<UpdateSpec> update_from_json(const Json& json) {
  UpdateSpec update;
  update.optimizer = TRY(optimizer_from_json(TRY(member(json, "optimizer"))).within("optimizer"));
  update.gradient_clip =
      TRY(gradient_clip_from_json(TRY(member(json, "gradient_clip"))).within("gradient_clip"));
  update.weight_clip = TRY(number_member(json, "weight_clip"));
  update.weight_average = TRY(number_member(json, "weight_average"));
  TRY(read_list(json, "weights", weight_update_from_json, update.weights));
  return update;
}

Result<Mode> mode_member(const Json& json) {
  const std::string name = TRY(string_member(json, "mode"));
  if (name == kModeNames[0]) return Mode::kTraining;
  if (name == kModeNames[1]) return Mode::kInference;
  return unreadable("key 'mode': unknown mode '" + name + "'");
}

Result<ProgramSpec> program_from_json(const Json& json) {
  ProgramSpec program;
  program.name = TRY(string_member(json, "name"));
  program.graph = TRY(graph_from_json(TRY(member(json, "graph"))));
  program.mode = TRY(mode_member(json));
  program.outputs = TRY(strings_member(json, "outputs"));
  if (json.contains("backward")) {
    program.backward = TRY(backward_from_json(TRY(member(json, "backward"))).within("backward"));
  }
  TRY(read_list(json, "updates", update_from_json, program.updates));
  return program;
}

}  // namespace

Json to_json(const BundleSpec& bundle) {
  return {{"programs", encode_list<ProgramSpec>(bundle.programs, encode)}};
}

Result<BundleSpec> bundle_from_json(const Json& json) {
  BundleSpec bundle;
  TRY(read_list(json, "programs", program_from_json, bundle.programs));
  return bundle;
}

}  // namespace gradstone
