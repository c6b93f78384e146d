// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "graph/expansion.h"
#include "graph/one_node.h"

namespace gradstone {
namespace {

using namespace testing;

// state' = state + x W, collected: state' and x. W is captured.
Graph body_graph() {
  Graph body;
  body.name = "body";
  body.inputs = {{"state", f32({4})}, {"x", f32({3})}, {"W", f32({3, 4})}};
  body.nodes = {{"product", "MatMul", "", {"x", "W"}, {"product"}, {}},
                {"next", "Add", "", {"state", "product"}, {"next"}, {}}};
  body.outputs = {"next", "next", "x"};
  return body;
}

template <class Change>
Graph scan_graph(Change change) {
  Graph body = body_graph();
  Attributes attributes = {{"num_scan_inputs", std::int64_t{1}},
                           {"captured_inputs", std::int64_t{1}}};
  change(body, attributes);
  attributes["body"] = std::make_shared<const Graph>(body);
  return one_node("Scan", {f32({4}), f32({5, 3}), f32({3, 4})}, attributes, 3);
}
Graph scan_graph() {
  return scan_graph([](Graph&, Attributes&) {});
}

TEST(Scan, StacksWhatItsBodyMakes) {
  EXPECT_EQ(outcome(scan_graph()), "float32 [4], float32 [5, 4], float32 [5, 3]");
  EXPECT_EQ(outcome(scan_graph([](Graph&, Attributes& attributes) {
              attributes["scan_output_axes"] = Ints{1, -1};
            })),
            "float32 [4], float32 [4, 5], float32 [3, 5]");
}

TEST(Scan, SaysWhatDoesNotFit) {
  const auto with = [](const std::string& name, Attribute value) {
    return outcome(scan_graph([&](Graph&, Attributes& attributes) { attributes[name] = value; }));
  };
  EXPECT_EQ(with("num_scan_inputs", std::int64_t{3}),
            "num_scan_inputs 3 and captured_inputs 1 do not fit 3 inputs");
  EXPECT_EQ(with("scan_input_axes", Ints{1}),
            "the body's input x is float32 [3], given float32 [5]");
  EXPECT_EQ(with("scan_input_axes", Ints{2}),
            "scan_input_axes: axis 2 is outside a tensor of rank 2");
  EXPECT_EQ(with("scan_input_directions", Ints{2}),
            "attribute 'scan_input_directions' must hold 1 numbers, each 0 or 1");
  EXPECT_EQ(with("scan_output_axes", Ints{0}),
            "attribute 'scan_output_axes' has 1 axes; expected 2");
  EXPECT_EQ(outcome(scan_graph([](Graph& body, Attributes&) { body.outputs = {"x"}; })),
            "state 0 is float32 [4] before a step and float32 [3] after it");
  EXPECT_EQ(outcome(scan_graph([](Graph& body, Attributes&) { body.nodes[0].inputs[1] = "V"; })),
            "body: node product: reads 'V', which nothing makes; did you mean 'W'?");
  EXPECT_EQ(outcome(scan_graph([](Graph& body, Attributes&) { body.outputs.pop_back(); })),
            "has 3 outputs, its body makes 2");
  EXPECT_EQ(outcome(scan_graph([](Graph& body, Attributes&) { body.inputs.pop_back(); })),
            "the body has 2 inputs, the node 3");
}

TEST(Scan, CostsItsBodyInEveryStep) {
  const NodeCost got = cost(scan_graph());
  EXPECT_EQ(got.multiply_adds, 5 * 3 * 4);
  EXPECT_EQ(got.flops, 5 * (2 * 3 * 4 + 4));
}

TEST(Scan, UnrollsIntoNamedSteps) {
  const Expanded unrolled =
      expand_nodes(scan_graph(), [](const Node&, const OpDef&) { return true; }).value();
  const Result<ValueTypes> types = check_graph(unrolled.graph);
  ASSERT_TRUE(types.ok()) << types.error().message;
  int products = 0;
  for (const Node& node : unrolled.graph.nodes) products += node.op == "MatMul" ? 1 : 0;
  EXPECT_EQ(products, 5);
  EXPECT_EQ(unrolled.origin, std::vector<std::size_t>(unrolled.graph.nodes.size(), 0));
}

TEST(Scan, AnAbsurdLengthIsNotUnrolled) {
  Graph body;
  body.inputs = {{"x", f32({})}};
  body.outputs = {"x"};
  const Graph graph = one_node(
      "Scan", {f32({std::int64_t{1} << 39})},
      {{"num_scan_inputs", std::int64_t{1}}, {"body", std::make_shared<const Graph>(body)}});
  ASSERT_TRUE(check_graph(graph).ok());
  EXPECT_FALSE(expand_nodes(graph, [](const Node&, const OpDef&) { return true; }).ok());
}

}  // namespace
}  // namespace gradstone
