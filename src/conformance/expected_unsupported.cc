// SPDX-License-Identifier: Apache-2.0
#include "conformance/expected_unsupported.h"

#include <algorithm>

#include "base/files.h"
#include "recipe/recipe.h"

namespace gradstone {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

Result<ExpectedUnsupported> ExpectedUnsupported::parse(std::string_view text,
                                                       std::string_view name) {
  ExpectedUnsupported list;
  list.name_ = name;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trimmed(text.substr(at, end - at));
    at = end + 1;
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = line.find_first_of(" \t");
    const std::string pattern(line.substr(0, space));
    const std::string place = list.name_ + ", line " + std::to_string(number);
    if (space == std::string_view::npos) {
      return unreadable(place + ": pattern '" + pattern + "' has no reason behind it");
    }
    for (const Line& other : list.lines_) {
      if (other.pattern != pattern) continue;
      return unreadable(place + ": pattern '" + pattern + "' stands in line " +
                        std::to_string(other.number) + " already");
    }
    list.lines_.push_back({pattern, number});
  }
  return list;
}

Result<ExpectedUnsupported> ExpectedUnsupported::read(const std::string& path) {
  if (!path_exists(path)) return ExpectedUnsupported();
  return parse(TRY(read_file(path)), path);
}

const ExpectedUnsupported::Line* ExpectedUnsupported::find(std::string_view name) const {
  for (const Line& line : lines_) {
    if (matches_pattern(line.pattern, name)) return &line;
  }
  return nullptr;
}

void ExpectedUnsupported::judge(CaseResult& result) const {
  const Line* line = find(result.name);
  if (result.verdict == Verdict::kUnsupported && line == nullptr) {
    result.surprise = "unsupported, but not in the engine's list of what may be";
  } else if (result.verdict == Verdict::kPassed && line != nullptr) {
    result.surprise = "passes, but is listed as unsupported: " + name_ + ", line " +
                      std::to_string(line->number) + ", pattern '" + line->pattern + "'";
  }
}

std::string draft_of_list(const std::vector<CaseResult>& results) {
  std::string text = "# PATTERN  REASON\n";
  for (const CaseResult& result : results) {
    if (result.verdict == Verdict::kUnsupported) text += result.name + "  " + result.message + "\n";
  }
  return text;
}

}  // namespace gradstone
