// SPDX-License-Identifier: Apache-2.0
#include "conformance/case_filter.h"

#include <algorithm>

#include "recipe/recipe.h"

namespace gradstone {

CaseFilter::CaseFilter(std::string_view patterns) {
  for (std::size_t at = 0; at < patterns.size();) {
    const std::size_t comma = std::min(patterns.find(',', at), patterns.size());
    patterns_.emplace_back(patterns.substr(at, comma - at));
    at = comma + 1;
  }
}

bool CaseFilter::matches(std::string_view name) const {
  return patterns_.empty() || std::any_of(patterns_.begin(), patterns_.end(),
                                          [&](const auto& p) { return matches_pattern(p, name); });
}

}  // namespace gradstone
