// SPDX-License-Identifier: Apache-2.0
// An engine's description as JSON: what `WorkerHello::engine` carries and the record keeps.
#pragma once

#include <string_view>

#include "base/json.h"
#include "worker/engine.h"

namespace gradstone {

std::string_view name_of(ExecutionMode mode);  // "eager", "graph", "compiled"

// Keys as the fields of EngineDescription are called, in that order; `facts` is an object.
Json to_json(const EngineDescription& description);

}  // namespace gradstone
