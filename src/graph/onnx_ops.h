// SPDX-License-Identifier: Apache-2.0
// The rows of ONNX's operators by family, one file each: onnx_ops_<family>.cc. Only onnx_ops.cc
// joins them; everyone else reads op_table.h.
#pragma once

#include "graph/op_table.h"

namespace gradstone {

std::vector<OpDef> convolution_rows();    // Conv and pooling
std::vector<OpDef> normalization_rows();  // BatchNormalization, LRN, Dropout
std::vector<OpDef> elementwise_rows();
std::vector<OpDef> matrix_rows();     // Gemm, MatMul
std::vector<OpDef> layout_rows();     // data moved, not computed
std::vector<OpDef> slicing_rows();    // Gather, Slice, Pad
std::vector<OpDef> reduction_rows();  // ReduceMean, ReduceSum, Softmax, LogSoftmax
std::vector<OpDef> loss_rows();
std::vector<OpDef> recurrent_rows();  // LSTM, GRU, RNN
std::vector<OpDef> control_rows();    // Scan
std::vector<OpDef> training_rows();   // of ONNX's training domain

}  // namespace gradstone
