// SPDX-License-Identifier: Apache-2.0
// How good the network is on the test split.
#pragma once

#include "data/batches.h"
#include "worker/engine.h"
#include "worker/training_programs.h"

namespace gradstone {

struct Evaluation {
  double accuracy = 0;  // of the largest logit, in [0, 1]
  double loss = 0;      // mean softmax cross entropy, computed in float64 from the logits
};

// Runs the evaluation program over the whole test split, in order. Synchronises at every batch.
Result<Evaluation> evaluate(const TrainingPrograms& programs, const BatchFiller& filler,
                            std::int64_t count, Bundle& bundle);

// Adds the first `valid` rows of logits [batch, classes]: right answers, and the sum of losses. Of
// equal logits the first counts as the answer.
struct EvaluationSums {
  std::int64_t right = 0;
  double loss = 0;
};
void add_batch(const TensorRef& logits, std::span<const std::int64_t> labels, std::int64_t valid,
               EvaluationSums& sums);

}  // namespace gradstone
