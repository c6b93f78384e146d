// SPDX-License-Identifier: Apache-2.0
// Strict reading of settings from JSON: every key may be left out and keeps its default, a key that
// nobody asked for is an error. Not for messages whose keys must all be there: base/json.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace gradstone {

// Call read... for every key, then finish(). The first error is kept; reads after it do nothing.
class JsonFields {
 public:
  // `object` must outlive this.
  explicit JsonFields(const Json& object);

  void read(std::string_view key, bool& value);
  void read(std::string_view key, std::int64_t& value);
  void read(std::string_view key, double& value);
  void read(std::string_view key, std::string& value);
  void read(std::string_view key, std::vector<std::int64_t>& values);
  void read(std::string_view key, std::vector<double>& values);

  // `value` becomes the enumerator whose place in `names` is that of the text.
  template <class Enum>
  void read_name(std::string_view key, std::span<const std::string_view> names, Enum& value) {
    std::size_t index = static_cast<std::size_t>(value);
    read_index(key, names, index);
    value = static_cast<Enum>(index);
  }

  template <class T>
  void read_object(std::string_view key, Result<T> (*decode)(const Json&), T& value) {
    const Json* json = take(key);
    if (!json) return;
    Result<T> decoded = decode(*json);
    if (decoded.ok()) {
      value = std::move(*decoded);
    } else {
      fail(decoded.error().within(key));
    }
  }

  template <class T>
  void read_objects(std::string_view key, Result<T> (*decode)(const Json&),
                    std::vector<T>& values) {
    const Json* json = take_array(key);
    if (!json) return;
    values.clear();
    for (const Json& element : *json) {
      Result<T> decoded = decode(element);
      if (!decoded.ok()) {
        return fail(
            decoded.error().within(std::string(key) + "[" + std::to_string(values.size()) + "]"));
      }
      values.push_back(std::move(*decoded));
    }
  }

  // The first error; otherwise an error for a key that was never read, with the nearest known one.
  Status finish() const;

 private:
  const Json* take(std::string_view key);
  const Json* take_array(std::string_view key);
  void read_index(std::string_view key, std::span<const std::string_view> names,
                  std::size_t& index);
  void fail(Error error);
  template <class T>
  void store(std::string_view key, Result<T> (*read_member)(const Json&, std::string_view),
             T& value);

  const Json& object_;
  std::vector<std::string> known_;
  Status status_;
};

}  // namespace gradstone
