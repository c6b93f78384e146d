// SPDX-License-Identifier: Apache-2.0
// What a program takes, gives and keeps, derived and checked once from its ProgramSpec, so that
// every engine refuses the same things in the same words. Not for lowering its graph, nor for the
// values of variables (variable_table.h).
#pragma once

#include <string>
#include <vector>

#include "worker/engine.h"

namespace gradstone {

struct NamedType {
  std::string name;
  TensorType type;
};

// State that an optimizer keeps of one weight.
struct StateVariable {
  std::string name;    // `weight:slot`
  double initial = 0;  // of every element
};

// One weight of an UpdateSpec. Its state and its average have the weight's type.
struct UpdatedWeight {
  WeightUpdate update;
  TensorType type;
  std::size_t gradient = 0;          // index into BackwardSpec::wrt
  std::vector<StateVariable> slots;  // in the order of slots_of
  std::string average;               // `weight:average`; "" where none is kept
};

struct ProgramContract {
  std::string name;
  std::vector<NamedType> feeds;    // in the order of RunRequest::feeds
  std::vector<NamedType> fetches;  // in the order of RunRequest::fetches; "gradient of w" ...
  std::vector<std::vector<UpdatedWeight>> updates;  // one for each of ProgramSpec::updates

  std::string place() const { return "program '" + name + "'"; }
};

// `types` is check_graph's answer for spec.graph. Failed for an output that is no value, a backward
// pass from or with respect to what has no gradient or from no scalar without a fed cotangent, and
// an update without gradient or of a weight that is updated already.
Result<ProgramContract> contract_of(const ProgramSpec& spec, const ValueTypes& types);

// Failed for an index that is none of a bundle's programs.
Status check_program_index(std::size_t program, std::size_t programs);
// Failed for feeds, fetches and update arguments of another number or type.
Status check_request(const ProgramContract& contract, const RunRequest& request);

}  // namespace gradstone
