// SPDX-License-Identifier: Apache-2.0
// Operators that have a kernel and an expansion: both compute the same.
#include "graph/expansion.h"

#include <gtest/gtest.h>

#include "graph/testing/gradient_cases.h"
#include "kernels/evaluate.h"
#include "kernels/kernel.h"

namespace gradstone::kernels {
namespace {

using testing::GradientCase;

std::map<std::string, Tensor> inputs_of(const GradientCase& test, const Graph& graph) {
  std::map<std::string, Tensor> values;
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    const GraphInput* input = graph.find_input(name);
    if (input == nullptr) continue;
    values[name] =
        testing::case_tensor(input->type.shape, test.inputs[i]->values, test.name + "/" + name);
  }
  return values;
}

void expect_close(const Tensor& kernel, const Tensor& expansion) {
  ASSERT_EQ(kernel.type(), expansion.type());
  for (std::int64_t i = 0; i < kernel.type().elements(); ++i) {
    const double value = element_as_double(kernel.ref(), i);
    EXPECT_NEAR(element_as_double(expansion.ref(), i), value, 1e-13 * std::max(1.0, value));
  }
}

TEST(Expansions, ComputeWhatKernelsDo) {
  for (const GradientCase& test : testing::gradient_cases()) {
    const OpDef* row = find_op("", test.op);
    if (row == nullptr || row->expand == nullptr || find_kernel("", test.op) == nullptr) continue;
    SCOPED_TRACE(test.name);
    const Graph graph = testing::graph_of(test);
    const auto inputs = inputs_of(test, graph);
    const Expanded expanded =
        expand_nodes(graph, [](const Node&, const OpDef&) { return true; }).value();
    const std::vector<Tensor> kernel = evaluate(graph, inputs).value();
    const std::vector<Tensor> expansion = evaluate(expanded.graph, inputs).value();
    for (std::size_t i = 0; i < kernel.size(); ++i) expect_close(kernel[i], expansion[i]);
  }
}

}  // namespace
}  // namespace gradstone::kernels
