// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.h"

namespace gradstone {
namespace {

bool counts_as_failed(const FinishedRun& run, bool strict) {
  switch (run.outcome) {
    case Outcome::kOk:
      return false;
    case Outcome::kUnsupported:
      return strict || run.engine_was_named;
    case Outcome::kDiverged:
      return strict;
    case Outcome::kOutOfMemory:
    case Outcome::kTimedOut:
    case Outcome::kCrashed:
    case Outcome::kWrongResult:
    case Outcome::kInvalid:
      return true;
  }
  return true;
}

}  // namespace

int exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return kExitUsage;
    case ErrorKind::kUnreadable:
      return kExitUnreadable;
    case ErrorKind::kFailed:
    case ErrorKind::kUnsupported:
    case ErrorKind::kOutOfMemory:
      return kExitFailed;
  }
  return kExitFailed;
}

int exit_code_of(const std::vector<FinishedRun>& runs, bool strict) {
  int code = kExitOk;
  for (const FinishedRun& run : runs) {
    if (!counts_as_failed(run, strict)) continue;
    if (run.outcome != Outcome::kTimedOut) return kExitPartial;
    code = kExitTimedOut;
  }
  return code;
}

}  // namespace gradstone
