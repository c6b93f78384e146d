// SPDX-License-Identifier: Apache-2.0
// Scan, unrolled: values against sums written out, and a recurrent layer as a Scan against RNN.
#include <gtest/gtest.h>

#include "graph/testing/gradient_case.h"
#include "kernels/evaluate.h"

namespace gradstone::kernels {
namespace {

using testing::Attributes;
using testing::case_tensor;
using testing::Integers;
using testing::Values;

std::vector<double> elements(const Tensor& tensor) {
  const std::span<const double> values = tensor.as<double>();
  return {values.begin(), values.end()};
}

TensorType f64(Shape shape) { return {DType::kFloat64, std::move(shape)}; }

// Running sums of the rows of [[1, 2], [3, 4], [5, 6]], and of its columns.
std::vector<Tensor> running_sums(const Attributes& attributes, std::int64_t width) {
  Graph body;
  body.inputs = {{"sum", f64({width})}, {"x", f64({width})}};
  body.nodes = {{"next", "Add", "", {"sum", "x"}, {"next"}, {}}};
  body.outputs = {"next", "next"};
  const std::vector<double> x = {1, 2, 3, 4, 5, 6};
  Graph graph;
  graph.constants = {{"zero", Tensor(f64({width}))}, {"x", Tensor::of<double>({3, 2}, x)}};
  graph.nodes = {{"scan", "Scan", "", {"zero", "x"}, {"last", "all"}, attributes}};
  graph.nodes[0].attributes["num_scan_inputs"] = std::int64_t{1};
  graph.nodes[0].attributes["body"] = std::make_shared<const Graph>(body);
  graph.outputs = {"last", "all"};
  return evaluate(graph, {}).value();
}

using Numbers = std::vector<double>;

TEST(ScanValues, RunForwardsAndBackwards) {
  std::vector<Tensor> sums = running_sums({}, 2);
  EXPECT_EQ(elements(sums[0]), (Numbers{9, 12}));
  EXPECT_EQ(elements(sums[1]), (Numbers{1, 2, 4, 6, 9, 12}));
  sums = running_sums({{"scan_input_directions", Integers{1}}}, 2);
  EXPECT_EQ(elements(sums[1]), (Numbers{5, 6, 8, 10, 9, 12}));
  sums = running_sums({{"scan_output_directions", Integers{1}}}, 2);
  EXPECT_EQ(elements(sums[1]), (Numbers{9, 12, 4, 6, 1, 2}));
}

TEST(ScanValues, RunAlongOtherAxes) {
  std::vector<Tensor> sums = running_sums({{"scan_input_axes", Integers{1}}}, 3);
  EXPECT_EQ(elements(sums[0]), (Numbers{3, 7, 11}));
  EXPECT_EQ(elements(sums[1]), (Numbers{1, 3, 5, 3, 7, 11}));
  sums = running_sums({{"scan_input_axes", Integers{-1}}, {"scan_output_axes", Integers{1}}}, 3);
  EXPECT_EQ(sums[1].shape(), (Shape{3, 2}));
  EXPECT_EQ(elements(sums[1]), (Numbers{1, 3, 3, 7, 5, 11}));
}

// h' = tanh(x W + h R) in a body whose W and R are captured.
TEST(ScanValues, ARecurrentLayer) {
  Graph body;
  body.inputs = {{"h", f64({3, 4})}, {"x", f64({3, 2})}, {"W", f64({4, 2})}, {"R", f64({4, 4})}};
  const Attributes turned = {{"transB", std::int64_t{1}}};
  body.nodes = {{"of_state", "Gemm", "", {"h", "R"}, {"of_state"}, turned},
                {"sum", "Gemm", "", {"x", "W", "of_state"}, {"sum"}, turned},
                {"next", "Tanh", "", {"sum"}, {"next"}, {}}};
  body.outputs = {"next", "next"};
  Graph graph;
  graph.constants = {{"x", case_tensor({5, 3, 2}, Values::kAny, "x")},
                     {"W", case_tensor({4, 2}, Values::kAny, "W")},
                     {"R", case_tensor({4, 4}, Values::kAny, "R")},
                     {"h", Tensor(f64({3, 4}))}};
  for (const char* name : {"W", "R"}) {
    const Tensor value = graph.find_constant(name)->value;
    Shape shape = value.shape();
    shape.insert(shape.begin(), 1);
    graph.constants.push_back(
        {std::string(name) + "1", Tensor::of<double>(shape, value.as<double>())});
  }
  graph.nodes = {{"scan", "Scan", "", {"h", "x", "W", "R"}, {"last", "all"}, {}},
                 {"rnn", "RNN", "", {"x", "W1", "R1"}, {"y", "y_h"}, {}}};
  graph.nodes[0].attributes = {{"body", std::make_shared<const Graph>(body)},
                               {"num_scan_inputs", std::int64_t{1}},
                               {"captured_inputs", std::int64_t{2}}};
  graph.outputs = {"all", "y", "last", "y_h"};
  const std::vector<Tensor> values = evaluate(graph, {}).value();
  for (const std::size_t first : {0, 2}) {
    const std::vector<double> scan = elements(values[first]), rnn = elements(values[first + 1]);
    ASSERT_EQ(scan.size(), rnn.size());
    for (std::size_t i = 0; i < scan.size(); ++i) EXPECT_NEAR(scan[i], rnn[i], 1e-14);
  }
}

}  // namespace
}  // namespace gradstone::kernels
