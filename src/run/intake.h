// SPDX-License-Identifier: Apache-2.0
// What a worker streams, brought into its record within bounds: nothing that a worker sends may cost
// the core, or whoever reads the record later, more than a fixed amount of memory and time. The
// conversation itself is runner.h's.
#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/messages.h"
#include "record/record.h"

namespace gradstone {

// Of one run. docs/protocol.md states them.
struct IntakeLimits {
  std::size_t samples = std::size_t{1} << 25;  // of all series together
  std::size_t series = 1000;
  std::size_t facts = 10'000;
  std::size_t fact_bytes = std::size_t{4} << 20;  // of all facts and the engine's description
  std::size_t name_bytes = 200;                   // of a series, section or key
  std::size_t message_bytes = std::size_t{64} << 10;
  int levels = 100;  // that a fact nests; a record wraps it in a few more
};

// Errors: unreadable for what makes no sense, out of memory for what is too much.
class Intake {
 public:
  explicit Intake(RunRecord& record, const IntakeLimits& limits = {})
      : record_(record), limits_(limits) {}

  Status describe(Json engine);  // the description in a worker's hello
  Status take(SamplesEvent event);
  Status take(FactEvent event);
  // The end in the worker's words; a message that is too long is cut, one that is missing made up.
  Finished end(Finished finished) const;

 private:
  Status check_value(const Json& value);

  RunRecord& record_;
  const IntakeLimits limits_;
  std::size_t samples_ = 0, facts_ = 0, fact_bytes_ = 0;
};

// What the core thinks of an `ok`: the same, or diverged or wrong_result where the figures cannot be
// those of a training run that went well. `loss_from_zero`: the network's loss is never negative.
Finished judged(Finished finished, const RunRecord& record, bool loss_from_zero);
// Whether the graph's loss is a cross-entropy of class labels.
bool loss_is_from_zero(const Graph& graph);

}  // namespace gradstone
