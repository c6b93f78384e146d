// SPDX-License-Identifier: Apache-2.0
#include "kernels/evaluate.h"

#include <cstring>

#include "kernels/program.h"

namespace gradstone::kernels {
namespace {

Result<const std::byte*> find_value(const std::map<std::string, Tensor>& values,
                                    const std::string& name, const TensorType& type) {
  const auto found = values.find(name);
  if (found == values.end()) return failed("no value given for '" + name + "'");
  if (found->second.type() != type) {
    return failed("'" + name + "' is " + to_string(type) + ", given " +
                  to_string(found->second.type()));
  }
  return found->second.data();
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const Graph& graph,
                                     const std::map<std::string, Tensor>& values,
                                     const HostFunctions* host_functions) {
  const auto pool = std::make_shared<BufferPool>();
  Program program = TRY(Program::make(graph, graph.outputs, pool, host_functions));
  ProgramFeeds feeds;
  for (const GraphInput& input : graph.inputs) {
    feeds.inputs.push_back(TRY(find_value(values, input.name, input.type)));
  }
  for (const Weight& weight : graph.weights) {
    feeds.weights.push_back(TRY(find_value(values, weight.name, weight.type)));
  }
  pool->allocate();
  TRY(program.run(feeds, nullptr));
  std::vector<Tensor> outputs;
  for (const std::string& name : graph.outputs) {
    const TensorRef value = program.value(name);
    Tensor& copy = outputs.emplace_back(value.type);
    std::memcpy(copy.data(), value.data, value.type.bytes());
  }
  return outputs;
}

}  // namespace gradstone::kernels
