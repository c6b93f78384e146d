// SPDX-License-Identifier: Apache-2.0
// ATen as every unit here includes it: the framework's logging defines a CHECK of its own, which
// must not replace Gradstone's (base/result.h).
#pragma once

#include "base/result.h"

#pragma push_macro("CHECK")
#undef CHECK
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#undef CHECK
#pragma pop_macro("CHECK")
