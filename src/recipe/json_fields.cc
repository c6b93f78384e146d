// SPDX-License-Identifier: Apache-2.0
#include "recipe/json_fields.h"

#include <algorithm>

#include "base/suggest.h"

namespace gradstone {

JsonFields::JsonFields(const Json& object) : object_(object) {
  if (!object.is_object()) fail(unreadable("expected an object"));
}

const Json* JsonFields::take(std::string_view key) {
  known_.emplace_back(key);
  if (!status_.ok()) return nullptr;
  const auto found = object_.find(key);
  return found == object_.end() ? nullptr : &*found;
}

const Json* JsonFields::take_array(std::string_view key) {
  const Json* json = take(key);
  if (!json || json->is_array()) return json;
  fail(unreadable("key '" + std::string(key) + "': expected an array"));
  return nullptr;
}

void JsonFields::fail(Error error) {
  if (status_.ok()) status_ = std::move(error);
}

template <class T>
void JsonFields::store(std::string_view key,
                       Result<T> (*read_member)(const Json&, std::string_view), T& value) {
  if (!take(key)) return;
  Result<T> found = read_member(object_, key);
  if (found.ok()) {
    value = std::move(*found);
  } else {
    fail(found.error());
  }
}

void JsonFields::read(std::string_view key, bool& value) { store(key, boolean_member, value); }
void JsonFields::read(std::string_view key, std::int64_t& value) {
  store(key, integer_member, value);
}
void JsonFields::read(std::string_view key, double& value) { store(key, number_member, value); }
void JsonFields::read(std::string_view key, std::string& value) {
  store(key, string_member, value);
}
void JsonFields::read(std::string_view key, std::vector<std::int64_t>& values) {
  store(key, integers_member, values);
}
void JsonFields::read(std::string_view key, std::vector<double>& values) {
  store(key, numbers_member, values);
}

void JsonFields::read_index(std::string_view key, std::span<const std::string_view> names,
                            std::size_t& index) {
  std::string text(names[index]);
  read(key, text);
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    return fail(unreadable("key '" + std::string(key) + "': unknown value '" + text + "'" +
                           did_you_mean(text, {names.begin(), names.end()})));
  }
  index = static_cast<std::size_t>(found - names.begin());
}

Status JsonFields::finish() const {
  if (!status_.ok()) return status_;
  for (const auto& [key, value] : object_.items()) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
      return unreadable("unknown key '" + key + "'" +
                        did_you_mean(key, {known_.begin(), known_.end()}));
    }
  }
  return {};
}

}  // namespace gradstone
