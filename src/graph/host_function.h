// SPDX-License-Identifier: Apache-2.0
// Host operators: C++ functions of tensors in mid-graph through which no gradient flows (proposals
// and target assignment in detection). A Host node names its function and states its output types;
// the functions themselves are handed to whoever runs the graph, as a table. Nothing registers
// itself.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace gradstone {

// What a node tells its function beside the tensors.
struct HostParameters {
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
};

struct HostFunction {
  std::string name;
  // Types of all outputs for inputs of these types; the error says what does not fit.
  std::function<Result<std::vector<TensorType>>(std::span<const TensorType>, const HostParameters&)>
      output_types;
  // Writes every output; a sink with data == nullptr is not wanted. Buffers are dense, row-major and
  // never overlap; outputs hold rubbish at first. A pure function: same inputs, same outputs. Errors
  // come from data alone.
  std::function<Status(std::span<const TensorRef>, std::span<const TensorSink>,
                       const HostParameters&)>
      run;
};

class HostFunctions {
 public:
  HostFunctions() = default;
  explicit HostFunctions(std::vector<HostFunction> functions) : functions_(std::move(functions)) {}
  const HostFunction* find(std::string_view name) const;  // nullptr if there is none
  // Every Host node of the graph has its function here, which states the types that the node does.
  // `types` is check_graph's answer. Unsupported where a function is missing.
  Status check(const Graph& graph, const ValueTypes& types) const;

 private:
  std::vector<HostFunction> functions_;
};

bool is_host(const Node& node);
HostParameters host_parameters(const Node& node);

// The attributes of a Host node that calls `function` and has outputs of these types. With them
// check_graph knows the types without the function, which may live in another process.
std::map<std::string, Attribute> host_attributes(std::string_view function,
                                                 const std::vector<TensorType>& outputs,
                                                 const HostParameters& parameters = {});

}  // namespace gradstone
