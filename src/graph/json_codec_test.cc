// SPDX-License-Identifier: Apache-2.0
#include "graph/json_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/one_node.h"

namespace gradstone {
namespace {

using namespace testing;

// A graph within a graph within a graph.
Subgraph body_graph() {
  Graph inner;
  inner.name = "inner";
  inner.inputs = {{"i", f32({2})}};
  inner.outputs = {"i"};
  Graph body;
  body.name = "body";
  body.inputs = {{"b", f32({})}};
  body.constants = {{"two", Tensor::scalar(2.0F)}};
  body.nodes = {{"m", "Mul", "", {"b", "two"}, {"p"}, {}}};
  body.nodes[0].attributes["deeper"] = std::make_shared<const Graph>(inner);
  body.outputs = {"p"};
  return std::make_shared<const Graph>(body);
}

Graph rich_graph() {
  const double inf = std::numeric_limits<double>::infinity();
  Graph graph;
  graph.name = "rich";
  graph.inputs = {{"x", f32({2, 3})}};
  graph.weights = {{"w", f32({3}), {Distribution::kTruncatedNormal, 0.1, 0.02}, true},
                   {"s", {DType::kInt8, {}}, Initializer::constant(1), false}};
  const double numbers[] = {0.1, -0.0, inf, -inf, std::nan("")};
  const bool flags[] = {true, false};
  graph.constants = {{"numbers", Tensor::of<double>({5}, numbers)},
                     {"flags", Tensor::of<bool>({2, 1}, flags)},
                     {"single", Tensor::scalar(0.1F)},
                     {"large", Tensor::scalar(std::numeric_limits<std::int64_t>::min())},
                     {"none", list({})}};
  Node node;
  node.name = "n";
  node.op = "Anything";
  node.domain = "gradstone";
  node.inputs = {"x", "", "w"};
  node.outputs = {"y", ""};
  node.attributes = {{"int", std::int64_t{1}},
                     {"float", 1.0},
                     {"infinite", inf},
                     {"string", "1"},
                     {"ints", Ints{}},
                     {"floats", std::vector<double>{0.5, -inf}},
                     {"strings", std::vector<std::string>{"a", ""}},
                     {"graph", body_graph()}};
  graph.nodes = {node, {"plain", "Relu", "", {"x"}, {"z"}, {}}};
  graph.outputs = {"y", "z"};
  graph.state_updates = {{"s", "y"}};
  return graph;
}

Graph travelled(const Graph& graph) {
  return graph_from_json(parse_json(write_json(to_json(graph))).value()).value();
}

TEST(GraphJson, TextSurvivesTheWay) {
  const std::string text = write_json(to_json(rich_graph()));
  EXPECT_EQ(write_json(to_json(travelled(rich_graph()))), text);
}

TEST(GraphJson, AttributesKeepTheirKind) {
  const Graph before = rich_graph();
  Attributes plain = before.nodes[0].attributes,
             travelled_plain = travelled(before).nodes[0].attributes;
  plain.erase("graph");
  travelled_plain.erase("graph");
  EXPECT_EQ(travelled_plain, plain);
  EXPECT_EQ(travelled(before).nodes[0].inputs, before.nodes[0].inputs);
  EXPECT_EQ(travelled(before).nodes[0].domain, "gradstone");
}

TEST(GraphJson, GraphsInAttributesTravelWhole) {
  const Graph after = travelled(rich_graph());
  const Subgraph body = subgraph_of(after.nodes[0], "graph");
  ASSERT_NE(body, nullptr);
  EXPECT_EQ(body->nodes[0].inputs, (std::vector<std::string>{"b", "two"}));
  EXPECT_EQ(body->constants[0].value.as<float>()[0], 2.0F);
  const Subgraph inner = subgraph_of(body->nodes[0], "deeper");
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(inner->inputs[0].type, f32({2}));
}

TEST(GraphJson, ConstantsKeepTheirBits) {
  const Graph before = rich_graph();
  const Graph after = travelled(before);
  ASSERT_EQ(after.constants.size(), before.constants.size());
  for (std::size_t i = 0; i < before.constants.size(); ++i) {
    const Tensor& a = before.constants[i].value;
    const Tensor& b = after.constants[i].value;
    ASSERT_EQ(a.type(), b.type());
    for (std::int64_t k = 0; k < a.type().elements(); ++k) {
      const double x = element_as_double(a.ref(), k);
      const double y = element_as_double(b.ref(), k);
      EXPECT_TRUE((std::isnan(x) && std::isnan(y)) ||
                  (x == y && std::signbit(x) == std::signbit(y)));
    }
  }
}

TEST(GraphJson, WeightsAndStatesKeepEverything) {
  const Graph after = travelled(rich_graph());
  EXPECT_EQ(after.weights[0].initializer, rich_graph().weights[0].initializer);
  EXPECT_EQ(after.weights[1].type, (TensorType{DType::kInt8, {}}));
  EXPECT_FALSE(after.weights[1].trainable);
  EXPECT_EQ(after.state_updates[0].weight, "s");
  EXPECT_EQ(after.outputs, rich_graph().outputs);
}

TEST(GraphJson, EveryDistributionHasAName) {
  for (int i = 0; i <= static_cast<int>(Distribution::kFanInUniform); ++i) {
    const auto distribution = static_cast<Distribution>(i);
    EXPECT_EQ(distribution_from_name(name_of(distribution)), distribution);
  }
  EXPECT_EQ(name_of(Distribution::kFanInUniform), "fan_in_uniform");
}

// Changes the JSON of rich_graph() and reads it.
template <class Change>
std::string fault(Change change) {
  Json json = to_json(rich_graph());
  change(json);
  const Result<Graph> graph = graph_from_json(json);
  return graph.ok() ? "accepted" : graph.error().message;
}

TEST(GraphJson, FaultsNameTheirPlace) {
  EXPECT_EQ(fault([](Json& j) { j.erase("nodes"); }), "graph: key 'nodes' is missing");
  EXPECT_EQ(fault([](Json& j) { j = Json::array(); }), "graph: expected an object");
  EXPECT_EQ(fault([](Json& j) { j["node"] = 1; }),
            "graph: unknown key 'node'; did you mean 'nodes'?");
  EXPECT_EQ(fault([](Json& j) { j["nodes"][1]["inputs"][0] = 3; }),
            "graph: nodes[1]: key 'inputs': expected an array of strings");
  EXPECT_EQ(fault([](Json& j) { j["nodes"][0]["attributes"]["int"] = 1; }),
            "graph: nodes[0]: attribute 'int': expected an object with one key, the kind");
  EXPECT_EQ(fault([](Json& j) {
              j["nodes"][0]["attributes"]["int"] = {{"integer", 1}};
            }),
            "graph: nodes[0]: attribute 'int': unknown kind 'integer'");
  EXPECT_EQ(fault([](Json& j) {
              j["nodes"][0]["attributes"]["int"] = {{"int", 1.5}};
            }),
            "graph: nodes[0]: attribute 'int': key 'int': expected an integer");
  EXPECT_EQ(fault([](Json& j) { j["nodes"][0]["attributes"]["graph"]["graph"].erase("nodes"); }),
            "graph: nodes[0]: attribute 'graph': key 'nodes' is missing");
  EXPECT_EQ(fault([](Json& j) { j["inputs"][0]["dtype"] = "float16"; }),
            "graph: inputs[0]: key 'dtype': unknown element type 'float16'");
  EXPECT_EQ(fault([](Json& j) { j["inputs"] = 5; }), "graph: key 'inputs': expected an array");
  EXPECT_EQ(fault([](Json& j) { j["weights"][0]["initializer"]["distribution"] = "he"; }),
            "graph: weights[0]: initializer: unknown distribution 'he'");
}

TEST(GraphJson, ForeignNumbersAllocateNothing) {
  EXPECT_EQ(fault([](Json& j) {
              j["constants"][2]["shape"] = {1 << 20, 1 << 20};
            }),
            "graph: constants[2]: has 1 values, the shape [1048576, 1048576] holds 1099511627776");
  EXPECT_EQ(fault([](Json& j) {
              j["constants"][2]["shape"] = {INT64_MAX, 3};
            }),
            "graph: constants[2]: shape [9223372036854775807, 3] has more than 2^40 elements");
  EXPECT_EQ(fault([](Json& j) { j["inputs"][0]["shape"] = {-1}; }),
            "graph: inputs[0]: shape [-1] has a negative extent");
}

TEST(GraphJson, ValuesMustFitTheirType) {
  const auto constant = [](std::string dtype, Json value) {
    return fault([&](Json& j) {
      j["constants"] = {{{"name", "c"},
                         {"dtype", dtype},
                         {"shape", Json::array()},
                         {"values", Json::array({value})}}};
    });
  };
  EXPECT_EQ(constant("int8", 127), "accepted");
  EXPECT_EQ(constant("int8", -128), "accepted");
  EXPECT_EQ(constant("int8", 128), "graph: constants[0]: element 128 is no int8");
  EXPECT_EQ(constant("int8", -129), "graph: constants[0]: element -129 is no int8");
  EXPECT_EQ(constant("uint8", -1), "graph: constants[0]: element -1 is no uint8");
  EXPECT_EQ(constant("int64", 9223372036854775808ULL),
            "graph: constants[0]: element 9223372036854775808 is no int64");
  EXPECT_EQ(constant("int32", 1.0), "graph: constants[0]: element 1.0 is no int32");
  EXPECT_EQ(constant("bool", 1), "graph: constants[0]: element 1 is no bool");
  EXPECT_EQ(constant("float32", 1e39), "graph: constants[0]: element 1e+39 is no float32");
  EXPECT_EQ(constant("float64", "nan"), "accepted");
  EXPECT_EQ(constant("float64", "infinity"),
            "graph: constants[0]: expected a number, \"nan\", \"inf\" or \"-inf\"");
}

TEST(TensorTypeJson, IsStrict) {
  const TensorType type = {DType::kUInt8, {3, 2}};
  EXPECT_EQ(write_json(to_json(type)), R"({"dtype":"uint8","shape":[3,2]})");
  EXPECT_EQ(tensor_type_from_json(to_json(type)).value(), type);
  EXPECT_FALSE(tensor_type_from_json(Json{{"dtype", "uint8"}, {"shape", {1}}, {"x", 1}}).ok());
}

}  // namespace
}  // namespace gradstone
