// SPDX-License-Identifier: Apache-2.0
// Faults that frameworks really had, planted into the reference's graphs: `--engine faulty:FAULT`.
// For tests of verify.
#pragma once

#include <span>
#include <string_view>

#include "engines/reference/loaded_program.h"

namespace gradstone::faulty {

struct Fault {
  std::string_view name;
  std::string_view help;
  // Changes the forward pass before it is differentiated; nullptr: does not.
  void (*forward)(Graph& graph) = nullptr;
  // Changes what was made of it; `given` is the graph before `forward`. nullptr: does not.
  void (*lowered)(reference::Lowered& lowered, const Graph& given) = nullptr;
};
std::span<const Fault> faults();

// nullptr for "": no fault. Usage error for an unknown one, listing all; also for "help".
Result<const Fault*> find_fault(std::string_view argument);

// The program lowered with the fault in it.
Result<reference::Lowered> lower_with(const Fault& fault, const ProgramSpec& spec);

}  // namespace gradstone::faulty
