// SPDX-License-Identifier: Apache-2.0
#include "run/job.h"

#include <memory>
#include <utility>
#include <vector>

#include "data/data_set.h"
#include "graph/passes.h"
#include "protocol/tensor_file.h"
#include "recipe/initial_weights.h"
#include "run/inputs.h"

namespace gradstone {
namespace {

using NamedTensors = std::vector<std::pair<std::string, TensorRef>>;

Result<Graph> checked(Graph graph) {
  TRY(check_graph(graph));
  return graph;
}

Result<Graph> training_graph(const RunSpec& spec, const WorkloadSize& size, std::int64_t batch) {
  return checked(with_dtype(TRY(size.build(batch)), spec.dtype));
}

Result<Graph> evaluation_graph(const RunSpec& spec, const WorkloadSize& size) {
  const Graph training = TRY(training_graph(spec, size, size.recipe.evaluation_batch));
  return checked(to_inference(training, {std::string(kLogitsValue)}));
}

// For the last batch of an epoch; nullopt where all are full.
Result<std::optional<Graph>> last_graph(const RunSpec& spec, const WorkloadSize& size,
                                        const TrainJob& job) {
  if (job.recipe.last_batch != LastBatch::kSmaller) return std::optional<Graph>();
  const std::unique_ptr<DataSet> data = TRY(open_data(job.data, job.data_need));
  const std::int64_t rest = data->count(Split::kTrain) % job.recipe.batch;
  if (rest == 0) return std::optional<Graph>();
  return std::optional<Graph>(TRY(training_graph(spec, size, rest)));
}

Status draw_weights(const Graph& graph, std::uint64_t seed, const std::string& path) {
  std::vector<Tensor> values;
  NamedTensors named;
  for (const Weight& weight : graph.weights) values.push_back(initial_value(weight, seed));
  for (std::size_t i = 0; i < values.size(); ++i) {
    named.emplace_back(graph.weights[i].name, values[i].ref());
  }
  return write_tensor_file(path, named);
}

// The path of a file with every weight in the graph's types: `path` itself, or a converted copy.
Result<std::string> fit_weights(const Graph& graph, const std::string& path,
                                const std::string& copy) {
  const TensorFile file = TRY(TensorFile::open(path));
  TRY(check_weights_fit(graph, file).within("weights '" + path + "'"));
  bool convert = false;
  for (const Weight& weight : graph.weights) {
    convert = convert || file.find(weight.name)->type.dtype != weight.type.dtype;
  }
  if (!convert) return path;
  std::vector<Tensor> values;
  NamedTensors named;
  for (const Weight& weight : graph.weights) {
    values.push_back(converted(*file.find(weight.name), weight.type.dtype));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    named.emplace_back(graph.weights[i].name, values[i].ref());
  }
  TRY(write_tensor_file(copy, named));
  return copy;
}

}  // namespace

CoreHello hello_for(const RunSpec& spec) {
  CoreHello hello;
  hello.device = spec.device;
  hello.threads = spec.threads;
  hello.deterministic = spec.deterministic;
  hello.math = spec.math;
  hello.argument = spec.engine.argument;
  hello.seed = spec.seed;
  return hello;
}

Result<TrainJob> make_job(const RunSpec& spec, const Workload& workload,
                          const TemporaryFolder& folder) {
  const WorkloadSize* size = find_size(workload, spec.size);
  CHECK(size != nullptr && spec.batch > 0, "make_job needs a resolved spec");
  TrainJob job;
  job.workload = workload.name;
  job.recipe = size->recipe;
  job.recipe.batch = spec.batch;
  if (spec.measure.epochs > 0) job.recipe.epochs = spec.measure.epochs;
  job.data = TRY(parse_data_reference(spec.data));
  job.data_need = {size->input.sample_shape, size->input.classes};
  job.seed = spec.seed;
  job.dropout = spec.dropout;
  job.measure = spec.measure;
  job.weights_out = spec.weights_out;

  job.graph = TRY(training_graph(spec, *size, spec.batch));
  TRY(check_recipe(job.recipe, job.graph).within("workload " + workload.name));
  job.evaluation_graph = TRY(evaluation_graph(spec, *size));
  job.last_graph = TRY(last_graph(spec, *size, job));

  job.weights_in = folder.file("initial.safetensors");
  const std::string& given = spec.weights_in.empty() ? size->initial_weights : spec.weights_in;
  if (given.empty()) {
    TRY(draw_weights(job.graph, spec.seed, job.weights_in));
  } else {
    job.weights_in = TRY(fit_weights(job.graph, given, job.weights_in));
  }
  return job;
}

}  // namespace gradstone
