// SPDX-License-Identifier: Apache-2.0
// What the program's exit status says (docs/exit-codes.md). The only place that knows the numbers.
#pragma once

#include <vector>

#include "base/result.h"
#include "record/record.h"

namespace gradstone {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;      // the command could not be carried out
inline constexpr int kExitUsage = 2;       // unknown or contradictory choices
inline constexpr int kExitUnreadable = 3;  // a file, data set or store is broken
inline constexpr int kExitPartial = 4;     // the plan ran, but some of its runs failed
inline constexpr int kExitTimedOut = 124;  // every run that failed passed its time limit
inline constexpr int kExitInterrupted = 130;

int exit_code_of(ErrorKind kind);

// One finished run of a plan.
struct FinishedRun {
  Outcome outcome = Outcome::kOk;
  bool engine_was_named = false;  // false: chosen by `--engine all`
};
// kOk, kPartial or kTimedOut. `unsupported` counts as failed where the engine was named, and
// `unsupported` and `diverged` always do if `strict`.
int exit_code_of(const std::vector<FinishedRun>& runs, bool strict);

}  // namespace gradstone
