// SPDX-License-Identifier: Apache-2.0
// JSON by nlohmann-json, with what Gradstone adds: errors as values and a spelling for non-finite
// numbers. Include nlohmann/json_fwd.hpp in headers that only name the type.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gradstone {

using Json = nlohmann::ordered_json;  // keys keep the order in which they were written

// Parses one document. The error names the byte offset. Refuses nesting deeper than kMaxJsonDepth and
// objects of more than `max_keys` keys: a key is looked for among all before it.
inline constexpr int kMaxJsonDepth = 200;
inline constexpr int kMaxJsonKeys = 32'768;
Result<Json> parse_json(std::string_view text, int max_keys = kMaxJsonKeys);
// Whether arrays and objects lie in one another more than `levels` deep; a plain value is level 0.
bool nests_deeper(const Json& json, int levels);
std::string write_json(const Json& json, int indent = -1);

// On the wire and in stored context non-finite numbers are the strings "nan", "inf", "-inf".
Json encode_number(double value);
Result<double> decode_number(const Json& json);
// In reports a non-finite number is null.
Json number_or_null(double value);

// Checked access; errors name the key: `key 'shape': expected an array of integers`.
Result<Json> member(const Json& object, std::string_view key);
Result<std::string> string_member(const Json& object, std::string_view key);
Result<std::int64_t> integer_member(const Json& object, std::string_view key);
Result<double> number_member(const Json& object, std::string_view key);
Result<bool> boolean_member(const Json& object, std::string_view key);
Result<std::vector<std::int64_t>> integers_member(const Json& object, std::string_view key);
Result<std::vector<std::string>> strings_member(const Json& object, std::string_view key);
Result<std::vector<double>> numbers_member(const Json& object, std::string_view key);

}  // namespace gradstone
