// SPDX-License-Identifier: Apache-2.0
// One program of a bundle, ready to run: its graph with the backward pass appended, and what its
// inputs, fetches, updates and state updates refer to.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engines/reference/optimizers.h"
#include "engines/reference/profile.h"
#include "engines/reference/variables.h"
#include "kernels/program.h"
#include "worker/engine.h"

namespace gradstone::reference {

// The graph that is run: forward, or forward and backward.
struct Lowered {
  Graph graph;
  std::vector<std::string> gradients;  // values, in the order of BackwardSpec::wrt
  std::vector<std::string> origin;     // node of the program for each node
  std::size_t forward_nodes = 0;       // nodes before this one are the forward pass
};
Result<Lowered> lower(const ProgramSpec& spec);
using Lowering = std::function<Result<Lowered>(const ProgramSpec&)>;

struct BundleOptions {
  std::uint64_t seed = 0;                         // of dropout masks
  const HostFunctions* host_functions = nullptr;  // of Host nodes
  Lowering lowering = lower;                      // another one makes an engine with faults
};

class LoadedProgram {
 public:
  // Lowers, checks, plans, and declares the variables.
  static Result<LoadedProgram> make(const ProgramSpec& spec, const BundleOptions& options,
                                    VariableTable& variables,
                                    const std::shared_ptr<kernels::BufferPool>& pool);

  // RunRequest without `program`. Appends to profile.events if that is set.
  Status run(const RunRequest& request, std::uint64_t seed, Profile& profile);

 private:
  struct BoundWeight {
    UpdatedWeight updated;
    UpdateVariables<Tensor> variables;
  };
  struct Update {
    UpdateSpec spec;
    std::vector<BoundWeight> weights;
  };
  struct StateTarget {
    Variable* variable = nullptr;
    std::string value;
  };

  Status bind_variables(VariableTable& variables);
  Status bind_updates(const ProgramSpec& spec, VariableTable& variables);
  void apply_update(const Update& update, const UpdateArguments& arguments, Profile& profile);
  void record(const std::vector<kernels::NodeTime>& times, Profile& profile) const;

  ProgramContract contract_;
  std::unique_ptr<kernels::Program> program_;
  std::vector<std::string> origin_;      // node of the program for each node, forward or backward
  std::size_t forward_nodes_ = 0;        // nodes before this one are the forward pass
  std::vector<Tensor> unit_cotangents_;  // where cotangents are not fed
  std::vector<std::string> fetched_;     // values: outputs, then gradients
  std::vector<std::string> gradients_;   // values, in the order of BackwardSpec::wrt
  std::vector<Variable*> weights_;       // in the order of the graph
  std::vector<Update> updates_;
  std::vector<StateTarget> state_targets_;
  std::uint64_t executions_ = 0;
};

}  // namespace gradstone::reference
