// SPDX-License-Identifier: Apache-2.0
#include "graph/initializer.h"

#include <array>

namespace gradstone {
namespace {

// In the order of Distribution.
constexpr std::array<std::string_view, 9> kNames = {
    "constant",         "uniform",           "normal",
    "truncated_normal", "xavier_uniform",    "xavier_fan_in",
    "he_normal",        "he_normal_fan_out", "fan_in_uniform"};

}  // namespace

std::string_view name_of(Distribution distribution) {
  return kNames[static_cast<std::size_t>(distribution)];
}

std::optional<Distribution> distribution_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Distribution>(i);
  }
  return std::nullopt;
}

}  // namespace gradstone
