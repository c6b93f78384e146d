// SPDX-License-Identifier: Apache-2.0
#include "verify/subject.h"

#include <algorithm>

#include "base/files.h"
#include "base/random.h"
#include "data/batches.h"
#include "graph/json_codec.h"
#include "graph/passes.h"
#include "onnx/onnx.h"
#include "protocol/recipe_updates.h"
#include "recipe/initial_weights.h"

namespace gradstone {
namespace {

TensorMap drawn_weights(const Graph& graph, std::uint64_t seed) {
  TensorMap weights;
  for (const Weight& weight : graph.weights) weights[weight.name] = initial_value(weight, seed);
  return weights;
}

// Everything that follows from graph, loss and recipe.
Status complete(Subject& subject) {
  if (subject.loss.empty()) return {};
  // Moving averages follow from weights that are compared anyway.
  subject.recipe.weight_average = 0;
  const std::vector<WeightPlan> plans = TRY(weight_plans(subject.recipe, subject.graph));
  for (const WeightPlan& plan : plans) subject.trained.push_back(plan.weight);
  RecipeUpdates updates = recipe_updates(subject.recipe, plans);
  subject.updates = std::move(updates.updates);
  subject.optimizer_of_update = std::move(updates.optimizer);
  return {};
}

void fill_masks(const std::vector<SharedMask>& masks, const SubjectChoice& choice,
                std::int64_t step, TensorMap& batch) {
  for (const SharedMask& mask : masks) {
    Tensor tensor(mask.type);
    fill_dropout_mask(mask.input, choice.seed, step, mask.ratio, tensor.sink());
    batch[mask.input] = std::move(tensor);
  }
}

Tensor drawn_input(const GraphInput& input, std::uint64_t seed, std::int64_t step) {
  const std::string stream = "input/" + input.name + "/" + std::to_string(step);
  if (is_floating(input.type.dtype)) return random_normal(input.type, seed, stream);
  std::vector<double> bits(static_cast<std::size_t>(input.type.elements()));
  const CounterRandom random(seed, stream_of(stream));
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<double>(random.below(i, 2));
  return converted(Tensor::of<double>(input.type.shape, bits).ref(), input.type.dtype);
}

std::string loss_of(const Graph& graph, const ValueTypes& types) {
  const auto is_scalar = [&](const std::string& name) {
    const TensorType& type = types.find(name)->second;
    return is_floating(type.dtype) && type.elements() == 1;
  };
  for (const std::string& output : graph.outputs) {
    if (output == kLossValue && is_scalar(output)) return output;
  }
  return graph.outputs.size() == 1 && is_scalar(graph.outputs[0]) ? graph.outputs[0] : "";
}

struct Model {
  Graph graph;
  TensorMap weights;
};

Result<Model> read_model(const std::string& path, std::uint64_t seed) {
  if (!path.ends_with(".json")) {
    ImportOptions options;
    options.training = true;
    ImportedModel imported = TRY(import_onnx(path, options));
    return Model{std::move(imported.graph), std::move(imported.weights)};
  }
  const std::string text = TRY(read_file(path));
  Graph graph = TRY(graph_from_json(TRY(parse_json(text).within(path))).within(path));
  TRY(check_graph(graph).within(path));
  TensorMap weights = drawn_weights(graph, seed);
  return Model{std::move(graph), std::move(weights)};
}

Recipe plain_recipe() {
  Recipe recipe;
  recipe.optimizers[0].optimizer.rule = Rule::kMomentum;
  recipe.optimizers[0].optimizer.momentum = 0.9;
  return recipe;
}

}  // namespace

Result<Subject> subject_of(const Workload& workload, const WorkloadSize& size,
                           const SubjectChoice& choice) {
  Subject subject;
  subject.name = workload.name;
  subject.recipe = size.recipe;
  subject.recipe.batch = choice.batch > 0 ? choice.batch : kVerifyBatch;
  subject.loss = kLossValue;
  const Graph built = TRY(size.build(subject.recipe.batch));
  TRY(check_graph(built));
  SharedDropout shared = share_dropout(with_dtype(built, choice.dtype));
  subject.graph = std::move(shared.graph);
  subject.weights = drawn_weights(subject.graph, choice.seed);
  TRY(complete(subject));

  const DataReference reference =
      TRY(parse_data_reference(choice.data.empty() ? size.default_data : choice.data));
  const auto data = TRY(open_data(reference, {size.input.sample_shape, size.input.classes}));
  const GraphInput* image = subject.graph.find_input(kImageInput);
  const GraphInput* label = subject.graph.find_input(kLabelInput);
  if (image == nullptr || label == nullptr) {
    return unsupported("workload " + workload.name + ": verify feeds an image and its label only");
  }
  const BatchFiller filler =
      TRY(BatchFiller::make(*data, size.recipe.preprocess, image->type, size.input.classes));
  BatchOrder order = TRY(BatchOrder::make(data->count(Split::kTrain), subject.recipe.batch,
                                          LastBatch::kDrop, choice.seed));
  for (std::int64_t step = 0; step < choice.steps; ++step) {
    TensorMap& batch = subject.batches.emplace_back();
    Tensor& images = batch[image->name] = Tensor(image->type);
    Tensor& labels = batch[label->name] = Tensor(label->type);
    filler.fill(Split::kTrain, order.samples(step), images.sink(), labels.sink());
    fill_masks(shared.masks, choice, step, batch);
  }
  return subject;
}

Result<Subject> subject_of(const std::string& path, const SubjectChoice& choice) {
  Model model = TRY(read_model(path, choice.seed));
  Subject subject;
  subject.name = path;
  SharedDropout shared = share_dropout(with_dtype(model.graph, choice.dtype));
  subject.graph = std::move(shared.graph);
  for (const auto& [name, value] : model.weights) {
    const bool floating = is_floating(value.type().dtype);
    subject.weights[name] = floating ? converted(value.ref(), choice.dtype) : value;
  }
  subject.loss = loss_of(subject.graph, TRY(check_graph(subject.graph)));
  subject.recipe = plain_recipe();
  TRY(complete(subject));
  const std::int64_t steps = subject.loss.empty() ? 1 : choice.steps;
  for (std::int64_t step = 0; step < steps; ++step) {
    TensorMap& batch = subject.batches.emplace_back();
    for (const GraphInput& input : subject.graph.inputs) {
      batch[input.name] = drawn_input(input, choice.seed, step);
    }
    fill_masks(shared.masks, choice, step, batch);
  }
  return subject;
}

Case case_of(const Subject& subject, std::size_t step, const TensorMap& weights) {
  Case whole;
  whole.graph = subject.graph;
  whole.values = subject.batches[step];
  for (const Weight& weight : subject.graph.weights) {
    whole.values[weight.name] = weights.at(weight.name);
  }
  const Result<ValueTypes> types = check_graph(subject.graph);
  CHECK(types.ok(), "a subject's graph is checked when it is made");
  std::vector<std::string> from = {subject.loss};
  if (subject.loss.empty()) from = subject.graph.outputs;
  for (const std::string& value : from) {
    const TensorType& type = types->find(value)->second;
    if (!is_floating(type.dtype)) continue;
    whole.from.push_back(value);
    whole.cotangents[value] =
        subject.loss.empty()
            ? random_normal(type, 1, "cotangent/" + value)
            : converted(Tensor::of<double>(type.shape, std::vector<double>{1.0}).ref(), type.dtype);
  }
  if (whole.from.empty()) return whole;
  whole.wrt = subject.trained;
  if (subject.loss.empty()) {
    for (const Weight& weight : subject.graph.weights) {
      if (weight.trainable && is_floating(weight.type.dtype)) whole.wrt.push_back(weight.name);
    }
  }
  for (const GraphInput& input : subject.graph.inputs) {
    if (is_floating(input.type.dtype)) whole.wrt.push_back(input.name);
  }
  return whole;
}

}  // namespace gradstone
