// SPDX-License-Identifier: Apache-2.0
// Operators that ATen has no operator for and through which no gradient flows: C++ functions called on
// the tensors' memory, between two ATen operators.
#include <memory>
#include <optional>

#include "engines/torch/lowering_forms.h"
#include "engines/torch/support.h"
#include "graph/host_function.h"
#include "graph/node_rules.h"
#include "kernels/kernel.h"

namespace gradstone::torch_engine {
namespace {

// Inputs as the function sees them: dense, and kept alive.
struct HostInputs {
  std::vector<at::Tensor> tensors;
  std::vector<TensorRef> refs;
};

HostInputs host_inputs(at::Tensor* v, const std::vector<Slot>& slots,
                       const std::vector<TensorType>& types) {
  HostInputs inputs;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    inputs.tensors.push_back(slots[i] == kAbsent ? at::Tensor() : v[slots[i]].contiguous());
    const auto* data = slots[i] == kAbsent
                           ? nullptr
                           : static_cast<const std::byte*>(inputs.tensors.back().data_ptr());
    inputs.refs.push_back({types[i], data});
  }
  return inputs;
}

using HostRun = std::function<Status(std::span<const TensorRef>, std::span<const TensorSink>)>;

Step host_step(const LoweringContext& context, HostRun run) {
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    types.push_back(context.inputs[i] == kAbsent ? TensorType() : context.input_type(i));
  }
  return [=, inputs = context.inputs, outputs = context.outputs,
          made = context.output_types](at::Tensor* v) {
    const at::NoGradGuard no_grad;
    const HostInputs given = host_inputs(v, inputs, types);
    std::vector<TensorSink> sinks;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == kAbsent) {
        sinks.push_back({made[i], nullptr});
        continue;
      }
      v[outputs[i]] =
          at::empty(made[i].shape, at::TensorOptions().dtype(scalar_type(made[i].dtype)));
      sinks.push_back({made[i], static_cast<std::byte*>(v[outputs[i]].data_ptr())});
    }
    const Status status = run(given.refs, sinks);
    if (!status.ok()) throw std::runtime_error(status.error().message);
  };
}

Result<Step> lower_host(const LoweringContext& context) {
  const HostFunction* function =
      context.host_functions == nullptr
          ? nullptr
          : context.host_functions->find(attribute_or(context.node(), "function", ""));
  CHECK(function != nullptr, "HostFunctions::check was called when the program was loaded");
  const HostParameters parameters = host_parameters(context.node());
  return host_step(context, [=](std::span<const TensorRef> in, std::span<const TensorSink> out) {
    return function->run(in, out, parameters);
  });
}

// A node that outlives its graph, as a kernel wants to see it.
struct KernelNode {
  Node node;
  ValueTypes types;
  std::vector<Constant> constants;
  std::optional<NodeInputs> inputs;
};

// The kernel of the reference, which is as good as any where nothing is computed but indices.
Result<Step> lower_to_kernel(const LoweringContext& context) {
  const auto seen = std::make_shared<KernelNode>();
  seen->node = context.node();
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    if (context.inputs[i] == kAbsent) continue;
    seen->types[seen->node.inputs[i]] = context.input_type(i);
    if (const Tensor* constant = context.rules.constants[i]) {
      seen->constants.push_back({seen->node.inputs[i], *constant});
    }
  }
  ConstantMap constants;
  for (const Constant& constant : seen->constants) constants[constant.name] = &constant.value;
  seen->inputs.emplace(seen->node, *TRY(op_of(seen->node)), seen->types, constants);
  const kernels::KernelRow* row = kernels::find_kernel(seen->node.domain, seen->node.op);
  CHECK(row != nullptr, "an operator lowered to a kernel has one");
  const bool wide = context.input_type(0).dtype == DType::kFloat64;
  const kernels::Kernel kernel = wide ? row->float64 : row->float32;
  return host_step(context, [=](std::span<const TensorRef> in, std::span<const TensorSink> out) {
    const NodeContext rules = seen->inputs->context();
    return kernel({seen->node, rules, in, out});
  });
}

}  // namespace

const std::vector<Lowering>& host_lowerings() {
  static const std::vector<Lowering> rows = {{"NonMaxSuppression", lower_to_kernel}};
  return rows;
}

const std::vector<Lowering>& own_host_lowerings() {
  static const std::vector<Lowering> rows = {{"Host", lower_host}};
  return rows;
}

}  // namespace gradstone::torch_engine
