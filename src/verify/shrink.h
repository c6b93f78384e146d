// SPDX-License-Identifier: Apache-2.0
// From a departure in a network to a small case that still shows it: fewer nodes, then smaller
// shapes. Whatever is tried is judged by running it.
#pragma once

#include "verify/verify.h"

namespace gradstone {

struct Shrunk {
  Case question;
  TensorMap answers;                  // the engine's
  std::vector<Expectation> expected;  // what they should be
  Departure departure;                // the first; its node is one of question.graph
  std::int64_t trials = 0;            // cases run on the way
};

// `departure` is what a verification found (VerifyResult::first). The smaller case departs in the
// same direction and by a clear multiple of what is allowed. Failed where the fault does not show
// outside the whole network, as that of an update.
Result<Shrunk> shrink(const Verification& verification, const Departure& departure,
                      EnginePort& engine);

// One case judged: departures of the engine in it, if it answers at all.
Result<Shrunk> judge(const Case& question, EnginePort& engine);

}  // namespace gradstone
