// SPDX-License-Identifier: Apache-2.0
// The second half of a verification: the whole network, step after step. For verify.cc.
#pragma once

#include "verify/verify.h"

namespace gradstone {

// Trains `subject` on the engine and follows it: each step is compared with what the reference
// makes of the engine's own weights, and each update with what the reference engine makes of the
// engine's own gradients. Steps and losses go into `result`.
Answer check_whole_network(const Subject& subject, EnginePort& engine, EnginePort& reference,
                           Comparison& comparison, VerifyResult& result);

}  // namespace gradstone
