// SPDX-License-Identifier: Apache-2.0
// The reference engine's kind of variable: plain tensors.
#pragma once

#include "graph/tensor.h"
#include "worker/variable_table.h"

namespace gradstone::reference {

using Variable = gradstone::Variable<Tensor>;
using VariableTable = gradstone::VariableTable<Tensor>;

// Sets every element, of any type, to `value` converted.
void fill(Tensor& tensor, double value);
VariableTable make_variables();

}  // namespace gradstone::reference
