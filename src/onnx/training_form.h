// SPDX-License-Identifier: Apache-2.0
// What a file cannot say of training: batch norm that normalizes with the batch, dropout that is on,
// and what an exporter may have left out.
#pragma once

#include <string>
#include <vector>

#include "onnx/assembler.h"
#include "onnx/onnx.h"

namespace gradstone::onnx_io {

// Running statistics of batch norm are states, not parameters.
void mark_states(Assembled& model);

// Puts the graph into training form and says what was done and what may be missing.
std::vector<std::string> to_training_form(Assembled& model, BatchNormMode batch_norm);

}  // namespace gradstone::onnx_io
