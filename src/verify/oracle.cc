// SPDX-License-Identifier: Apache-2.0
#include "verify/oracle.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.h"
#include "graph/differentiate.h"
#include "graph/passes.h"
#include "kernels/evaluate.h"
#include "verify/kinks.h"

namespace gradstone {
namespace {

constexpr const char* kComputed = "computed/";

Tensor in_double(const Tensor& tensor) {
  return is_floating(tensor.type().dtype) ? converted(tensor.ref(), DType::kFloat64) : tensor;
}

// A graph whose inputs are all given: values for its graph inputs, none of its own weights.
struct Question {
  Graph graph;
  TensorMap values;
};

void give(const std::string& name, const Tensor& value, Question& question) {
  if (!question.values.emplace(name, value).second) return;
  question.graph.inputs.push_back({name, value.type()});
}

// Every node by itself: it reads the answers, and computes under another name.
Question unchained(const Case& given, const TensorMap& answers) {
  Question question;
  question.graph.name = given.graph.name;
  question.graph.constants = given.graph.constants;
  for (const auto& [name, value] : given.values) give(name, value, question);
  for (Node node : given.graph.nodes) {
    for (const std::string& input : node.inputs) {
      if (const auto found = answers.find(input); found != answers.end()) {
        give(input, found->second, question);
      }
    }
    for (std::string& output : node.outputs) {
      if (output.empty()) continue;
      output = kComputed + output;
      question.graph.outputs.push_back(output);
    }
    question.graph.nodes.push_back(std::move(node));
  }
  return question;
}

// The backward nodes, and of the forward ones those whose values are no answers (a mask, the inner
// values of an expanded operator).
Result<Question> backward(const Case& given, const TensorMap& answers) {
  const Differentiated whole = TRY(differentiate(given.graph, given.from, given.wrt));
  TensorMap known = given.values;
  for (const auto& [name, value] : answers) known.emplace(name, value);
  for (std::size_t i = 0; i < given.from.size(); ++i) {
    known.emplace(whole.cotangent_inputs[i], given.cotangents.at(given.from[i]));
  }
  Question question;
  question.graph.name = given.graph.name;
  question.graph.constants = whole.graph.constants;
  question.graph.outputs = whole.gradients;
  std::set<std::string> needed(whole.gradients.begin(), whole.gradients.end());
  std::vector<Node> nodes;
  for (auto node = whole.graph.nodes.rbegin(); node != whole.graph.nodes.rend(); ++node) {
    const auto is_wanted = [&](const std::string& output) {
      return needed.count(output) > 0 && known.count(output) == 0;
    };
    if (std::none_of(node->outputs.begin(), node->outputs.end(), is_wanted)) continue;
    Node& kept = nodes.emplace_back(*node);
    for (std::string& output : kept.outputs) {
      if (known.count(output) > 0) output = kComputed + output;
    }
    needed.insert(node->inputs.begin(), node->inputs.end());
  }
  question.graph.nodes.assign(nodes.rbegin(), nodes.rend());
  for (const std::string& name : needed) {
    if (const auto found = known.find(name); found != known.end()) {
      give(name, found->second, question);
    }
  }
  return question;
}

// Values that must not be moved, or a node could be moved over a kink; its outputs too, since
// gradients may look for the element that is equal to a maximum.
std::set<std::string> fixed_values(const Graph& graph) {
  std::set<std::string> fixed;
  for (const Node& node : graph.nodes) {
    if (!moves_over_kinks(node)) continue;
    fixed.insert(node.inputs.begin(), node.inputs.end());
    fixed.insert(node.outputs.begin(), node.outputs.end());
  }
  return fixed;
}

// Every floating number moved at random by up to `spacing` of itself.
Tensor moved(const Tensor& tensor, double spacing, const std::string& name) {
  Tensor result = tensor;
  if (tensor.type().dtype != DType::kFloat64) return result;
  const std::span<double> numbers = result.as<double>();
  std::vector<double> draws(numbers.size());
  CounterRandom(1, stream_of("moved/" + name)).fill_uniform(0, draws);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] += numbers[i] * spacing * (2 * draws[i] - 1);
  }
  return result;
}

double largest(const Tensor& tensor) {
  double most = 0;
  for (std::int64_t i = 0; i < tensor.type().elements(); ++i) {
    const double value = std::abs(element_as_double(tensor.ref(), i));
    if (std::isfinite(value)) most = std::max(most, value);
  }
  return most;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double most = 0;
  for (std::int64_t i = 0; i < a.type().elements(); ++i) {
    const double gap = std::abs(element_as_double(a.ref(), i) - element_as_double(b.ref(), i));
    if (std::isfinite(gap)) most = std::max(most, gap);
  }
  return most;
}

struct Answered {
  Tensor exact, single;
  Tolerance tolerance;
};

// The question answered three times: in float64, in its own type, and in float64 from moved numbers.
Result<std::vector<Answered>> answer(const Question& question, const std::set<std::string>& fixed) {
  const std::vector<Tensor> own = TRY(kernels::evaluate(question.graph, question.values));
  const Graph wide = with_dtype(question.graph, DType::kFloat64);
  DType dtype = DType::kFloat32;
  TensorMap values, shaken;
  for (const auto& [name, value] : question.values) {
    if (value.type().dtype == DType::kFloat64) dtype = DType::kFloat64;
  }
  for (const auto& [name, value] : question.values) {
    Tensor converted_value = in_double(value);
    shaken[name] = fixed.count(name) > 0 ? converted_value
                                         : moved(converted_value, spacing_at_one(dtype), name);
    values[name] = std::move(converted_value);
  }
  std::vector<Tensor> exact = TRY(kernels::evaluate(wide, values));
  const std::vector<Tensor> off = TRY(kernels::evaluate(wide, shaken));
  const ValueTypes types = TRY(check_graph(question.graph));
  const std::map<std::string, double> lengths = reduction_lengths(question.graph, types);
  std::vector<Answered> answers;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    Answered& one = answers.emplace_back(Answered{std::move(exact[i]), own[i], {}});
    one.tolerance.own_gap = largest_difference(one.single, one.exact);
    one.tolerance.moved = largest_difference(off[i], one.exact);
    one.tolerance.magnitude = largest(one.exact);
    one.tolerance.reduction = lengths.at(question.graph.outputs[i]);
    complete(one.tolerance, one.single.type().dtype);
  }
  return answers;
}

std::size_t first_reader(const Graph& graph, const std::string& value) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::vector<std::string>& inputs = graph.nodes[i].inputs;
    if (std::find(inputs.begin(), inputs.end(), value) != inputs.end()) return i;
  }
  return 0;
}

// Of the gradient with respect to `value`, by the first node that reads it.
std::vector<bool> nonsmooth_of(const Case& given, const TensorMap& answers, std::size_t reader,
                               const std::string& value) {
  const Node& node = given.graph.nodes[reader];
  if (!has_kinks(node)) return {};
  std::vector<Tensor> held;
  std::vector<const Tensor*> inputs;
  held.reserve(node.inputs.size());
  for (const std::string& name : node.inputs) {
    const Tensor* tensor = nullptr;
    if (const auto found = given.values.find(name); found != given.values.end()) {
      tensor = &found->second;
    } else if (const auto computed = answers.find(name); computed != answers.end()) {
      tensor = &computed->second;
    } else if (const Constant* constant = given.graph.find_constant(name)) {
      tensor = &constant->value;
    }
    if (tensor != nullptr) held.push_back(in_double(*tensor));
    inputs.push_back(tensor == nullptr ? nullptr : &held.back());
  }
  const auto place = std::find(node.inputs.begin(), node.inputs.end(), value);
  const auto index = static_cast<std::size_t>(place - node.inputs.begin());
  const DType dtype = given.values.at(value).type().dtype;
  const double tolerance = 4 * spacing_at_one(dtype) * largest(*inputs[index]);
  return nonsmooth_elements(node, inputs, index, tolerance);
}

}  // namespace

Result<std::vector<Expectation>> expectations(const Case& question, const TensorMap& answers) {
  const std::set<std::string> fixed = fixed_values(question.graph);
  std::vector<Expectation> expected;
  std::vector<Answered> forward = TRY(answer(unchained(question, answers), fixed));
  std::size_t next = 0;
  for (std::size_t i = 0; i < question.graph.nodes.size(); ++i) {
    for (const std::string& output : question.graph.nodes[i].outputs) {
      if (output.empty()) continue;
      Answered& one = forward[next++];
      expected.push_back(
          {output, i, false, std::move(one.exact), std::move(one.single), one.tolerance, {}});
    }
  }
  if (question.from.empty()) return expected;
  std::vector<Answered> gradients = TRY(answer(TRY(backward(question, answers)), fixed));
  for (std::size_t i = 0; i < question.wrt.size(); ++i) {
    const std::string& value = question.wrt[i];
    const std::size_t reader = first_reader(question.graph, value);
    expected.push_back({gradient_name(value), reader, true, std::move(gradients[i].exact),
                        std::move(gradients[i].single), gradients[i].tolerance,
                        nonsmooth_of(question, answers, reader, value)});
  }
  return expected;
}

Result<TensorMap> reference_values(const Graph& graph, const TensorMap& given) {
  Graph wide = with_dtype(graph, DType::kFloat64);
  wide.outputs = computed_values(graph);
  wide.state_updates.clear();
  const ValueTypes types = TRY(check_graph(graph));
  TensorMap values, result = given;
  for (const auto& [name, value] : given) values[name] = in_double(value);
  const std::vector<Tensor> computed = TRY(kernels::evaluate(wide, values));
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const std::string& name = wide.outputs[i];
    result[name] = converted(computed[i].ref(), types.find(name)->second.dtype);
  }
  return result;
}

}  // namespace gradstone
