// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes and durations as people type them. Not for output.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gradstone {

// A whole number in decimal digits and nothing else, from `least` to `most`: never wrapped, never
// cut to what fits. Usage error for anything else.
template <class Integer>
Result<Integer> parse_integer(std::string_view text, Integer least = 0,
                              Integer most = std::numeric_limits<Integer>::max()) {
  const std::string quoted = "'" + std::string(text) + "'";
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return usage_error(quoted + " is not a whole number");
  }
  Integer value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  // What is left is out of range; an unsigned type takes no sign at all.
  const bool fits = code == std::errc();
  if (negative ? !fits || value < least : fits && value < least) {
    return usage_error(quoted + " is too small; the least is " + std::to_string(least));
  }
  if (!fits || value > most) {
    return usage_error(quoted + " is too large; the most is " + std::to_string(most));
  }
  return value;
}

// Bytes: "512", "10GiB", "1.5G", "200MB". K, M, G, T and Ki, Mi, Gi, Ti are all powers of 1024, as
// in systemd and docker; KB, MB, GB, TB are powers of 1000. Usage error for anything else.
Result<std::int64_t> parse_bytes(std::string_view text);

// Seconds: "90", "90s", "1.5h", "250ms", "10min", "10m", "2d". Usage error for anything else.
Result<double> parse_seconds(std::string_view text);

}  // namespace gradstone
