// SPDX-License-Identifier: Apache-2.0
#include "conformance/result.h"

#include <array>

namespace gradstone {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"passed", "unsupported", "wrong", "crashed"};

}  // namespace

std::string_view name_of(Verdict verdict) { return kNames[static_cast<std::size_t>(verdict)]; }

CaseCounts count_cases(const std::vector<CaseResult>& results) {
  CaseCounts counts;
  for (const CaseResult& result : results) {
    ++counts.tests;
    counts.passed += result.verdict == Verdict::kPassed;
    counts.unsupported += result.verdict == Verdict::kUnsupported;
    counts.wrong += result.verdict == Verdict::kWrong;
    counts.crashed += result.verdict == Verdict::kCrashed;
    counts.surprises += !result.surprise.empty();
  }
  return counts;
}

std::string to_string(const CaseCounts& counts) {
  return "tests: " + std::to_string(counts.tests) + " passed: " + std::to_string(counts.passed) +
         " unsupported: " + std::to_string(counts.unsupported) +
         " wrong: " + std::to_string(counts.wrong) + " crashed: " + std::to_string(counts.crashed);
}

}  // namespace gradstone
