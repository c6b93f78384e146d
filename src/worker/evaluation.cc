// SPDX-License-Identifier: Apache-2.0
#include "worker/evaluation.h"

#include <algorithm>
#include <cmath>

#include "recipe/workload.h"
#include "worker/training_batches.h"

namespace gradstone {

void add_batch(const TensorRef& logits, std::span<const std::int64_t> labels, std::int64_t valid,
               EvaluationSums& sums) {
  const std::int64_t classes = logits.type.shape[1];
  std::vector<double> row(static_cast<std::size_t>(classes));
  for (std::int64_t sample = 0; sample < valid; ++sample) {
    for (std::int64_t c = 0; c < classes; ++c) {
      row[static_cast<std::size_t>(c)] = element_as_double(logits, sample * classes + c);
    }
    const auto largest = std::max_element(row.begin(), row.end());
    double exponentials = 0;
    for (const double logit : row) exponentials += std::exp(logit - *largest);
    const std::int64_t label = labels[static_cast<std::size_t>(sample)];
    if (largest - row.begin() == label) ++sums.right;
    sums.loss += *largest + std::log(exponentials) - row[static_cast<std::size_t>(label)];
  }
}

Result<Evaluation> evaluate(const TrainingPrograms& programs, const BatchFiller& filler,
                            std::int64_t count, Bundle& bundle) {
  const Graph& graph = programs.bundle.programs[*programs.evaluation].graph;
  const auto image = input_index(graph, kImageInput);
  if (!image) return unreadable("workload " + graph.name + ": evaluation needs an input image");
  const std::int64_t batch = programs.logits_type.shape[0];
  std::vector<Tensor> inputs = input_tensors(graph);
  const std::vector<TensorRef> feeds = views_of(inputs);
  Tensor labels({DType::kInt64, {batch}});
  Tensor logits(programs.logits_type);
  const TensorSink fetch = logits.sink();
  EvaluationSums sums;
  for (std::int64_t i = 0; i < evaluation_batches(count, batch); ++i) {
    const EvaluationBatch samples = evaluation_batch(count, batch, i);
    filler.fill(Split::kTest, samples.samples, inputs[*image].sink(), labels.sink());
    RunRequest request;
    request.program = *programs.evaluation;
    request.feeds = feeds;
    request.fetches = {&fetch, 1};
    TRY(bundle.run(request));
    TRY(bundle.synchronise());
    add_batch(logits.ref(), labels.as<std::int64_t>(), samples.valid, sums);
  }
  const auto samples = static_cast<double>(count);
  return Evaluation{static_cast<double>(sums.right) / samples, sums.loss / samples};
}

}  // namespace gradstone
