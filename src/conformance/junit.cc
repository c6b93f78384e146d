// SPDX-License-Identifier: Apache-2.0
#include "conformance/junit.h"

#include <fmt/format.h>

#include <utility>

namespace gradstone {
namespace {

// XML allows few control characters, however they are written.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

using Attributes = std::vector<std::pair<std::string_view, std::string>>;

std::string opening(std::string_view tag, const Attributes& attributes, bool empty = false) {
  std::string text = "<" + std::string(tag);
  for (const auto& [key, value] : attributes) {
    text += " " + std::string(key) + "=\"" + escaped(value) + "\"";
  }
  return text + (empty ? "/>\n" : ">\n");
}

// "node" and "test_relu/gradient".
std::pair<std::string, std::string> split_name(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return {"", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

std::string outcome_element(const CaseResult& result, const std::string& command) {
  if (!result.failed()) {
    if (result.verdict == Verdict::kPassed) return "";
    return opening("skipped", {{"message", result.message}}, true);
  }
  const std::string message =
      result.surprise.empty() ? result.message : result.surprise + ": " + result.message;
  const std::string_view tag = result.verdict == Verdict::kCrashed ? "error" : "failure";
  std::string text = opening(tag, {{"type", std::string(name_of(result.verdict))},
                                   {"message", message}});
  return text + escaped(command) + "\n</" + std::string(tag) + ">\n";
}

}  // namespace

std::string junit_xml(const std::vector<CaseResult>& results, std::string_view engine,
                      std::string (*command_of)(std::string_view engine, std::string_view name)) {
  std::size_t failures = 0, errors = 0, skipped = 0;
  double seconds = 0;
  for (const CaseResult& result : results) {
    seconds += result.seconds;
    if (result.failed()) {
      ++(result.verdict == Verdict::kCrashed ? errors : failures);
    } else if (result.verdict == Verdict::kUnsupported) {
      ++skipped;
    }
  }
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  text += opening("testsuite", {{"name", "conformance " + std::string(engine)},
                                {"tests", std::to_string(results.size())},
                                {"failures", std::to_string(failures)},
                                {"errors", std::to_string(errors)},
                                {"skipped", std::to_string(skipped)},
                                {"time", fmt::format("{:.3f}", seconds)}});
  for (const CaseResult& result : results) {
    const auto [suite, name] = split_name(result.name);
    const std::string inside = outcome_element(result, command_of(engine, result.name));
    const Attributes attributes = {
        {"classname", suite}, {"name", name}, {"time", fmt::format("{:.3f}", result.seconds)}};
    text += opening("testcase", attributes, inside.empty());
    if (!inside.empty()) text += inside + "</testcase>\n";
  }
  return text + "</testsuite>\n</testsuites>\n";
}

}  // namespace gradstone
