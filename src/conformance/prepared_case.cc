// SPDX-License-Identifier: Apache-2.0
#include "conformance/prepared_case.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "onnx/model_interface.h"
#include "onnx/onnx.h"

namespace gradstone {
namespace {

constexpr std::size_t kMostBindings = 256;

Result<std::vector<Tensor>> read_tensors(const std::vector<std::string>& paths,
                                         const std::vector<ModelValue>& values,
                                         std::string_view kind) {
  if (paths.size() > values.size()) {
    return unreadable("the data set has " + std::to_string(paths.size()) + " " +
                      std::string(kind) + "s, the model " + std::to_string(values.size()));
  }
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string place = std::string(kind) + " '" + values[i].name + "'";
    if (!values[i].foreign.empty()) {
      return unsupported(place + " is a " + values[i].foreign + "; graphs have tensors only");
    }
    Result<Tensor> tensor = read_tensor_proto(paths[i]);
    if (!tensor.ok()) {
      // Without the file's path: the reason goes into lists that are kept.
      const std::string& text = tensor.error().message;
      const std::size_t path = text.find(paths[i]);
      const std::size_t reason =
          path == std::string::npos ? 0 : text.find_first_not_of("': ", path + paths[i].size());
      return Error{tensor.error().kind,
                   place + ": " + (reason == std::string::npos ? text : text.substr(reason))};
    }
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

std::string names_of(const std::vector<std::string>& operators) {
  std::string text;
  for (const std::string& op : operators) text += (text.empty() ? "" : ", ") + op;
  return text;
}

struct Parts {
  ModelInterface interface;
  std::vector<Tensor> inputs, outputs;
};

Result<ImportedModel> import_bound(const DataSetFiles& files, const Parts& parts,
                                   const std::vector<std::size_t>& bound) {
  ImportOptions options;
  for (std::size_t i = 0; i < parts.inputs.size(); ++i) {
    const std::string& name = parts.interface.inputs[i].name;
    if (std::find(bound.begin(), bound.end(), i) != bound.end()) {
      options.bound[name] = parts.inputs[i];
    } else {
      options.shapes[name] = parts.inputs[i].shape();
    }
  }
  Result<ImportedModel> model = import_onnx(files.model, options);
  if (model.ok()) return model;
  std::string text = model.error().message;
  const std::string place = "model '" + files.model + "': ";
  if (text.starts_with(place)) text = text.substr(place.size());
  return Error{model.error().kind, text};
}

struct Import {
  ImportedModel model;
  std::vector<std::size_t> bound;
};

// The first binding that makes a graph. The error is that of the binding of everything that is not
// floating: what is missing then is no constant.
Result<Import> import_case(const DataSetFiles& files, const Parts& parts) {
  std::vector<bool> floating;
  std::size_t not_floating = 0;
  for (const Tensor& input : parts.inputs) {
    floating.push_back(is_floating(input.type().dtype));
    not_floating += !floating.back();
  }
  std::optional<Error> error;
  for (const std::vector<std::size_t>& bound : binding_order(floating)) {
    Result<ImportedModel> model = import_bound(files, parts, bound);
    if (model.ok()) return Import{std::move(*model), bound};
    const bool telling =
        bound.size() == not_floating &&
        std::none_of(bound.begin(), bound.end(), [&](std::size_t i) { return floating[i]; });
    if (telling || !error) error = model.error();
  }
  return *error;
}

bool trains(const Node& node) {
  return node.op == "Dropout" || node.op == "BatchNormalization";
}

}  // namespace

std::vector<std::vector<std::size_t>> binding_order(const std::vector<bool>& floating) {
  const std::size_t count = std::min<std::size_t>(floating.size(), 16);
  std::vector<std::uint32_t> subsets(std::size_t{1} << count);
  for (std::size_t i = 0; i < subsets.size(); ++i) subsets[i] = static_cast<std::uint32_t>(i);
  const auto floats_in = [&](std::uint32_t subset) {
    int floats = 0;
    for (std::size_t i = 0; i < count; ++i) floats += (subset >> i & 1) != 0 && floating[i];
    return floats;
  };
  // Later inputs first: the first is what an operator works on.
  std::stable_sort(subsets.begin(), subsets.end(), [&](std::uint32_t a, std::uint32_t b) {
    const int floats_a = floats_in(a), floats_b = floats_in(b);
    if (floats_a != floats_b) return floats_a < floats_b;
    const int size_a = std::popcount(a), size_b = std::popcount(b);
    return size_a != size_b ? size_a < size_b : a > b;
  });
  if (subsets.size() > kMostBindings) {
    const std::uint32_t all = subsets.back();
    subsets.resize(kMostBindings - 1);
    subsets.push_back(all);
  }
  std::vector<std::vector<std::size_t>> order;
  for (const std::uint32_t subset : subsets) {
    std::vector<std::size_t>& bound = order.emplace_back();
    for (std::size_t i = 0; i < count; ++i) {
      if ((subset >> i & 1) != 0) bound.push_back(i);
    }
  }
  return order;
}

Result<PreparedCase> prepare_case(const DataSetFiles& files) {
  Parts parts{TRY(read_model_interface(files.model)), {}, {}};
  const std::string operators = names_of(parts.interface.operators);
  parts.inputs =
      TRY(read_tensors(files.inputs, parts.interface.inputs, "input").within(operators));
  parts.outputs =
      TRY(read_tensors(files.outputs, parts.interface.outputs, "output").within(operators));
  Import import = TRY(import_case(files, parts));
  PreparedCase prepared;
  prepared.name = files.name;
  prepared.graph = std::move(import.model.graph);
  prepared.weights = std::move(import.model.weights);
  std::size_t next = 0;  // graph inputs are those that are not bound, in order
  for (std::size_t i = 0; i < parts.inputs.size(); ++i) {
    if (std::find(import.bound.begin(), import.bound.end(), i) != import.bound.end()) continue;
    if (next == prepared.graph.inputs.size()) break;
    prepared.feeds[prepared.graph.inputs[next++].name] = std::move(parts.inputs[i]);
  }
  if (next < prepared.graph.inputs.size()) {
    return unreadable("the data set has no value for input '" +
                      prepared.graph.inputs[next].name + "'");
  }
  prepared.expected = std::move(parts.outputs);
  return prepared;
}

ProgramSpec forward_program(const PreparedCase& prepared) {
  const Graph& graph = prepared.graph;
  const bool training = std::any_of(graph.nodes.begin(), graph.nodes.end(), trains);
  return {prepared.name, graph, training ? Mode::kTraining : Mode::kInference, graph.outputs,
          std::nullopt,  {}};
}

}  // namespace gradstone
