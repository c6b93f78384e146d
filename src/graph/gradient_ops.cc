// SPDX-License-Identifier: Apache-2.0
// Rows of the operators in gradient_ops.h.
#include "graph/op_table.h"

namespace gradstone {

std::vector<OpDef> gradient_ops() { return {}; }

}  // namespace gradstone
