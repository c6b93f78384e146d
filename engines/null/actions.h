// SPDX-License-Identifier: Apache-2.0
// What the null engine can be told to do, as `--engine null:ACTION`. For tests of everything around
// an engine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gradstone::null {

// When an action happens.
enum class Moment {
  kHandshake,  // in place of the worker's side of the protocol
  kLoad,
  kStep,      // at the first training step
  kGivenStep  // at the training step named behind '=', counted from 0; the first by default
};

// What an action can change of a step that goes on.
struct Step {
  double loss = 0;
};

struct Action {
  std::string_view name;
  std::string_view parameter;  // as help shows it: "", "=SIZE", "[=STEP]"
  std::string_view help;
  Moment moment;
  // kHandshake: nullptr, see main.cc. An error is the engine's answer.
  Status (*act)(const std::string& parameter, Step& step);
};
std::span<const Action> actions();

// The action of an engine argument; `action` is nullptr for "".
struct Order {
  const Action* action = nullptr;
  std::string parameter;
  std::int64_t step = 0;  // for kStep and kGivenStep
};
// Usage error for an unknown action or a bad parameter, listing all; also for "help".
Result<Order> parse_order(std::string_view argument);

}  // namespace gradstone::null
