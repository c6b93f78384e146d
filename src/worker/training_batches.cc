// SPDX-License-Identifier: Apache-2.0
#include "worker/training_batches.h"

#include "recipe/initial_weights.h"
#include "recipe/workload.h"

namespace gradstone {

std::vector<Tensor> input_tensors(const Graph& graph) {
  std::vector<Tensor> tensors;
  for (const GraphInput& input : graph.inputs) tensors.emplace_back(input.type);
  return tensors;
}

std::vector<TensorRef> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorRef> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.ref());
  return views;
}

std::optional<std::size_t> input_index(const Graph& graph, std::string_view name) {
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].name == name) return i;
  }
  return std::nullopt;
}

Status check_training_inputs(const Graph& graph) {
  const GraphInput* image = graph.find_input(kImageInput);
  const GraphInput* label = graph.find_input(kLabelInput);
  const bool fits = image != nullptr && label != nullptr && image->type.shape.size() == 4 &&
                    label->type.shape == Shape{image->type.shape[0]} &&
                    (label->type.dtype == DType::kInt64 || label->type.dtype == DType::kInt32);
  if (fits) return {};
  return unreadable("workload " + graph.name +
                    ": training needs inputs image [batch, channels, height, width] and label "
                    "int64 [batch]");
}

Status TrainingBatches::fill(std::int64_t step, PreparedBatch& batch) {
  const auto samples = order_.samples(step);
  const ProgramSpec& full = programs_->bundle.programs[0];
  const bool is_smaller =
      static_cast<std::int64_t>(samples.size()) < full.graph.find_input(kLabelInput)->type.shape[0];
  CHECK(!is_smaller || programs_->smaller, "a smaller batch without its program");
  batch.program = is_smaller ? *programs_->smaller : 0;
  batch.samples = static_cast<std::int64_t>(samples.size());
  const Graph& graph = programs_->bundle.programs[batch.program].graph;
  batch.tensors.resize(programs_->bundle.programs.size());
  std::vector<Tensor>& tensors = batch.tensors[batch.program];
  if (tensors.empty()) tensors = input_tensors(graph);
  batch.feeds = views_of(tensors);
  filler_.fill(Split::kTrain, samples, tensors[*input_index(graph, kImageInput)].sink(),
               tensors[*input_index(graph, kLabelInput)].sink());
  for (const SharedMask& mask : programs_->masks[batch.program]) {
    fill_dropout_mask(mask.input, seed_, step, mask.ratio,
                      tensors[*input_index(graph, mask.input)].sink());
  }
  return {};
}

}  // namespace gradstone
