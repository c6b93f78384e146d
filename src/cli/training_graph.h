// SPDX-License-Identifier: Apache-2.0
// From a model's graph to a graph that a training run takes: one image input, labels, logits, loss.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace gradstone {

enum class Loss { kSoftmaxCrossEntropy, kNegativeLogLikelihood, kMeanSquaredError };
enum class Labels { kIndex, kOneHot };

struct LossChoice {
  Loss loss = Loss::kSoftmaxCrossEntropy;
  Labels labels = Labels::kIndex;
};
// "softmax-cross-entropy", "nll", "mse"; "index", "one-hot", or "" for what suits the loss.
Result<LossChoice> loss_choice(const std::string& loss, const std::string& labels);

// The graph's input becomes `image`, its first output `logits`; `label` and `loss` are added. The
// mean goes over the batch (mse: over all elements). Unsupported where there is not one floating
// input, or the output is not [batch, classes].
Result<Graph> with_loss(const Graph& graph, const LossChoice& choice);

}  // namespace gradstone
