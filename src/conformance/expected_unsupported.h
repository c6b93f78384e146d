// SPDX-License-Identifier: Apache-2.0
// The reviewed list of what an engine may answer `unsupported` to: a text file beside its worker, one
// pattern of case names and one reason a line, `#` before comments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "conformance/result.h"

namespace gradstone {

class ExpectedUnsupported {
 public:
  ExpectedUnsupported() = default;  // nothing may be unsupported
  // Unreadable, with the line, for a pattern without a reason or one that is there twice.
  static Result<ExpectedUnsupported> parse(std::string_view text, std::string_view name);
  // Nothing where there is no such file.
  static Result<ExpectedUnsupported> read(const std::string& path);

  // Sets `surprise` of a case that is unsupported and not listed, or listed and passes.
  void judge(CaseResult& result) const;

 private:
  struct Line {
    std::string pattern;
    std::size_t number = 0;
  };
  const Line* find(std::string_view name) const;

  std::string name_;  // of the file, for messages
  std::vector<Line> lines_;
};

// The unsupported among `results` as such a list, in their order.
std::string draft_of_list(const std::vector<CaseResult>& results);

}  // namespace gradstone
