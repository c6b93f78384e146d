// SPDX-License-Identifier: Apache-2.0
// What a model takes and gives, by name and as the file says it, whether or not a graph can hold it.
// Not for building graphs: onnx.h.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gradstone {

struct ModelValue {
  std::string name;
  std::string foreign;  // "sequence", "optional(tensor)": what it is, if no tensor; else ""
};

struct ModelInterface {
  std::vector<ModelValue> inputs;  // in order, without those that an initializer gives a value
  std::vector<ModelValue> outputs;
  std::vector<std::string> operators;  // of the top-level nodes, sorted, each once
};

Result<ModelInterface> read_model_interface(const std::string& path);

}  // namespace gradstone
