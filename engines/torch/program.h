// SPDX-License-Identifier: Apache-2.0
// One program made ready: steps over an array of tensors, autograd's inputs and outputs, optimizers.
// Everything that can be looked up is looked up when it is loaded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engines/torch/lowering.h"
#include "engines/torch/profile.h"
#include "engines/torch/update.h"
#include "engines/torch/variables.h"
#include "worker/engine.h"

namespace gradstone::torch_engine {

class Program {
 public:
  // Errors name program, node and operator; unsupported for an operator that this engine lacks.
  // `host_functions`, those of Host nodes, may be null and must outlive the program.
  static Result<Program> load(const ProgramSpec& spec, VariableTable& variables,
                              const HostFunctions* host_functions);

  // What RunRequest says. All is done and fetched when it returns. Throws what the framework
  // throws, with `place` telling where it was.
  Status run(const RunRequest& request, Profiler& profiler);
  // The node that was running last, for the message of an exception.
  std::string place() const;
  // Lets go of all values but weights and constants.
  void release_values();

 private:
  friend class ProgramLoader;
  struct NodeStep {
    std::string name, op;
    Step step;
    std::vector<Slot> dead_after;  // values that nothing needs any more
  };
  struct Feed {
    Slot slot = kAbsent;  // kAbsent for a cotangent
    bool differentiated = false;
  };
  struct StateTarget {
    Variable* variable;
    Slot value;
  };

  void take_feeds(const RunRequest& request);
  void forward(Profiler& profiler);
  std::vector<at::Tensor> backward();
  Status fetch(const RunRequest& request, const std::vector<at::Tensor>& gradients) const;
  void update_states();

  ProgramContract contract_;
  std::vector<Feed> feeds_;
  std::vector<Slot> outputs_;
  std::vector<Variable*> weights_;  // that the graph reads
  std::vector<NodeStep> steps_;
  std::vector<at::Tensor> values_;
  std::vector<Slot> transient_;  // inputs and node outputs
  bool differentiates_ = false;
  bool fed_cotangents_ = false;
  std::vector<Slot> from_, wrt_;
  std::vector<Updater> updates_;
  std::vector<StateTarget> states_;
  std::vector<at::Tensor> cotangents_;
  std::size_t current_ = 0;  // index into steps_ of the node that runs
};

}  // namespace gradstone::torch_engine
