// SPDX-License-Identifier: Apache-2.0
#include "engines/reference/variables.h"

namespace gradstone::reference {

void fill(Tensor& tensor, double value) {
  Tensor wide({DType::kFloat64, tensor.shape()});
  for (double& element : wide.as<double>()) element = value;
  tensor = converted(wide.ref(), tensor.type().dtype);
}

VariableTable make_variables() {
  return VariableTable({[](const TensorType& type) { return Tensor(type); }, fill});
}

}  // namespace gradstone::reference
