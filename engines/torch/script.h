// SPDX-License-Identifier: Apache-2.0
// A program as a Python script on torch, for people who have PyTorch and not Gradstone. Links no
// framework.
#pragma once

#include "worker/engine.h"

namespace gradstone::torch_engine {

// Unsupported with the operator where none of torch's functions is its like.
Result<Script> python_script(const ScriptRequest& request);

}  // namespace gradstone::torch_engine
