// SPDX-License-Identifier: Apache-2.0
// Host nodes as shape rules and tables of functions see them. That they run is shown in src/kernels.
#include "graph/host_function.h"

#include <gtest/gtest.h>

#include "graph/host_cut.h"
#include "graph/one_node.h"

namespace gradstone {
namespace {

using namespace testing;
using Strings = std::vector<std::string>;

// Doubles its input, and counts.
HostFunction twice() {
  HostFunction function;
  function.name = "twice";
  function.output_types = [](std::span<const TensorType> inputs,
                             const HostParameters&) -> Result<std::vector<TensorType>> {
    if (inputs.size() != 1) return unreadable("takes one input");
    return std::vector<TensorType>{inputs[0], i64({})};
  };
  return function;
}

Graph host_graph(const Attributes& attributes, std::size_t outputs = 2) {
  Graph graph = one_node("Host", {f32({2, 3})}, attributes, outputs);
  graph.nodes[0].domain = kGradstoneDomain;
  return graph;
}

TEST(HostNode, StatesItsTypes) {
  const Attributes attributes = host_attributes("twice", {f32({2, 3}), i64({})}, {{1, 2}, {0.5}});
  EXPECT_EQ(outcome(host_graph(attributes)), "float32 [2, 3], int64 []");
  const HostParameters parameters = host_parameters(host_graph(attributes).nodes[0]);
  EXPECT_EQ(parameters.integers, (Ints{1, 2}));
  EXPECT_EQ(parameters.numbers, (std::vector<double>{0.5}));
}

TEST(HostNode, SaysWhatItsAttributesLack) {
  const auto with = [](const std::string& name, Attribute value) {
    Attributes attributes = host_attributes("twice", {f32({2, 3}), i64({})});
    attributes[name] = std::move(value);
    return outcome(host_graph(attributes));
  };
  EXPECT_EQ(with("output_dtypes", Strings{"float32"}), "states 1 dtypes and 2 ranks");
  EXPECT_EQ(with("output_dtypes", Strings{"float32", "text"}), "unknown dtype 'text'");
  EXPECT_EQ(with("output_ranks", Ints{3, 0}),
            "output_extents does not hold the 3 extents of output 0");
  EXPECT_EQ(with("output_ranks", Ints{1, 0}), "output_extents holds more than output_ranks says");
  EXPECT_EQ(with("output_extents", Ints{-2, 3}), "shape [-2, 3] has a negative extent");
  EXPECT_EQ(outcome(host_graph(host_attributes("twice", {f32({2, 3})}))),
            "has 2 outputs; its attributes state 1");
}

TEST(HostFunctions, CheckTheNodesOfAGraph) {
  const HostFunctions functions({twice()});
  const auto fault = [&](const Graph& graph) {
    const Status status = functions.check(graph, check_graph(graph).value());
    return status.ok() ? std::string("accepted") : status.error().message;
  };
  const std::string place = "workload test: node n (Host): ";
  EXPECT_EQ(fault(host_graph(host_attributes("twice", {f32({2, 3}), i64({})}))), "accepted");
  EXPECT_EQ(fault(host_graph(host_attributes("twise", {f32({2, 3}), i64({})}))),
            place + "no host function 'twise' here; did you mean 'twice'?");
  EXPECT_EQ(fault(host_graph(host_attributes("twice", {f32({2, 4}), i64({})}))),
            place + "states output 0 as float32 [2, 4]; the function makes float32 [2, 3]");
  EXPECT_EQ(fault(host_graph(host_attributes("twice", {f32({2, 3})}), 1)),
            place + "states 1 outputs; the function makes 2");
}

// x -> a -> host -> b, and c beside them, which needs no host node.
TEST(HostCut, PutsEveryNodeIntoTheEarliestSegment) {
  Graph graph = host_graph(host_attributes("twice", {f32({2, 3}), i64({})}));
  graph.name = "net";
  graph.weights = {{"state", f32({2, 3}), {}, false}};
  graph.nodes[0].inputs = {"a"};
  graph.nodes.insert(graph.nodes.begin(), {"a", "Relu", "", {"x0"}, {"a"}, {}});
  graph.nodes.push_back({"b", "Mul", "", {"a", "y0"}, {"b"}, {}});
  graph.nodes.push_back({"c", "Neg", "", {"a"}, {"c"}, {}});
  graph.outputs = {"b", "y1", "c"};
  graph.state_updates = {{"state", "y0"}};
  const std::vector<Segment> segments = cut_at_hosts(graph);
  ASSERT_EQ(segments.size(), 2U);
  for (const Segment& segment : segments) {
    const Result<ValueTypes> types = check_graph(segment.graph);
    ASSERT_TRUE(types.ok()) << types.error().message;
  }
  EXPECT_EQ(segments[0].graph.outputs, (Strings{"a", "c"}));
  EXPECT_EQ(segments[0].hosts.size(), 1U);
  EXPECT_TRUE(segments[0].graph.state_updates.empty());
  EXPECT_EQ(segments[1].graph.inputs.size(), 2U);
  EXPECT_EQ(segments[1].graph.outputs, (Strings{"b"}));
  EXPECT_EQ(segments[1].graph.state_updates.size(), 1U);
  EXPECT_EQ(segments[1].graph.weights.size(), 1U);
}

TEST(HostCut, AGraphWithoutHostNodesIsOneSegment) {
  const Graph graph = one_node("Relu", {f32({2})});
  const std::vector<Segment> segments = cut_at_hosts(graph);
  ASSERT_EQ(segments.size(), 1U);
  EXPECT_EQ(segments[0].graph.outputs, graph.outputs);
}

}  // namespace
}  // namespace gradstone
