// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_ops.h"

namespace gradstone {

std::vector<OpDef> onnx_ops() {
  std::vector<OpDef> rows;
  for (const auto family :
       {convolution_rows, normalization_rows, elementwise_rows, activation_rows, math_rows,
        logic_rows, matrix_rows, layout_rows, slicing_rows, reduction_rows, loss_rows, axes_rows,
        indexing_rows, generator_rows, recurrent_rows, control_rows}) {
    for (OpDef& row : family()) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace gradstone
