// SPDX-License-Identifier: Apache-2.0
#include "graph/host_function.h"
#include "kernels/kernel.h"

namespace gradstone::kernels {
namespace {

Status host(const KernelCall& call) {
  const std::string name = attribute_or(call.node, "function", "");
  CHECK(call.host_functions != nullptr, "a program with Host nodes is made with their functions");
  const HostFunction* function = call.host_functions->find(name);
  CHECK(function != nullptr, "HostFunctions::check was called when the program was made");
  return function->run(call.inputs, call.outputs, host_parameters(call.node)).within(name);
}

}  // namespace

std::vector<KernelRow> host_kernels() { return {{kGradstoneDomain, "Host", host, host}}; }

}  // namespace gradstone::kernels
