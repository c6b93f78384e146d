// SPDX-License-Identifier: Apache-2.0
#include "cli/model_workload.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/hash.h"
#include "base/units.h"
#include "cli/recipe_file.h"
#include "cli/training_graph.h"
#include "data/data_set.h"
#include "protocol/tensor_file.h"
#include "report/table.h"

namespace gradstone {
namespace {

constexpr std::int64_t kUsualBatch = 64;

// How the file is read for one batch or another.
struct ModelReader {
  std::string path, bytes;
  std::vector<ModelInput> inputs;
  ImportOptions options;
  LossChoice loss;
  Shape sample_shape;  // of the data; empty: the input's own

  // The batch that the file is made for; 0: any.
  std::int64_t own_batch() const {
    const bool stated = !inputs.empty() && inputs[0].shape && !inputs[0].shape->empty();
    return stated ? std::max<std::int64_t>(inputs[0].shape->front(), 0) : 0;
  }
  Result<ImportedModel> import(std::int64_t batch) const;
  Result<Graph> build(std::int64_t batch) const;
};

Result<ImportedModel> ModelReader::import(std::int64_t batch) const {
  ImportOptions bound = options;
  for (auto& [name, shape] : bound.shapes) shape.front() = batch;
  for (const ModelInput& input : inputs) {
    if (!input.shape || input.shape->empty() || bound.shapes.count(input.name) > 0) continue;
    const std::string& name = input.dimensions.front();
    if (!name.empty()) {
      bound.dimensions.emplace(name, batch);
    } else if (input.shape->front() != batch) {
      Shape& shape = bound.shapes[input.name] = *input.shape;
      shape.front() = batch;
      for (std::size_t axis = 1; axis < shape.size(); ++axis) {
        const auto known = bound.dimensions.find(input.dimensions[axis]);
        if (known != bound.dimensions.end()) shape[axis] = known->second;
      }
    }
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return import_onnx(bytes, folder, bound).within("model '" + path + "'");
}

// The input in the shape of the data, which it is flattened from.
Graph with_image_shape(Graph graph, const Shape& sample_shape) {
  GraphInput& input = graph.inputs.at(0);
  const TensorType flat = input.type;
  input.type.shape = {flat.shape[0]};
  input.type.shape.insert(input.type.shape.end(), sample_shape.begin(), sample_shape.end());
  const std::string given = input.name, inner = given + ".flat", shape = given + ".shape";
  for (Node& node : graph.nodes) {
    for (std::string& name : node.inputs) {
      if (name == given) name = inner;
    }
  }
  Node reshape;
  reshape.name = inner;
  reshape.op = "Reshape";
  reshape.inputs = {given, shape};
  reshape.outputs = {inner};
  graph.nodes.insert(graph.nodes.begin(), reshape);
  graph.constants.push_back(
      {shape, Tensor::of<std::int64_t>({static_cast<std::int64_t>(flat.shape.size())},
                                       std::span<const std::int64_t>(flat.shape))});
  return graph;
}

Result<Graph> ModelReader::build(std::int64_t batch) const {
  Result<ImportedModel> model = import(batch);
  Result<Graph> graph = model.ok() ? with_loss(model->graph, loss) : Result<Graph>(model.error());
  if (graph.ok() && !sample_shape.empty()) {
    graph = with_image_shape(std::move(*graph), sample_shape);
  }
  const std::int64_t own = own_batch();
  if (graph.ok() || own == 0 || own == batch) return graph;
  return Error{graph.error().kind, graph.error().message + " (the file is made for a batch of " +
                                       std::to_string(own) + ": use --batch " +
                                       std::to_string(own) + ")"};
}

Result<std::map<std::string, std::int64_t>> dimensions_of(const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t> dimensions;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      return usage_error("--dimension '" + text + "': expected NAME=N");
    }
    const std::string place = "--dimension '" + text + "'";
    dimensions[text.substr(0, equals)] =
        TRY(parse_integer<std::int64_t>(text.substr(equals + 1), 1).within(place));
  }
  return dimensions;
}

// "x=8,3,32,32"; the first extent is the batch.
Result<std::map<std::string, Shape>> shapes_of(const std::vector<std::string>& texts) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      return usage_error("--shape '" + text + "': expected INPUT=N,...");
    }
    Shape& shape = shapes[text.substr(0, equals)];
    for (std::size_t from = equals + 1; from <= text.size();) {
      const std::size_t comma = std::min(text.find(',', from), text.size());
      const std::string extent = text.substr(from, comma - from);
      shape.push_back(TRY(parse_integer<std::int64_t>(extent, 1).within("--shape '" + text + "'")));
      from = comma + 1;
    }
  }
  return shapes;
}

Result<BatchNormMode> batch_norm_mode(const std::string& text) {
  if (text.empty() || text == "train") return BatchNormMode::kTrain;
  if (text == "frozen") return BatchNormMode::kFrozen;
  return usage_error("--batch-norm: there is no '" + text + "'; it is train or frozen");
}

const std::string& first_given(const std::string& option, const std::string& file) {
  return option.empty() ? file : option;
}

// A network of vectors is fed with images that have as many numbers.
Result<Shape> shape_of_data(const std::string& data, std::int64_t elements, std::int64_t classes) {
  const Shape flat = {1, 1, elements};
  if (data.empty()) return flat;
  const DataReference reference = TRY(parse_data_reference(data));
  const std::unique_ptr<DataSet> set = TRY(open_data(reference, {flat, classes}));
  return element_count(set->sample_shape()) == elements ? set->sample_shape() : flat;
}

Status write_weights(const std::map<std::string, Tensor>& weights, const std::string& path) {
  std::vector<std::pair<std::string, TensorRef>> named;
  for (const auto& [name, value] : weights) named.emplace_back(name, value.ref());
  return write_tensor_file(path, named);
}

std::vector<std::pair<std::string, std::string>> words_of(const ModelOptions& options) {
  std::vector<std::pair<std::string, std::string>> words = {{"--model", options.model}};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.emplace_back(name, value);
  };
  add("--recipe", options.recipe);
  add("--loss", options.loss);
  add("--labels", options.labels);
  add("--batch-norm", options.batch_norm);
  for (const std::string& pattern : options.freeze) add("--freeze", pattern);
  for (const std::string& dimension : options.dimensions) add("--dimension", dimension);
  for (const std::string& shape : options.shapes) add("--shape", shape);
  return words;
}

Json facts_of(const ModelReader& reader, const ImportedModel& model) {
  return {{"file", reader.path},
          {"hash", hash_hex(reader.bytes)},
          {"opset", model.opset},
          {"producer", model.producer},
          {"notes", model.notes}};
}

Result<ModelReader> make_reader(const ModelOptions& options, const RecipeFile& file) {
  ModelReader reader;
  reader.path = options.model;
  reader.bytes = TRY(read_file(options.model));
  reader.inputs = TRY(onnx_inputs(reader.bytes).within("model '" + options.model + "'"));
  reader.options.training = true;
  reader.options.batch_norm =
      TRY(batch_norm_mode(first_given(options.batch_norm, file.batch_norm)));
  reader.options.dimensions = TRY(dimensions_of(options.dimensions));
  reader.options.shapes = TRY(shapes_of(options.shapes));
  reader.loss = TRY(
      loss_choice(first_given(options.loss, file.loss), first_given(options.labels, file.labels)));
  return reader;
}

Recipe recipe_of(const ModelOptions& options, const RecipeFile& file, std::int64_t own_batch) {
  Recipe recipe = file.recipe;
  if (!file.states_batch) recipe.batch = own_batch > 0 ? own_batch : kUsualBatch;
  if (own_batch > 0) recipe.evaluation_batch = own_batch;
  std::vector<ParameterGroup> groups;
  for (const std::vector<std::string>* patterns : {&options.freeze, &file.freeze}) {
    for (const std::string& pattern : *patterns) {
      groups.push_back({.pattern = pattern, .frozen = true});
    }
  }
  recipe.groups.insert(recipe.groups.begin(), groups.begin(), groups.end());
  return recipe;
}

}  // namespace

void add_model_options(CLI::App& app, ModelOptions& options) {
  const std::string group = "Your own model, in place of --workload";
  const auto add = [&](const char* name, auto& value, const char* help, const char* type) {
    app.add_option(name, value, help)->type_name(type)->group(group);
  };
  add("--model", options.model, "an ONNX file", "FILE");
  add("--recipe", options.recipe, "how to train it, in TOML (docs/onnx.md)", "FILE");
  add("--loss", options.loss, "softmax-cross-entropy (default), nll, mse", "NAME");
  add("--labels", options.labels, "how the loss sees them: index, one-hot", "NAME");
  add("--freeze", options.freeze, "weights that do not train, with * and ?; may be repeated",
      "PATTERN");
  add("--batch-norm", options.batch_norm,
      "train: with the batch's statistics (default); frozen: with the file's", "NAME");
  add("--dimension", options.dimensions, "extent of an open dimension; may be repeated", "NAME=N");
  add("--shape", options.shapes, "of an input, in place of the file's; may be repeated",
      "INPUT=N,...");
}

Status check_no_model_options(const ModelOptions& options) {
  const std::vector<std::pair<std::string, std::string>> words = words_of(options);
  if (words.size() == 1) return {};
  return usage_error(words[1].first + " is about your own model; name that with --model");
}

Result<ModelWorkload> load_model_workload(const ModelOptions& options, const std::string& data,
                                          const TemporaryFolder& folder) {
  RecipeFile file;
  if (!options.recipe.empty()) file = TRY(read_recipe_file(options.recipe));
  auto reader = std::make_shared<ModelReader>(TRY(make_reader(options, file)));
  WorkloadSize size;
  size.name = "file";
  size.recipe = recipe_of(options, file, reader->own_batch());
  const ImportedModel model = TRY(reader->import(size.recipe.batch));
  const Graph graph = TRY(with_loss(model.graph, reader->loss));
  const ValueTypes types = TRY(check_graph(graph));
  TRY(check_recipe(size.recipe, graph));  // such as a pattern that matches nothing
  Shape sample = graph.find_input(kImageInput)->type.shape;
  sample.erase(sample.begin());
  size.input.classes = types.find(kLogitsValue)->second.shape[1];
  if (sample.size() != 3) {
    sample = TRY(shape_of_data(data, element_count(sample), size.input.classes));
    reader->sample_shape = sample;
  }
  size.input.sample_shape = sample;
  size.default_data = "synthetic";
  size.initial_weights = folder.file("model.safetensors");
  TRY(write_weights(model.weights, size.initial_weights));
  size.build = [reader](std::int64_t batch) { return reader->build(batch); };

  ModelWorkload made;
  made.workload.name = printable(std::filesystem::path(options.model).filename().string());
  made.workload.summary = "a person's own model";
  made.workload.source = options.model;
  made.workload.sizes.push_back(std::move(size));
  made.notes = model.notes;
  made.facts = facts_of(*reader, model);
  made.words = words_of(options);
  return made;
}

}  // namespace gradstone
