// SPDX-License-Identifier: Apache-2.0
#include "conformance/optimizer_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gradstone {
namespace {

constexpr int kSteps = 10;
constexpr double kStart[] = {1.0, -0.5, 0.25, 2.0, -1.0};  // a[0..2], b[0..1]
constexpr std::size_t kOfA = 3, kNumbers = std::size(kStart);

// Of figures that are exact but for rounding, relative to the larger of 1 and the figure.
double tolerance_of(DType dtype) { return dtype == DType::kFloat64 ? 1e-11 : 2e-5; }

// Gradient number i of step t: both signs, several magnitudes, no repetition.
double gradient_at(int t, std::size_t i) {
  return std::sin(1.7 * t + 2.3 * static_cast<double>(i)) * (i == 1 ? 3.0 : 0.5);
}
double rate_at(int t) { return 0.05 / (1 + 0.3 * t); }

Tensor tensor_of(DType dtype, const std::vector<double>& values) {
  const Tensor wide = Tensor::of<double>({static_cast<std::int64_t>(values.size())}, values);
  return converted(wide.ref(), dtype);
}

// loss = sum(a ga) + sum(b gb): the gradients are the inputs ga and gb.
ProgramSpec linear_program(const OptimizerCase& test) {
  const auto type = [&](std::int64_t count) { return TensorType{test.dtype, {count}}; };
  Graph graph;
  graph.name = test.name;
  graph.inputs = {{"ga", type(3)}, {"gb", type(2)}};
  graph.weights = {{"a", type(3), Initializer::constant(0)},
                   {"b", type(2), Initializer::constant(0)}};
  const std::map<std::string, Attribute> to_scalar = {{"keepdims", std::int64_t{0}}};
  graph.nodes = {{"pa", "Mul", "", {"a", "ga"}, {"pa"}, {}},
                 {"pb", "Mul", "", {"b", "gb"}, {"pb"}, {}},
                 {"sa", "ReduceSum", "", {"pa"}, {"sa"}, to_scalar},
                 {"sb", "ReduceSum", "", {"pb"}, {"sb"}, to_scalar},
                 {"loss", "Add", "", {"sa", "sb"}, {"loss"}, {}}};
  graph.outputs = {"loss"};
  ProgramSpec program{test.name, graph, Mode::kTraining, {"loss"}, {}, {test.update.spec}};
  program.backward = BackwardSpec{{"loss"}, false, {"a", "b"}};
  program.updates[0].weights = {{"a", test.update.rate_multiplier, test.update.decay_multiplier},
                                {"b", 1, 1}};
  return program;
}

// What the weights must be, number by number.
class Formula {
 public:
  Formula(const UpdateSpec& spec) : spec_(spec) {
    for (const double start : kStart) numbers_.push_back(number_at_start(spec.optimizer, start));
  }
  void step(const std::vector<double>& gradients, const UpdateArguments& arguments) {
    double squares = 0;
    for (const double g : gradients) squares += g * g;
    for (std::size_t i = 0; i < kNumbers; ++i) {
      const double g = clipped_gradient(spec_.gradient_clip, gradients[i], std::sqrt(squares));
      update_number(spec_, numbers_[i], g, spec_.weights[i < kOfA ? 0 : 1], arguments);
    }
  }
  std::vector<double> column(double UpdatedNumber::*field, std::size_t begin,
                             std::size_t end) const {
    std::vector<double> values;
    for (std::size_t i = begin; i < end; ++i) values.push_back(numbers_[i].*field);
    return values;
  }

 private:
  UpdateSpec spec_;
  std::vector<UpdatedNumber> numbers_;
};

std::optional<std::string> off(const std::string& what, const TensorMap& values,
                               const std::vector<double>& expected, double tolerance) {
  const auto found = values.find(what);
  if (found == values.end()) return "'" + what + "': no value came";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = element_as_double(found->second.ref(), static_cast<std::int64_t>(i));
    if (std::abs(value - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i]))) continue;
    return fmt::format("'{}' at [{}]: {:.9g}, the formula says {:.9g}", what, i, value,
                       expected[i]);
  }
  return std::nullopt;
}

struct Step {
  int t = 0;
  std::vector<double> gradients;
  UpdateArguments arguments;
};

std::optional<std::string> compare(const OptimizerCase& test, const Formula& formula,
                                   const Step& step, const TensorMap& values) {
  const double tolerance = tolerance_of(test.dtype);
  const auto& g = step.gradients;
  // What a backward pass gives is the gradient before clipping.
  std::optional<std::string> fault =
      off("gradient/a", values, {g.begin(), g.begin() + kOfA}, tolerance);
  if (!fault) fault = off("a", values, formula.column(&UpdatedNumber::w, 0, kOfA), tolerance);
  if (!fault)
    fault = off("b", values, formula.column(&UpdatedNumber::w, kOfA, kNumbers), tolerance);
  if (!fault && test.update.spec.weight_average > 0) {
    fault = off("a:average", values, formula.column(&UpdatedNumber::average, 0, kOfA), tolerance);
  }
  if (fault) fault = fmt::format("step {}: {}", step.t + 1, *fault);
  return fault;
}

}  // namespace

std::vector<OptimizerCase> optimizer_cases() {
  std::vector<OptimizerCase> cases;
  for (const UpdateCase& update : update_cases()) {
    cases.push_back({"optimizer/" + update.name, update, DType::kFloat32});
    cases.push_back({"optimizer/" + update.name + "/float64", update, DType::kFloat64});
  }
  return cases;
}

Answer run_optimizer_case(const OptimizerCase& test, EngineSession& session,
                          std::optional<std::string>& fault) {
  const ProgramSpec program = linear_program(test);
  Answer answer = session.load({{program}});
  if (answer.outcome != Outcome::kOk) return answer;
  Formula formula(program.updates[0]);
  answer = session.write({{"a", tensor_of(test.dtype, {kStart, kStart + kOfA})},
                          {"b", tensor_of(test.dtype, {kStart + kOfA, kStart + kNumbers})}});
  std::vector<std::string> watched = {"a", "b"};
  if (test.update.spec.weight_average > 0) watched.push_back("a:average");
  for (int t = 0; t < kSteps && answer.outcome == Outcome::kOk && !fault; ++t) {
    Step step{t, {}, {rate_at(t), t + 1}};
    for (std::size_t i = 0; i < kNumbers; ++i) step.gradients.push_back(gradient_at(t, i));
    const auto& g = step.gradients;
    formula.step(g, step.arguments);
    TensorMap values, variables;
    answer = session.run(0,
                         {{"ga", tensor_of(test.dtype, {g.begin(), g.begin() + kOfA})},
                          {"gb", tensor_of(test.dtype, {g.begin() + kOfA, g.end()})}},
                         {step.arguments}, &values);
    if (answer.outcome == Outcome::kOk) answer = session.read(watched, variables);
    if (answer.outcome != Outcome::kOk) break;
    values.insert(variables.begin(), variables.end());
    fault = compare(test, formula, step, values);
  }
  return answer;
}

}  // namespace gradstone
