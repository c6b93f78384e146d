// SPDX-License-Identifier: Apache-2.0
#include "run/inputs.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "data/batches.h"
#include "data/data_set.h"

namespace gradstone {
namespace {

constexpr std::string_view kAverageEnd = ":average";  // a worker saves averages under such names

template <class T>
Status check_finite(std::span<const T> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    return unreadable(fmt::format("element {} is {}, not a finite number", i, values[i]));
  }
  return {};
}

Status check_data_fits(const DataSet& data, const RunSpec& spec, const WorkloadSize& size) {
  const Graph graph = TRY(size.build(spec.batch));
  const GraphInput* image = graph.find_input(kImageInput);
  if (image == nullptr)
    return unreadable("its network has no input '" + std::string(kImageInput) + "'");
  TRY(BatchFiller::make(data, size.recipe.preprocess, image->type, size.input.classes));
  TRY(BatchOrder::make(data.count(Split::kTrain), spec.batch, size.recipe.last_batch, spec.seed));
  return {};
}

}  // namespace

Status check_data(const RunSpec& spec, const Workload& workload) {
  const WorkloadSize* size = find_size(workload, spec.size);
  CHECK(size != nullptr && spec.batch > 0, "check_data needs a resolved spec");
  const DataReference reference = TRY(parse_data_reference(spec.data));
  const std::string place = "workload " + workload.name;
  const std::unique_ptr<DataSet> data =
      TRY(open_data(reference, {size->input.sample_shape, size->input.classes}).within(place));
  return check_data_fits(*data, spec, *size).within(place + ": data " + spec.data);
}

Status check_weights_fit(const Graph& graph, const TensorFile& file) {
  for (const Weight& weight : graph.weights) {
    const TensorRef* value = file.find(weight.name);
    if (value == nullptr) return unreadable("it has no weight '" + weight.name + "'");
    if (value->type.shape == weight.type.shape && is_floating(value->type.dtype)) continue;
    return unreadable("weight '" + weight.name + "' is " + to_string(value->type) +
                      ", the network needs " + to_string(weight.type));
  }
  return {};
}

Status check_weights_finite(const Graph& graph, const TensorFile& file) {
  for (const Weight& weight : graph.weights) {
    const TensorRef* value = file.find(weight.name);
    if (value == nullptr) continue;
    Status finite = value->type.dtype == DType::kFloat64 ? check_finite(value->as<double>())
                                                         : check_finite(value->as<float>());
    TRY(std::move(finite).within("weight '" + weight.name + "'"));
  }
  return {};
}

std::vector<std::string> tensors_beside(const Graph& graph, const TensorFile& file) {
  std::vector<std::string> names;
  for (const std::string& name : file.names()) {
    std::string_view weight = name;
    if (weight.ends_with(kAverageEnd)) weight.remove_suffix(kAverageEnd.size());
    if (graph.find_weight(weight) == nullptr) names.push_back(name);
  }
  return names;
}

}  // namespace gradstone
