// SPDX-License-Identifier: Apache-2.0
// `gradstone export --workload`: a workload as an ONNX file, with its first weights.
#pragma once

#include <string>

#include "base/result.h"

namespace CLI {
class App;
}

namespace gradstone {

// As typed; "" is what was not given.
struct ExportModelOptions {
  std::string workload, size, batch, seed;
  bool inference = false;
};
void add_export_model_options(CLI::App& app, ExportModelOptions& options);

// Writes the file and says on stderr what it holds.
Status export_model(const ExportModelOptions& options, const std::string& output);

}  // namespace gradstone
