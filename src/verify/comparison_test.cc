// SPDX-License-Identifier: Apache-2.0
#include "verify/comparison.h"

#include <gtest/gtest.h>

#include <limits>

namespace gradstone {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Graph graph_of(int nodes) {
  Graph graph;
  for (int i = 0; i < nodes; ++i) {
    graph.nodes.push_back({"node" + std::to_string(i), "Relu", "", {}, {}, {}});
  }
  return graph;
}

Tensor floats(const std::vector<double>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return converted(Tensor::of<double>({count}, values).ref(), DType::kFloat32);
}

Expectation expectation(const std::string& value, std::size_t node,
                        const std::vector<double>& exact, double allowed) {
  Expectation one;
  one.value = value;
  one.node = node;
  one.exact = Tensor::of<double>({static_cast<std::int64_t>(exact.size())}, exact);
  one.single = floats(exact);
  one.tolerance.allowed = allowed;
  return one;
}

TEST(Compare, LetsPassWhatIsWithinTheTolerance) {
  const Comparison result =
      compare(graph_of(1), {expectation("y", 0, {1, 2}, 0.5)}, {{"y", floats({1.25, 2})}});
  EXPECT_TRUE(result.departures.empty());
  EXPECT_EQ(result.elements, 2);
  EXPECT_DOUBLE_EQ(result.worst, 0.5);
  EXPECT_EQ(result.worst_value, "y");
}

TEST(Compare, TellsWhereAndByHowMuchATensorDeparts) {
  const Comparison result =
      compare(graph_of(1), {expectation("y", 0, {1, 2, 3}, 0.5)}, {{"y", floats({1, 3, 5})}});
  ASSERT_EQ(result.departures.size(), 1u);
  const Departure& departure = result.departures[0];
  EXPECT_EQ(departure.node, "node0");
  EXPECT_EQ(departure.gap, 2);
  EXPECT_EQ(departure.element, 2u);
  EXPECT_EQ(departure.departing, 2);
  EXPECT_EQ(departure.elements, 3);
  EXPECT_EQ(departure.expected, 3);
  EXPECT_EQ(departure.actual, 5);
}

TEST(Compare, ExcusesKinksButNoMoreThanAThousandth) {
  Expectation one = expectation("y", 0, std::vector<double>(3000, 0.0), 0.5);
  one.nonsmooth.assign(3000, true);
  std::vector<double> actual(3000, 0.0);
  actual[0] = actual[1] = actual[2] = 1;
  Comparison result = compare(graph_of(1), {one}, {{"y", floats(actual)}});
  EXPECT_TRUE(result.departures.empty());
  EXPECT_EQ(result.nonsmooth, 3);
  actual[3] = 1;
  result = compare(graph_of(1), {one}, {{"y", floats(actual)}});
  EXPECT_EQ(result.departures.size(), 1u);
  one.nonsmooth.clear();
  actual[1] = actual[2] = actual[3] = 0;
  result = compare(graph_of(1), {one}, {{"y", floats(actual)}});
  EXPECT_EQ(result.departures.size(), 1u);
}

TEST(Compare, KnowsNumbersThatAreNone) {
  const Graph graph = graph_of(1);
  const std::vector<Expectation> nan = {expectation("y", 0, {kNan}, 0.5)};
  EXPECT_TRUE(compare(graph, nan, {{"y", floats({kNan})}}).departures.empty());
  EXPECT_FALSE(compare(graph, nan, {{"y", floats({1})}}).departures.empty());
  const std::vector<Expectation> one = {expectation("y", 0, {1}, 0.5)};
  EXPECT_FALSE(compare(graph, one, {{"y", floats({kNan})}}).departures.empty());
  // Where float32 overflows, the reference in float32 does, too.
  const std::vector<Expectation> large = {expectation("y", 0, {1e300}, 1)};
  EXPECT_TRUE(compare(graph, large, {{"y", floats({1e300})}}).departures.empty());
}

TEST(Compare, MissesWhatIsNotThereOrOfAnotherType) {
  const Graph graph = graph_of(1);
  const std::vector<Expectation> one = {expectation("y", 0, {1, 2}, 0.5)};
  EXPECT_EQ(compare(graph, one, {}).departures.at(0).departing, 2);
  EXPECT_EQ(compare(graph, one, {{"y", floats({1})}}).departures.at(0).departing, 2);
}

TEST(FirstDeparture, IsTheFirstNodeAndItsForwardPassBeforeItsBackwardPass) {
  Comparison comparison;
  const auto add = [&](std::size_t position, bool backward, const std::string& value) {
    Departure departure;
    departure.position = position;
    departure.backward = backward;
    departure.value = value;
    comparison.departures.push_back(departure);
  };
  EXPECT_EQ(first_departure(comparison), nullptr);
  add(2, false, "late");
  add(1, true, "backward");
  EXPECT_EQ(first_departure(comparison)->value, "backward");
  add(1, false, "forward");
  EXPECT_EQ(first_departure(comparison)->value, "forward");
}

}  // namespace
}  // namespace gradstone
