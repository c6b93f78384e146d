// SPDX-License-Identifier: Apache-2.0
// The engine torch's kind of variable. Their storage never moves; programs hold tensors that share
// it.
#pragma once

#include "engines/torch/aten.h"
#include "worker/variable_table.h"

namespace gradstone::torch_engine {

// Values are contiguous and require no gradient.
using Variable = gradstone::Variable<at::Tensor>;
using VariableTable = gradstone::VariableTable<at::Tensor>;

VariableTable make_variables();

}  // namespace gradstone::torch_engine
