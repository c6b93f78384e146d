// SPDX-License-Identifier: Apache-2.0
// ONNX files from memory: no crash and no huge allocation, and what is read is a graph that can be
// written again. Seeds are valid models; two bytes in front choose the options.
#include <cstdint>

#include "onnx/onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradstone;
  if (size < 2) return 0;
  ImportOptions options;
  options.training = (data[0] & 1) != 0;
  options.batch_norm = (data[0] & 2) != 0 ? BatchNormMode::kFrozen : BatchNormMode::kTrain;
  if ((data[0] & 4) != 0) options.dimensions["N"] = data[1] + 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Result<ImportedModel> model = import_onnx(bytes, "/nonexistent", options);
  if (!model.ok()) return 0;
  CHECK(check_graph(model->graph).ok(), "what was read is no graph");
  for (const Weight& weight : model->graph.weights) {
    const auto value = model->weights.find(weight.name);
    CHECK(value != model->weights.end() && value->second.type() == weight.type,
          "a weight without a value");
  }
  return 0;
}
