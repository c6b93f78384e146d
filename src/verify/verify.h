// SPDX-License-Identifier: Apache-2.0
// Proves that an engine trains the network that it was given. First every node alone, forward and
// backward, on the reference's values: this names a wrong node. Then the whole network for some
// steps: every value, the gradients, the updates and the running statistics, each from the engine's
// own values before it. Prints nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "verify/comparison.h"
#include "verify/engine_port.h"
#include "verify/subject.h"

namespace gradstone {

struct VerifyResult {
  // As the engine ended where it did (unsupported, crashed ...); wrong_result where something
  // departs, and `message` says what.
  Outcome outcome = Outcome::kOk;
  std::string message;
  Comparison comparison;
  std::int64_t nodes = 0;              // checked alone
  std::vector<std::string> not_alone;  // nodes that the engine does not run alone: "node (op): why"
  std::int64_t steps = 0;              // of the whole network
  std::vector<double> losses;          // the engine's; empty without a loss
  std::optional<Departure> first;
  bool first_is_alone = false;  // it departs as a node by itself
};

class Verification {
 public:
  // Computes what every engine is compared with. `subject` must outlive it.
  static Result<Verification> make(const Subject& subject, std::uint64_t seed);

  // `reference` is the reference engine, for the formulas of updates.
  VerifyResult check(EnginePort& engine, EnginePort& reference) const;

  const Subject& subject() const { return *subject_; }
  // Every value of the first step, by the reference.
  const TensorMap& values() const { return values_; }

 private:
  struct Alone {
    std::size_t position = 0;  // of the node in the graph
    Case question;
  };

  explicit Verification(const Subject& subject) : subject_(&subject) {}

  Answer check_nodes(EnginePort& engine, VerifyResult& result) const;
  Answer check_node(EnginePort& engine, const Alone& alone, std::size_t program,
                    VerifyResult& result) const;

  const Subject* subject_;
  TensorMap values_;
  std::vector<Alone> nodes_;
  std::vector<std::string> not_alone_;  // nodes that cannot be cut out: "node (op): why"
};

// A case by itself, as it was found before.
VerifyResult check_case(const Case& question, EnginePort& engine);

}  // namespace gradstone
