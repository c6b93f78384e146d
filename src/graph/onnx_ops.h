// SPDX-License-Identifier: Apache-2.0
// The rows of ONNX's operators by family, one file each: onnx_ops_<family>.cc. Only onnx_ops.cc
// joins them; everyone else reads op_table.h.
#pragma once

#include "graph/op_table.h"

namespace gradstone {

std::vector<OpDef> convolution_rows();  // Conv and ConvTranspose
std::vector<OpDef> pooling_rows();
std::vector<OpDef> normalization_rows();  // BatchNormalization, LRN, Dropout
std::vector<OpDef> layer_normalization_rows();
std::vector<OpDef> elementwise_rows();
std::vector<OpDef> activation_rows();
std::vector<OpDef> math_rows();       // functions of numbers, Max, Min, Sum, Mean
std::vector<OpDef> logic_rows();      // comparisons, Where
std::vector<OpDef> matrix_rows();     // Gemm, MatMul
std::vector<OpDef> layout_rows();     // data moved, not computed
std::vector<OpDef> slicing_rows();    // Gather, Slice, Pad
std::vector<OpDef> axes_rows();       // Squeeze, Tile, Split, DepthToSpace, Trilu
std::vector<OpDef> indexing_rows();   // GatherND, ScatterND, OneHot, TopK
std::vector<OpDef> generator_rows();  // Shape, Range
std::vector<OpDef> reduction_rows();
std::vector<OpDef> along_axis_rows();  // Softmax, CumSum, ArgMax
std::vector<OpDef> loss_rows();
std::vector<OpDef> recurrent_rows();  // LSTM, GRU, RNN
std::vector<OpDef> control_rows();    // Scan
std::vector<OpDef> resize_rows();
std::vector<OpDef> einsum_rows();
std::vector<OpDef> detection_rows();           // RoiAlign, NonMaxSuppression
std::vector<OpDef> detection_gradient_rows();  // RoiAlignGrad, RoiAlignGather: gradient_ops.cc
std::vector<OpDef> training_rows();            // of ONNX's training domain

}  // namespace gradstone
