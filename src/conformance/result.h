// SPDX-License-Identifier: Apache-2.0
// What came of one case of the conformance suite. Plain data.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gradstone {

enum class Verdict { kPassed, kUnsupported, kWrong, kCrashed };
std::string_view name_of(Verdict verdict);  // "passed", "unsupported", "wrong", "crashed"

struct CaseResult {
  std::string name;  // "node/test_relu", "node/test_relu/gradient", "optimizer/adam"
  Verdict verdict = Verdict::kPassed;
  std::string message;  // why, if it did not pass; else "" or a remark
  // Why the verdict is not the one that the engine's list of what may be unsupported foresees; "".
  std::string surprise;
  double seconds = 0;

  bool failed() const {
    return verdict == Verdict::kWrong || verdict == Verdict::kCrashed || !surprise.empty();
  }
};

struct CaseCounts {
  std::size_t tests = 0, passed = 0, unsupported = 0, wrong = 0, crashed = 0;
  std::size_t surprises = 0;
};
CaseCounts count_cases(const std::vector<CaseResult>& results);
// "tests: 3 passed: 1 unsupported: 1 wrong: 1 crashed: 0"
std::string to_string(const CaseCounts& counts);

}  // namespace gradstone
