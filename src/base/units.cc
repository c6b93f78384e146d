// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <charconv>
#include <cmath>
#include <span>
#include <string>

namespace gradstone {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024, kMi = kKi * kKi, kGi = kMi * kKi, kTi = kGi * kKi;
constexpr Unit kByteUnits[] = {{"", 1},     {"B", 1},     {"K", kKi},   {"KiB", kKi}, {"Ki", kKi},
                               {"KB", 1e3}, {"M", kMi},   {"MiB", kMi}, {"Mi", kMi},  {"MB", 1e6},
                               {"G", kGi},  {"GiB", kGi}, {"Gi", kGi},  {"GB", 1e9},  {"T", kTi},
                               {"Ti", kTi}, {"TiB", kTi}, {"TB", 1e12}};
constexpr Unit kTimeUnits[] = {{"", 1},     {"s", 1},    {"ms", 1e-3}, {"m", 60},
                               {"min", 60}, {"h", 3600}, {"d", 86400}};

// A number from 0 and a unit of `units`; `what` stands in the error.
Result<double> parse_quantity(std::string_view text, std::span<const Unit> units,
                              std::string_view what) {
  double number = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc() && std::isfinite(number) && number >= 0) {
    const std::string_view name(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
    for (const Unit& unit : units) {
      if (unit.name == name && std::isfinite(number * unit.factor)) return number * unit.factor;
    }
  }
  return usage_error("'" + std::string(text) + "' is not " + std::string(what));
}

}  // namespace

Result<std::int64_t> parse_bytes(std::string_view text) {
  const double bytes = TRY(parse_quantity(text, kByteUnits, "a size such as 512MiB or 10GiB"));
  if (bytes >= 9e18) return usage_error("'" + std::string(text) + "' is too large a size");
  return static_cast<std::int64_t>(bytes);
}

Result<double> parse_seconds(std::string_view text) {
  return parse_quantity(text, kTimeUnits, "a duration such as 90s, 10min or 1h");
}

}  // namespace gradstone
