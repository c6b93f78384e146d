// SPDX-License-Identifier: Apache-2.0
// From graph nodes to ATen calls: one function an operator, chosen once when a program is loaded.
// Not for running them (program.h).
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engines/torch/aten.h"
#include "graph/op_table.h"

namespace gradstone {
class HostFunctions;  // graph/host_function.h
}

namespace gradstone::torch_engine {

// All values of a program have a slot of one array. Slot 0 always holds the undefined tensor: an
// absent optional input reads it, which ATen takes for "none".
using Slot = std::size_t;
inline constexpr Slot kAbsent = 0;

// One node made ready to run: reads and writes slots.
using Step = std::function<void(at::Tensor* values)>;

// What a lowering sees of one node. Index i of `inputs` is input i, kAbsent where it is absent.
struct LoweringContext {
  NodeContext rules;  // the node, the types of its inputs, the values of those that are constants
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
  std::vector<TensorType> output_types;  // of all that the operator can have
  // Nothing else reads the first input, nor does its producer's gradient: it may be overwritten.
  bool may_overwrite_first = false;
  // Batch norm: its running outputs go nowhere but to the state updates of the weights it reads.
  bool running_in_place = false;
  const HostFunctions* host_functions = nullptr;  // of Host nodes; never null for one

  const Node& node() const { return rules.node; }
  Slot input(std::size_t i) const { return i < inputs.size() ? inputs[i] : kAbsent; }
  Slot output(std::size_t i) const { return i < outputs.size() ? outputs[i] : kAbsent; }
  const TensorType& input_type(std::size_t i) const { return *rules.inputs[i]; }
  const Shape& input_shape(std::size_t i) const { return rules.inputs[i]->shape; }
  const Shape& output_shape() const { return output_types[0].shape; }
};

struct Lowering {
  std::string_view op;
  Result<Step> (*lower)(const LoweringContext&);
  // The gradient does not need the output, so that what follows may overwrite it.
  bool output_unsaved = false;
};
// nullptr for an operator that this engine lacks.
const Lowering* find_lowering(const Node& node);

// The rows by family, one file each: <family>_ops.cc. First ONNX's, then those of domain "gradstone".
const std::vector<Lowering>& elementwise_lowerings();
const std::vector<Lowering>& host_lowerings();
const std::vector<Lowering>& layout_lowerings();
const std::vector<Lowering>& reduction_lowerings();
const std::vector<Lowering>& sampling_lowerings();
const std::vector<Lowering>& sequence_lowerings();
const std::vector<Lowering>& tensor_lowerings();
const std::vector<Lowering>& window_lowerings();
const std::vector<Lowering>& gradient_lowerings();
const std::vector<Lowering>& own_host_lowerings();
const std::vector<Lowering>& own_sampling_lowerings();
const std::vector<Lowering>& own_sequence_lowerings();

}  // namespace gradstone::torch_engine
