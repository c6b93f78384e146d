// SPDX-License-Identifier: Apache-2.0
// Which cases are asked for: patterns by comma, with `*` for any text and `?` for one character.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradstone {

class CaseFilter {
 public:
  explicit CaseFilter(std::string_view patterns);  // "": everything
  bool matches(std::string_view name) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace gradstone
