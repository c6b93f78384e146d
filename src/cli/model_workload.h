// SPDX-License-Identifier: Apache-2.0
// A person's own model as a workload: an ONNX file, what its loss is, and how it is trained. What a
// file means stands in onnx/.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "onnx/onnx.h"
#include "recipe/workload.h"

namespace CLI {
class App;
}

namespace gradstone {

// As typed; "" is what was not given, and then the recipe file's or the default.
struct ModelOptions {
  std::string model;
  std::string recipe;  // TOML, docs/onnx.md
  std::string loss, labels, batch_norm;
  std::vector<std::string> freeze;      // patterns of weights
  std::vector<std::string> dimensions;  // NAME=N
  std::vector<std::string> shapes;      // INPUT=N,...
};
void add_model_options(CLI::App& app, ModelOptions& options);
// Usage error for one of them without --model.
Status check_no_model_options(const ModelOptions& options);

struct ModelWorkload {
  Workload workload;               // of one size, named like the file
  std::vector<std::string> notes;  // what a person should know of the file
  Json facts;                      // for the record: file, its hash, opset, producer, notes
  // The options as they were given, to name the workload in a command.
  std::vector<std::pair<std::string, std::string>> words;
};
// Reads the file and the recipe; the weights go into `folder`, which must outlive the runs. `data`
// is --data: a network of flat inputs takes the shape of its samples. Usage error for a choice that
// is none, unreadable or unsupported for a file that cannot be trained.
Result<ModelWorkload> load_model_workload(const ModelOptions& options, const std::string& data,
                                          const TemporaryFolder& folder);

}  // namespace gradstone
