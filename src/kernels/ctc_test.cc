// SPDX-License-Identifier: Apache-2.0
// CTCLoss against the sum over all paths, its gradient against finite differences.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/differentiate.h"
#include "graph/testing/gradient_case.h"
#include "kernels/evaluate.h"

namespace gradstone::kernels {
namespace {

using testing::Attributes;
using testing::case_tensor;
using testing::Values;
using Integers = std::vector<std::int64_t>;

struct Case {
  std::int64_t steps = 4, classes = 3, width = 3;
  Integers labels, input_lengths, label_lengths;  // labels: `width` for each sequence
  Attributes attributes;
  std::int64_t batch() const { return static_cast<std::int64_t>(input_lengths.size()); }
  std::int64_t blank() const {
    const auto found = attributes.find("blank");
    return found == attributes.end() ? 0 : std::get<std::int64_t>(found->second);
  }
};

Graph graph_of(const Case& test) {
  const std::int64_t n = test.batch();
  Graph graph;
  graph.name = "ctc";
  graph.inputs = {{"x", {DType::kFloat64, {test.steps, n, test.classes}}}};
  graph.constants = {{"labels", Tensor::of<std::int64_t>({n, test.width}, test.labels)},
                     {"steps", Tensor::of<std::int64_t>({n}, test.input_lengths)},
                     {"lengths", Tensor::of<std::int64_t>({n}, test.label_lengths)}};
  graph.nodes = {{"loss",
                  "CTCLoss",
                  std::string(kGradstoneDomain),
                  {"x", "labels", "steps", "lengths"},
                  {"loss"},
                  test.attributes}};
  graph.outputs = {"loss"};
  return graph;
}

// What a path emits: repetitions merged, then blanks dropped.
Integers emitted(const Integers& path, std::int64_t blank) {
  Integers labels;
  for (std::size_t t = 0; t < path.size(); ++t) {
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) labels.push_back(path[t]);
  }
  return labels;
}

// -log of the sum over all classes^steps paths, sequence n.
double loss_by_paths(const Case& test, std::span<const double> x, std::int64_t n) {
  const auto i = static_cast<std::size_t>(n);
  const auto first = test.labels.begin() + n * test.width;
  const Integers wanted(first, first + test.label_lengths[i]);
  Integers path(static_cast<std::size_t>(test.input_lengths[i]), 0);
  double total = 0;
  while (true) {
    double log_probability = 0;
    for (std::size_t t = 0; t < path.size(); ++t) {
      log_probability += x[static_cast<std::size_t>(
          (static_cast<std::int64_t>(t) * test.batch() + n) * test.classes + path[t])];
    }
    if (emitted(path, test.blank()) == wanted) total += std::exp(log_probability);
    std::size_t t = 0;
    while (t < path.size() && ++path[t] == test.classes) path[t++] = 0;
    if (t == path.size()) return -std::log(total);
  }
}

double reduced(const Case& test, const std::vector<double>& losses) {
  const std::string reduction = std::get<std::string>(test.attributes.at("reduction"));
  double total = 0;
  for (std::size_t n = 0; n < losses.size(); ++n) {
    const auto length = static_cast<double>(std::max<std::int64_t>(test.label_lengths[n], 1));
    total +=
        reduction == "mean" ? losses[n] / length / static_cast<double>(losses.size()) : losses[n];
  }
  return total;
}

// Repeated labels, an empty label, sequences that are as short as they can be, one step.
Case several_sequences(const std::string& reduction, std::int64_t blank) {
  Case test;
  const std::int64_t a = blank == 0 ? 1 : 0, b = blank == 2 ? 1 : 2;
  test.labels = {a, b, a, a, a, b, b, a, a, b, b, b, a, b, a};
  test.input_lengths = {4, 4, 3, 4, 1};
  test.label_lengths = {3, 2, 0, 1, 1};
  test.attributes = {{"reduction", reduction}, {"blank", blank}};
  return test;
}

Tensor logits_of(const Case& test) {
  return case_tensor({test.steps, test.batch(), test.classes}, Values::kAny, "logits");
}

TEST(CtcLoss, IsTheSumOverAllPaths) {
  for (const std::string reduction : {"none", "sum", "mean"}) {
    for (const std::int64_t blank : {0, 1, 2}) {
      SCOPED_TRACE(reduction + " " + std::to_string(blank));
      const Case test = several_sequences(reduction, blank);
      const Tensor x = logits_of(test);
      std::vector<double> losses;
      for (std::int64_t n = 0; n < test.batch(); ++n) {
        losses.push_back(loss_by_paths(test, x.as<double>(), n));
      }
      const std::vector<Tensor> found = evaluate(graph_of(test), {{"x", x}}).value();
      if (reduction != "none") losses = {reduced(test, losses)};
      ASSERT_EQ(found[0].as<double>().size(), losses.size());
      for (std::size_t n = 0; n < losses.size(); ++n) {
        EXPECT_NEAR(found[0].as<double>()[n], losses[n], 1e-13) << n;
      }
    }
  }
}

TEST(CtcLoss, GradientsAreItsDerivatives) {
  for (const std::string reduction : {"none", "sum", "mean"}) {
    SCOPED_TRACE(reduction);
    const Case test = several_sequences(reduction, 2);
    const Graph graph = graph_of(test);
    const Differentiated result = differentiate(graph, {"loss"}, {"x"}).value();
    std::map<std::string, Tensor> at = {{"x", logits_of(test)}};
    const std::string& seed = result.cotangent_inputs[0];
    at[seed] = case_tensor(result.graph.find_input(seed)->type.shape, Values::kAny, "seed");
    const std::vector<Tensor> found = evaluate(result.graph, at).value();
    const auto objective = [&](std::size_t k, double distance) {
      Tensor x = at["x"];
      x.as<double>()[k] += distance;
      const std::vector<Tensor> losses = evaluate(graph, {{"x", x}}).value();
      double sum = 0;
      for (std::size_t n = 0; n < losses[0].as<double>().size(); ++n) {
        sum += losses[0].as<double>()[n] * at[seed].as<double>()[n];
      }
      return sum;
    };
    for (std::size_t k = 0; k < found[1].as<double>().size(); ++k) {
      const double h = 1e-3;
      const double difference = (8 * (objective(k, h) - objective(k, -h)) -
                                 (objective(k, 2 * h) - objective(k, -2 * h))) /
                                (12 * h);
      EXPECT_NEAR(found[1].as<double>()[k], difference, 1e-10) << k;
    }
  }
}

// Two equal labels need three steps.
TEST(CtcLoss, WithoutAPathIsInfiniteOrZero) {
  Case test;
  test.labels = {1, 1, 2};
  test.input_lengths = {2};
  test.label_lengths = {2};
  const auto run = [&] {
    const Differentiated result = differentiate(graph_of(test), {"loss"}, {"x"}).value();
    return evaluate(result.graph,
                    {{"x", logits_of(test)}, {result.cotangent_inputs[0], Tensor::scalar(1.0)}})
        .value();
  };
  std::vector<Tensor> found = run();
  EXPECT_EQ(found[0].as<double>()[0], std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(found[1].as<double>()[0]));
  test.attributes["zero_infinity"] = std::int64_t{1};
  found = run();
  EXPECT_EQ(found[0].as<double>()[0], 0.0);
  for (const double element : found[1].as<double>()) EXPECT_EQ(element, 0.0);
}

// exp(-40000) is no double; the loss of one certain path is the sum of its terms all the same.
TEST(CtcLoss, DoesNotUnderflow) {
  Case test;
  test.steps = 200;
  test.classes = 2;
  test.width = 1;
  test.labels = {1};
  test.input_lengths = {200};
  test.label_lengths = {0};
  Tensor x({DType::kFloat64, {200, 1, 2}});
  for (double& element : x.as<double>()) element = -200;
  const std::vector<Tensor> found = evaluate(graph_of(test), {{"x", x}}).value();
  EXPECT_DOUBLE_EQ(found[0].as<double>()[0], 40000);
}

TEST(CtcLoss, RefusesLabelsAndLengthsThatCannotBe) {
  const auto fault = [](const Case& test) {
    const auto result = evaluate(graph_of(test), {{"x", logits_of(test)}});
    return result.ok() ? std::string("accepted") : result.error().message;
  };
  const std::string place = "workload ctc: node loss (CTCLoss): ";
  Case test = several_sequences("sum", 0);
  test.labels[0] = 0;
  EXPECT_EQ(fault(test), place + "sequence 0: label 0 is the blank or outside 0..2");
  test.labels[0] = 3;
  EXPECT_EQ(fault(test), place + "sequence 0: label 3 is the blank or outside 0..2");
  test = several_sequences("sum", 0);
  test.input_lengths[1] = 5;
  EXPECT_EQ(fault(test), place + "input length 5 of sequence 1 is outside 0..4");
  test.input_lengths[1] = 4;
  test.label_lengths[2] = -1;
  EXPECT_EQ(fault(test), place + "label length -1 of sequence 2 is outside 0..3");
}

}  // namespace
}  // namespace gradstone::kernels
