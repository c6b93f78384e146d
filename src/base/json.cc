// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace gradstone {
namespace {

template <class Predicate, class Convert>
auto checked(const Json& object, std::string_view key, const char* expected, Predicate is_right,
             Convert convert) -> Result<decltype(convert(object))> {
  Result<Json> found = member(object, key);
  if (!found.ok()) return found.error();
  if (!is_right(*found)) {
    return unreadable("key '" + std::string(key) + "': expected " + expected);
  }
  return convert(*found);
}

template <class Predicate>
bool is_array_of(const Json& json, Predicate is_right) {
  if (!json.is_array()) return false;
  for (const Json& element : json) {
    if (!is_right(element)) return false;
  }
  return true;
}

bool fits_int64(const Json& json) {
  if (!json.is_number_integer()) return false;
  return !json.is_number_unsigned() ||
         json.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
}

bool is_encoded_number(const Json& json) { return decode_number(json).ok(); }

// Copying and writing recurse, and keys are looked for one by one, so depth and keys must be bounded
// before a hostile document is built.
Status check_bounds(std::string_view text, int max_keys) {
  std::array<int, kMaxJsonDepth + 1> keys{};  // of what is open, by depth
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == ']' || c == '}') depth = std::max(depth - 1, 0);
    if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) {
        return unreadable("not JSON for Gradstone: nested deeper than " +
                          std::to_string(kMaxJsonDepth));
      }
      keys[static_cast<std::size_t>(depth)] = 0;
    }
    if (c == ':' && ++keys[static_cast<std::size_t>(depth)] > max_keys) {
      return unreadable("not JSON for Gradstone: an object of more than " +
                        std::to_string(max_keys) + " keys");
    }
  }
  return {};
}

}  // namespace

bool nests_deeper(const Json& json, int levels) {
  if (!json.is_structured()) return false;
  if (levels <= 0) return true;
  return std::any_of(json.begin(), json.end(),
                     [&](const Json& element) { return nests_deeper(element, levels - 1); });
}

Result<Json> parse_json(std::string_view text, int max_keys) {
  TRY(check_bounds(text, max_keys));
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    if (text.empty()) return unreadable("not JSON: it is empty");
    if (error.byte > text.size()) {
      return unreadable("not JSON: it ends too early, after byte " + std::to_string(text.size()));
    }
    return unreadable("not JSON: byte " + std::to_string(error.byte) + " of " +
                      std::to_string(text.size()));
  } catch (const Json::out_of_range&) {
    return unreadable("not JSON: a number is beyond the range of a double");
  }
}

std::string write_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json encode_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

Result<double> decode_number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  return unreadable("expected a number, \"nan\", \"inf\" or \"-inf\"");
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Result<Json> member(const Json& object, std::string_view key) {
  if (!object.is_object())
    return unreadable("expected an object with key '" + std::string(key) + "'");
  const auto found = object.find(std::string(key));
  if (found == object.end()) return unreadable("key '" + std::string(key) + "' is missing");
  return *found;
}

Result<std::string> string_member(const Json& object, std::string_view key) {
  return checked(
      object, key, "a string", [](const Json& json) { return json.is_string(); },
      [](const Json& json) { return json.get<std::string>(); });
}

Result<std::int64_t> integer_member(const Json& object, std::string_view key) {
  return checked(object, key, "an integer", fits_int64,
                 [](const Json& json) { return json.get<std::int64_t>(); });
}

Result<double> number_member(const Json& object, std::string_view key) {
  return checked(object, key, "a number", is_encoded_number,
                 [](const Json& json) { return decode_number(json).value(); });
}

Result<bool> boolean_member(const Json& object, std::string_view key) {
  return checked(
      object, key, "true or false", [](const Json& json) { return json.is_boolean(); },
      [](const Json& json) { return json.get<bool>(); });
}

Result<std::vector<std::int64_t>> integers_member(const Json& object, std::string_view key) {
  return checked(
      object, key, "an array of integers",
      [](const Json& json) { return is_array_of(json, fits_int64); },
      [](const Json& json) { return json.get<std::vector<std::int64_t>>(); });
}

Result<std::vector<std::string>> strings_member(const Json& object, std::string_view key) {
  return checked(
      object, key, "an array of strings",
      [](const Json& json) {
        return is_array_of(json, [](const Json& element) { return element.is_string(); });
      },
      [](const Json& json) { return json.get<std::vector<std::string>>(); });
}

Result<std::vector<double>> numbers_member(const Json& object, std::string_view key) {
  return checked(
      object, key, "an array of numbers",
      [](const Json& json) { return is_array_of(json, is_encoded_number); },
      [](const Json& json) {
        std::vector<double> numbers;
        numbers.reserve(json.size());
        for (const Json& element : json) numbers.push_back(decode_number(element).value());
        return numbers;
      });
}

}  // namespace gradstone
