// SPDX-License-Identifier: Apache-2.0
#include "onnx/own_fields.h"

#include <charconv>

#include "base/json.h"

namespace gradstone::onnx_io {
namespace {

constexpr const char* kStates = "gradstone.states";
constexpr const char* kStateUpdates = "gradstone.state_updates";

void add(onnx::ModelProto& model, const char* key, const Json& value) {
  onnx::StringStringEntryProto* entry = model.add_metadata_props();
  entry->set_key(key);
  entry->set_value(write_json(value));
}

Json read(const onnx::ModelProto& model, std::string_view key) {
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    if (entry.key() != key) continue;
    const Result<Json> json = parse_json(entry.value());
    return json.ok() ? *json : Json();
  }
  return {};
}

}  // namespace

std::string exact_text(double number) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void write_own_fields(const Graph& graph, onnx::ModelProto& model) {
  Json states = Json::array(), updates = Json::object();
  for (const Weight& weight : graph.weights) {
    if (!weight.trainable) states.push_back(weight.name);
  }
  for (const StateUpdate& update : graph.state_updates) updates[update.weight] = update.value;
  if (!states.empty()) add(model, kStates, states);
  if (!updates.empty()) add(model, kStateUpdates, updates);
}

OwnFields read_own_fields(const onnx::ModelProto& model) {
  OwnFields own;
  const Json states = read(model, kStates);
  if (states.is_array()) {
    for (const Json& state : states) {
      if (state.is_string()) own.states.push_back(state.get<std::string>());
    }
  }
  const Json updates = read(model, kStateUpdates);
  if (updates.is_object()) {
    for (const auto& [weight, value] : updates.items()) {
      if (value.is_string()) own.state_updates.push_back({weight, value.get<std::string>()});
    }
  }
  return own;
}

}  // namespace gradstone::onnx_io
