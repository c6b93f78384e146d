// SPDX-License-Identifier: Apache-2.0
#include "engines/null/actions.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "base/suggest.h"
#include "base/units.h"

namespace gradstone::null {
namespace {

Status crash(const std::string&, Step&) {
  std::fprintf(stderr, "null: crashing as told\n");
  ::signal(SIGSEGV, SIG_DFL);  // a sanitizer would catch it and leave with an exit status
  ::raise(SIGSEGV);
  return {};
}

Status leave(const std::string& parameter, Step&) { ::_exit(std::atoi(parameter.c_str())); }

Status hang(const std::string&, Step&) {
  for (;;) ::pause();
}

// Touches page after page with pauses, as a network that grows would.
Status allocate(const std::string& parameter, Step&) {
  constexpr std::size_t kBlock = 8 << 20;
  const auto bytes = static_cast<std::size_t>(TRY(parse_bytes(parameter)));
  for (std::size_t held = 0; held < bytes; held += kBlock) {
    void* block =
        ::mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return Error{ErrorKind::kOutOfMemory, "null: mmap failed"};
    std::memset(block, 1, kBlock);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return {};
}

Status fail(const std::string&, Step&) { return failed("null: failed as told"); }

Status refuse(const std::string&, Step&) { return unsupported("null: unsupported as told"); }

Status run_out_of_memory(const std::string&, Step&) {
  return Error{ErrorKind::kOutOfMemory, "null: out of memory as told"};
}

Status talk(const std::string& parameter, Step&) {
  std::fprintf(stderr, "%s\n", parameter.c_str());
  return {};
}

Status diverge(const std::string&, Step& step) {
  step.loss = std::nan("");
  return {};
}

constexpr Action kActions[] = {
    {"rubbish", "", "send what is no message", Moment::kHandshake, nullptr},
    {"protocol", "=VERSION", "speak another version of the protocol", Moment::kHandshake, nullptr},
    {"fail-at-load", "", "answer load with an error", Moment::kLoad, fail},
    {"unsupported", "", "answer load with unsupported", Moment::kLoad, refuse},
    {"stderr", "=TEXT", "print a line on stderr", Moment::kLoad, talk},
    {"crash", "[=STEP]", "die of SIGSEGV", Moment::kGivenStep, crash},
    {"hang", "[=STEP]", "never return", Moment::kGivenStep, hang},
    {"fail", "[=STEP]", "answer a step with an error", Moment::kGivenStep, fail},
    {"nan", "[=STEP]", "compute a loss that is not a number", Moment::kGivenStep, diverge},
    {"out-of-memory", "[=STEP]", "answer a step with out of memory", Moment::kGivenStep,
     run_out_of_memory},
    {"allocate", "=SIZE", "take so much memory, and go on", Moment::kStep, allocate},
    {"exit", "=STATUS", "leave at once with this exit status", Moment::kStep, leave},
};

Error refused(const std::string& why) {
  std::string text = "engine null: " + why + "; actions:";
  for (const Action& action : kActions) {
    text += (&action == kActions ? " " : ", ") + std::string(action.name) +
            std::string(action.parameter) + " (" + std::string(action.help) + ")";
  }
  return usage_error(text);
}

Status read_step(const std::string& parameter, std::int64_t& step) {
  if (parameter.empty()) return {};
  const char* end = parameter.data() + parameter.size();
  const auto [rest, code] = std::from_chars(parameter.data(), end, step);
  if (code == std::errc() && rest == end && step >= 0) return {};
  return refused("'" + parameter + "' is no step");
}

}  // namespace

std::span<const Action> actions() { return kActions; }

Result<Order> parse_order(std::string_view argument) {
  Order order;
  if (argument.empty()) return order;
  const std::size_t equals = argument.find('=');
  const std::string_view name = argument.substr(0, equals);
  if (equals != std::string_view::npos) order.parameter = argument.substr(equals + 1);
  if (name == "help") return refused("told nothing to do, it trains without computing");
  std::vector<std::string_view> names;
  for (const Action& action : kActions) {
    names.push_back(action.name);
    if (action.name == name) order.action = &action;
  }
  if (order.action == nullptr) {
    return refused("unknown action '" + std::string(name) + "'" + did_you_mean(name, names));
  }
  const std::string_view parameter = order.action->parameter;
  if ((parameter.empty() && equals != std::string_view::npos) ||
      (parameter.starts_with('=') && order.parameter.empty())) {
    return refused("expected " + std::string(name) + std::string(parameter));
  }
  if (order.action->moment == Moment::kGivenStep) TRY(read_step(order.parameter, order.step));
  if (name == "allocate") TRY(parse_bytes(order.parameter));
  return order;
}

}  // namespace gradstone::null
