// SPDX-License-Identifier: Apache-2.0
#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

namespace gradstone {
namespace {

struct Scale {
  double from;  // used for absolute values from here on
  double divisor;
  std::string_view prefix;
};
constexpr std::array<Scale, 4> kSeconds = {
    {{1, 1, "s"}, {1e-3, 1e-3, "ms"}, {1e-6, 1e-6, "µs"}, {0, 1e-9, "ns"}}};
constexpr std::array<Scale, 5> kBytes = {{{1099511627776.0, 1099511627776.0, "TiB"},
                                          {1073741824.0, 1073741824.0, "GiB"},
                                          {1048576.0, 1048576.0, "MiB"},
                                          {1024.0, 1024.0, "KiB"},
                                          {0, 1, "B"}}};
constexpr std::array<Scale, 6> kPrefixes = {{{1e15, 1e15, "P"},
                                             {1e12, 1e12, "T"},
                                             {1e9, 1e9, "G"},
                                             {1e6, 1e6, "M"},
                                             {1e3, 1e3, "k"},
                                             {0, 1, ""}}};

// Four significant digits, no exponent where a person would not use one.
std::string digits(double value) {
  const double size = std::abs(value);
  if (value == std::floor(value) && size < 1e15)
    return fmt::format("{}", static_cast<std::int64_t>(value));
  if (size >= 1000 && size < 1e15) return fmt::format("{:.0f}", value);
  if (size != 0 && size < 1e-4) return fmt::format("{:.3g}", value);
  return fmt::format("{:.4g}", value);
}

template <std::size_t kCount>
std::string scaled(double value, const std::array<Scale, kCount>& scales, std::string_view unit) {
  for (const Scale& scale : scales) {
    if (std::abs(value) < scale.from) continue;
    return digits(value / scale.divisor) + " " + std::string(scale.prefix) + std::string(unit);
  }
  return digits(value);
}

// Two significant digits, without an exponent where a person would not use one.
std::string two_digits(double value) {
  if (value < 100 || value >= 1e6) return fmt::format("{:.2g}", value);
  const double step = std::pow(10, std::floor(std::log10(value)) - 1);
  return fmt::format("{:.0f}", std::round(value / step) * step);
}

std::string separated(double value) {
  std::string text = fmt::format("{}", static_cast<std::int64_t>(value));
  for (int place = static_cast<int>(text.size()) - 3; place > (value < 0 ? 1 : 0); place -= 3) {
    text.insert(static_cast<std::size_t>(place), ",");
  }
  return text;
}

}  // namespace

std::string bare_figure_text(double value, std::string_view unit) {
  if (!std::isfinite(value)) return "-";
  if (unit == "s") return value == 0 ? "0 s" : scaled(value, kSeconds, "");
  if (unit == "B") return scaled(value, kBytes, "");
  if (unit.starts_with("FLOP")) return scaled(value, kPrefixes, unit);
  if (value == std::floor(value) && std::abs(value) < 1e15) return separated(value);
  return digits(value);
}

std::string figure_text(double value, std::string_view unit) {
  const std::string bare = bare_figure_text(value, unit);
  const bool has_unit = unit == "s" || unit == "B" || unit.starts_with("FLOP");
  if (has_unit || unit == "1" || unit.empty() || bare == "-") return bare;
  return bare + " " + std::string(unit);
}

std::string spread_text(const MetricValue& metric) {
  if (!metric.low || !metric.high || metric.value == 0) return "";
  const double half = std::max(metric.value - *metric.low, *metric.high - metric.value);
  const double percent = 100 * half / std::abs(metric.value);
  if (!std::isfinite(percent)) return "";
  return " ±" + two_digits(percent) + "%";
}

std::string interval_text(const MetricValue& metric) {
  if (!metric.low || !metric.high) return "";
  return "[" + bare_figure_text(*metric.low, metric.unit) + ", " +
         bare_figure_text(*metric.high, metric.unit) + "]";
}

std::string time_text(std::int64_t unix_ms) {
  if (unix_ms <= 0) return "";
  const std::time_t seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "";
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

}  // namespace gradstone
