// SPDX-License-Identifier: Apache-2.0
// The folder that goes to a framework's maintainer: the small case as ONNX with its tensors, what
// should come out and what does, versions, and how to see it. docs/verify.md lists the files.
#pragma once

#include <string>

#include "base/json.h"
#include "verify/shrink.h"

namespace gradstone {

struct Provenance {
  std::string subject;  // where it was found
  std::string engine;   // the reference that selects it, "torch@2.2.0"
  std::string command;  // that found it
  Json versions;        // of Gradstone and of what the engine says of itself
};

// `folder` is made. Of what is there, files of the same names are replaced.
Status write_reproduction(const Shrunk& shrunk, const Provenance& provenance,
                          const std::string& folder);

// The case in such a folder. Unreadable where it is none.
Result<Case> read_case(const std::string& folder);

// What an engine is told to make a script of: inputs, weights and `cotangent/VALUE` of the case,
// and `expected/NAME` and `allowed/NAME` for each of Expectation::value.
TensorMap script_values(const Shrunk& shrunk);

// For an engine without a framework of its own: the command that judges the folder again.
Status write_command_script(const Provenance& provenance, const std::string& folder);

}  // namespace gradstone
