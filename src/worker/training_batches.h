// SPDX-License-Identifier: Apache-2.0
// Fills the inputs of the training programs: images, labels and shared dropout masks of step n are
// pure functions of the seed, so every engine is fed the same bytes.
#pragma once

#include "data/batches.h"
#include "worker/data_feed.h"
#include "worker/training_programs.h"

namespace gradstone {

// A DataFeed::Fill. `programs` and the filler's data set must outlive it. Used from one thread.
class TrainingBatches {
 public:
  TrainingBatches(const TrainingPrograms& programs, BatchFiller filler, BatchOrder order,
                  std::uint64_t seed)
      : programs_(&programs), filler_(std::move(filler)), order_(std::move(order)), seed_(seed) {}

  Status fill(std::int64_t step, PreparedBatch& batch);

 private:
  const TrainingPrograms* programs_;
  BatchFiller filler_;
  BatchOrder order_;
  std::uint64_t seed_;
};

// Tensors for the graph's inputs, in order, and views of them.
std::vector<Tensor> input_tensors(const Graph& graph);
std::vector<TensorRef> views_of(const std::vector<Tensor>& tensors);
// Where input `name` stands in the graph's inputs; nullopt where it has none of that name.
std::optional<std::size_t> input_index(const Graph& graph, std::string_view name);
// Both inputs that a training graph must have, with one label a sample. The error names the graph.
Status check_training_inputs(const Graph& graph);

}  // namespace gradstone
