// SPDX-License-Identifier: Apache-2.0
#include "conformance/gradient_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.h"
#include "conformance/compare.h"
#include "conformance/forward_check.h"
#include "conformance/scalar_function.h"
#include "graph/differentiate.h"
#include "graph/passes.h"
#include "kernels/evaluate.h"

namespace gradstone {
namespace {

using Tensors = std::map<std::string, Tensor>;
using Names = std::vector<std::string>;

// Of the step: the truncation of a central difference and the rounding of F meet here.
constexpr double kStep = 3e-6;
// What a difference of float64 is good for, relative.
constexpr double kSlopeTolerance = 2e-5;
// Elements of one tensor that are moved.
constexpr std::int64_t kAllOf = 32, kMostOf = 16;
// Elements that are looked at for kinks; more faults than these are faults.
constexpr std::int64_t kMostKinks = 256;

// Where an operator looks is no quantity that frameworks have a gradient for.
bool is_place(const Graph& graph, const std::string& name) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return node.op == "RoiAlign" && node.inputs.size() > 1 && node.inputs[1] == name;
  });
}

// Floating inputs and trainable weights.
Names differentiable_names(const Graph& graph) {
  Names names;
  for (const GraphInput& input : graph.inputs) {
    if (is_floating(input.type.dtype) && !is_place(graph, input.name)) names.push_back(input.name);
  }
  for (const Weight& weight : graph.weights) {
    if (weight.trainable && is_floating(weight.type.dtype)) names.push_back(weight.name);
  }
  return names;
}

// Statistics of a batch are outputs, too, but no framework has a gradient through them.
bool is_statistic(const Node& node, std::size_t output) {
  return node.op == "BatchNormalization" && output > 0;
}

// Floating outputs that depend on `wrt` through floating values.
Names dependent_outputs(const Graph& graph, const ValueTypes& types, const Names& wrt) {
  std::set<std::string> dependent(wrt.begin(), wrt.end());
  for (const Node& node : graph.nodes) {
    const bool depends = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](const auto& name) { return dependent.count(name) > 0; });
    if (!depends) continue;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::string& output = node.outputs[i];
      if (output.empty() || is_statistic(node, i)) continue;
      if (is_floating(types.find(output)->second.dtype)) dependent.insert(output);
    }
  }
  Names outputs;
  for (const std::string& output : graph.outputs) {
    const bool twice = std::find(outputs.begin(), outputs.end(), output) != outputs.end();
    if (dependent.count(output) > 0 && !twice) outputs.push_back(output);
  }
  return outputs;
}

// Magnitudes from 0.5 to 1.5, both signs.
Tensor cotangent(const std::string& stream, const TensorType& type) {
  const CounterRandom random(1, stream_of("conformance/" + stream));
  Tensor values({DType::kFloat64, type.shape});
  std::uint64_t i = 0;
  for (double& value : values.as<double>()) {
    const double draw = 2 * random.uniform(i++) - 1;
    value = draw < 0 ? draw - 0.5 : draw + 0.5;
  }
  return converted(values.ref(), type.dtype);
}

Tensors in_float64(const Tensors& tensors) {
  Tensors result;
  for (const auto& [name, tensor] : tensors) {
    const DType dtype = tensor.type().dtype;
    result[name] = converted(tensor.ref(), is_floating(dtype) ? DType::kFloat64 : dtype);
  }
  return result;
}

// Gradients by name of `wrt`, as the reference computes them for this graph's types.
Result<Tensors> reference_gradients(const Graph& graph, const BackwardSpec& backward,
                                    Tensors values, const Tensors& cotangents) {
  Differentiated backward_graph = TRY(differentiate(graph, backward.from, backward.wrt));
  for (std::size_t i = 0; i < backward.from.size(); ++i) {
    values[backward_graph.cotangent_inputs[i]] = cotangents.at(backward.from[i]);
  }
  const Graph needed = pruned(backward_graph.graph, backward_graph.gradients, false);
  const std::vector<Tensor> gradients = TRY(kernels::evaluate(needed, values));
  Tensors named;
  for (std::size_t i = 0; i < backward.wrt.size(); ++i) named[backward.wrt[i]] = gradients[i];
  return named;
}

// Largest finite difference of two gradients.
double gap_between(const Tensor& a, const Tensor& b) {
  double gap = 0;
  for (std::int64_t i = 0; i < a.type().elements(); ++i) {
    const double difference =
        std::abs(element_as_double(a.ref(), i) - element_as_double(b.ref(), i));
    if (std::isfinite(difference)) gap = std::max(gap, difference);
  }
  return gap;
}

bool close(double a, double b, double allowed) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= allowed;
}

}  // namespace

struct GradientProblem::State {
  ProgramSpec program;
  Tensors feeds;
  Tensors expected, gaps_from;  // gradients in float64, and in the case's own types
  std::unique_ptr<ScalarFunction> function;

  double allowed_slope_error(const Slopes& slopes, double scale) const {
    return kSlopeTolerance * std::max({slopes.steepest(), scale * 1e-2, 1e-7}) + slopes.rounding;
  }
  // Whether `gradient` is one of those that an element at a kink may have.
  bool at_kink(const std::string& name, std::int64_t index, double gradient) const {
    const Result<Slopes> slopes = slopes_at(*function, name, index, kStep);
    const Result<Slopes> nearer = slopes_at(*function, name, index, kStep / 4);
    if (!slopes.ok() || !nearer.ok()) return false;
    if (nearer->steepest() > 3 * slopes->steepest()) return true;  // a jump: four times, if exact
    const double low = std::min(slopes->left, slopes->right);
    const double high = std::max(slopes->left, slopes->right);
    const double allowed = allowed_slope_error(*slopes, 0);
    return high - low > 100 * allowed && gradient >= low - allowed && gradient <= high + allowed;
  }
  std::optional<std::string> difference(const std::string& name, const Tensor& actual,
                                        std::int64_t& kinks) const;
};

GradientProblem::GradientProblem(std::unique_ptr<State> state) : state_(std::move(state)) {}
GradientProblem::GradientProblem(GradientProblem&&) noexcept = default;
GradientProblem::~GradientProblem() = default;

const ProgramSpec& GradientProblem::program() const { return state_->program; }
const Tensors& GradientProblem::feeds() const { return state_->feeds; }

Result<std::optional<GradientProblem>> GradientProblem::make(const PreparedCase& prepared) {
  const Graph& graph = prepared.graph;
  const ValueTypes types = TRY(check_graph(graph));
  BackwardSpec backward{{}, true, differentiable_names(graph)};
  backward.from = dependent_outputs(graph, types, backward.wrt);
  if (backward.from.empty() || draws_random_numbers(graph)) return std::optional<GradientProblem>();
  auto state = std::make_unique<State>();
  state->program = forward_program(prepared);
  state->program.mode = Mode::kTraining;
  state->program.outputs = backward.from;
  state->program.backward = backward;
  Tensors values = prepared.feeds, cotangents;
  values.insert(prepared.weights.begin(), prepared.weights.end());
  state->feeds = prepared.feeds;
  for (const std::string& name : backward.from) {
    cotangents[name] = cotangent(name, types.find(name)->second);
    state->feeds["cotangent/" + name] = cotangents[name];
  }
  state->gaps_from = TRY(reference_gradients(graph, backward, values, cotangents));
  const Graph wide = with_dtype(graph, DType::kFloat64);
  const Tensors wide_values = in_float64(values), wide_cotangents = in_float64(cotangents);
  state->expected = TRY(reference_gradients(wide, backward, wide_values, wide_cotangents));
  state->function = TRY(ScalarFunction::make(wide, backward.from, wide_values, wide_cotangents));
  return std::optional<GradientProblem>(GradientProblem(std::move(state)));
}

std::optional<std::string> GradientProblem::State::difference(const std::string& name,
                                                              const Tensor& actual,
                                                              std::int64_t& kinks) const {
  const Tensor expected_here = converted(expected.at(name).ref(), actual.type().dtype);
  const double scale = scale_of(expected.at(name).ref());
  Tolerance tolerance = data_tolerance(actual.type().dtype);
  tolerance.absolute += 10 * gap_between(gaps_from.at(name), expected.at(name)) / scale;
  if (!gradstone::difference(actual.ref(), expected_here.ref(), tolerance)) return std::nullopt;
  Tensor judged = actual;  // with what a kink allows replaced by what is expected
  std::int64_t looked_at = 0;
  for (std::int64_t i = 0; i < actual.type().elements() && looked_at < kMostKinks; ++i) {
    const double a = element_as_double(actual.ref(), i);
    const double e = element_as_double(expected_here.ref(), i);
    if (close(a, e, tolerance.relative * std::abs(e) + tolerance.absolute * scale)) continue;
    ++looked_at;
    if (!at_kink(name, i, a)) continue;
    ++kinks;
    const auto place = static_cast<std::size_t>(i);
    if (actual.type().dtype == DType::kFloat32) {
      judged.as<float>()[place] = static_cast<float>(e);
    } else {
      judged.as<double>()[place] = e;
    }
  }
  return gradstone::difference(judged.ref(), expected_here.ref(), tolerance);
}

std::optional<std::string> GradientProblem::difference(const Tensors& gradients,
                                                       std::string& remark) const {
  std::int64_t kinks = 0;
  for (const std::string& name : state_->program.backward->wrt) {
    const auto found = gradients.find(name);
    if (found == gradients.end()) return "gradient of '" + name + "': none came";
    const TensorType type{found->second.type().dtype, state_->expected.at(name).shape()};
    if (found->second.type() != type) {
      return "gradient of '" + name + "' is " + to_string(found->second.type()) + ", expected " +
             to_string(type);
    }
    if (const auto text = state_->difference(name, found->second, kinks)) {
      return "gradient of '" + name + "': " + *text;
    }
  }
  if (kinks > 0) remark = fmt::format("{} elements at a kink", kinks);
  return std::nullopt;
}

Result<std::optional<std::string>> GradientProblem::finite_difference() const {
  for (const std::string& name : state_->program.backward->wrt) {
    const Tensor& expected = state_->expected.at(name);
    const std::int64_t elements = expected.type().elements();
    const double scale = scale_of(expected.ref());
    const CounterRandom random(2, stream_of("conformance/" + name));
    const std::int64_t count = elements <= kAllOf ? elements : kMostOf;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t i =
          elements <= kAllOf
              ? k
              : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(k),
                                                       static_cast<std::uint64_t>(elements)));
      const double gradient = expected.as<double>()[static_cast<std::size_t>(i)];
      const Slopes slopes = TRY(slopes_at(*state_->function, name, i, kStep));
      const double allowed = state_->allowed_slope_error(slopes, scale);
      if (close(gradient, slopes.central(), allowed)) continue;
      if (!std::isfinite(gradient) || state_->at_kink(name, i, gradient)) continue;
      return std::optional<std::string>(fmt::format(
          "gradient of '{}' at {}: {:.9g}, finite differences say {:.9g} (from {:.9g} to {:.9g})",
          name, index_text(expected.shape(), i), gradient, slopes.central(), slopes.left,
          slopes.right));
    }
  }
  return std::optional<std::string>();
}

}  // namespace gradstone
