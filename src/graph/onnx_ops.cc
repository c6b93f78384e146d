// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_ops.h"

namespace gradstone {

std::vector<OpDef> onnx_ops() {
  std::vector<OpDef> rows;
  for (const auto family :
       {convolution_rows, pooling_rows,    normalization_rows, layer_normalization_rows,
        elementwise_rows, activation_rows, math_rows,          logic_rows,
        matrix_rows,      layout_rows,     slicing_rows,       axes_rows,
        indexing_rows,    generator_rows,  reduction_rows,     along_axis_rows,
        loss_rows,        recurrent_rows,  control_rows,       resize_rows,
        einsum_rows,      detection_rows,  training_rows}) {
    for (OpDef& row : family()) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace gradstone
