// SPDX-License-Identifier: Apache-2.0
#include "engines/torch/variables.h"

#include "engines/torch/support.h"

namespace gradstone::torch_engine {

VariableTable make_variables() {
  const auto make = [](const TensorType& type) {
    return at::zeros(type.shape, at::TensorOptions().dtype(scalar_type(type.dtype)));
  };
  return VariableTable({make, [](at::Tensor& tensor, double value) { tensor.fill_(value); }});
}

}  // namespace gradstone::torch_engine
