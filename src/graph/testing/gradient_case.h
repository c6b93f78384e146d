// SPDX-License-Identifier: Apache-2.0
// One node with attributes and inputs on which a gradient rule is tested. The cases themselves
// stand in gradient_cases.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "graph/graph.h"
#include "graph/node_rules.h"

namespace gradstone::testing {

using Attributes = std::map<std::string, Attribute>;
using Integers = std::vector<std::int64_t>;

// Values of a floating input, chosen so that no kink is near.
enum class Values {
  kAny,           // uniform in [-1, 1)
  kPositive,      // uniform in [0.5, 1.5)
  kAwayFromZero,  // magnitude in [0.3, 1.3), either sign
  kDistinct,      // a shuffled grid around 0: any two differ by 0.1 or more, none is near 0
  kBeyondOne,     // uniform in [1.5, 2.5)
  kWithZeros,     // every second one 0, the others in [0.5, 1.5)
};

struct CaseInput {
  TensorType type;
  Values values = Values::kAny;
  std::optional<Tensor> constant;  // not differentiated
};

struct GradientCase {
  std::string name;  // "Conv: groups"
  std::string op;
  std::vector<std::optional<CaseInput>> inputs;  // nullopt: absent
  Attributes attributes;
  std::vector<std::size_t> from = {0};  // outputs that are differentiated
  std::size_t outputs = 1;
};

inline CaseInput real(Shape shape, Values values = Values::kAny) {
  return {{DType::kFloat64, std::move(shape)}, values, std::nullopt};
}

inline CaseInput fixed(Tensor value) { return {value.type(), Values::kAny, value}; }
inline CaseInput integers(const Shape& shape, const Integers& values) {
  return fixed(Tensor::of<std::int64_t>(shape, values));
}
inline CaseInput integers(const Integers& values) {
  return integers({static_cast<std::int64_t>(values.size())}, values);
}
inline CaseInput reals(const Shape& shape, const std::vector<double>& values) {
  return fixed(Tensor::of<double>(shape, values));
}

// Input i of a case is graph input (or constant) `x<i>`, output i is value `y<i>` of node `node`.
inline Graph graph_of(const GradientCase& test) {
  Graph graph;
  graph.name = test.name;
  Node node{"node", test.op, "", {}, {}, test.attributes};
  if (find_op("", test.op) == nullptr) node.domain = kGradstoneDomain;
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    const std::string name = test.inputs[i] ? "x" + std::to_string(i) : "";
    node.inputs.push_back(name);
    if (!test.inputs[i]) continue;
    if (test.inputs[i]->constant) {
      graph.constants.push_back({name, *test.inputs[i]->constant});
    } else {
      graph.inputs.push_back({name, test.inputs[i]->type});
    }
  }
  for (std::size_t i = 0; i < test.outputs; ++i) node.outputs.push_back("y" + std::to_string(i));
  graph.outputs = node.outputs;
  graph.nodes.push_back(std::move(node));
  return graph;
}

inline std::vector<std::string> from_of(const GradientCase& test) {
  std::vector<std::string> names;
  for (const std::size_t output : test.from) names.push_back("y" + std::to_string(output));
  return names;
}

inline std::vector<std::string> wrt_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphInput& input : graph.inputs) names.push_back(input.name);
  return names;
}

inline double case_value(Values values, const CounterRandom& random, std::int64_t index,
                         std::uint32_t place) {
  const auto i = static_cast<std::uint64_t>(index);
  const double uniform = random.uniform(i);
  switch (values) {
    case Values::kPositive:
      return 0.5 + uniform;
    case Values::kAwayFromZero:
      return (random.bits(i + 1000000) % 2 == 0 ? 1 : -1) * (0.3 + uniform);
    case Values::kDistinct:
      return (place % 2 == 0 ? 1 : -1) * (0.15 + 0.1 * place);
    case Values::kBeyondOne:
      return 1.5 + uniform;
    case Values::kWithZeros:
      return index % 2 == 0 ? 0 : 0.5 + uniform;
    case Values::kAny:
      break;
  }
  return 2 * uniform - 1;
}

// float64 values of a shape; the stream tells inputs apart.
inline Tensor case_tensor(const Shape& shape, Values values, std::string_view stream) {
  const CounterRandom random(1, stream_of(stream));
  Tensor tensor({DType::kFloat64, shape});
  const std::span<double> elements = tensor.as<double>();
  const std::vector<std::uint32_t> places = permutation(random, elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] = case_value(values, random, static_cast<std::int64_t>(i), places[i]);
  }
  return tensor;
}

}  // namespace gradstone::testing
