// SPDX-License-Identifier: Apache-2.0
// What graphs have and ONNX does not, hidden where others do not look: attributes whose names begin
// with two underscores, which ONNX's checker leaves alone, and entries of the model's metadata.
// docs/onnx.md lists them.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace gradstone::onnx_io {

inline std::string own_attribute(std::string_view name) { return "__" + std::string(name); }
inline bool is_own_attribute(std::string_view name) { return name.starts_with("__"); }

// A float64 as text that gives it back bit for bit.
std::string exact_text(double number);
std::optional<double> number_of(std::string_view text);

// State updates, and which weights do not train.
void write_own_fields(const Graph& graph, onnx::ModelProto& model);

struct OwnFields {
  std::vector<StateUpdate> state_updates;  // names of the file
  std::vector<std::string> states;         // weights that do not train
};
// Nothing where there are none or they are damaged: they are not ours then.
OwnFields read_own_fields(const onnx::ModelProto& model);

}  // namespace gradstone::onnx_io
