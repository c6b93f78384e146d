// SPDX-License-Identifier: Apache-2.0
// The operators of domain "gradstone" that a workload may use (those of backward passes stand in
// gradient_ops.h). Documented for people in docs/own-operators.md.
#pragma once

#include "graph/op_table.h"

namespace gradstone {

std::vector<OpDef> ctc_rows();   // CTCLoss and its adjoint
std::vector<OpDef> host_rows();  // Host: a C++ function in mid-graph, see host_function.h

}  // namespace gradstone
