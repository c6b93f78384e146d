// SPDX-License-Identifier: Apache-2.0
#include "verify/tolerance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace gradstone {
namespace {

constexpr std::array<std::string_view, 6> kGatherers = {"BatchNormalization",
                                                        "InstanceNormalization",
                                                        "LayerNormalization",
                                                        "MeanVarianceNormalization",
                                                        "Softmax",
                                                        "LogSoftmax"};

double elements_of(const std::string& value, const ValueTypes& types) {
  const auto found = types.find(value);
  return found == types.end() ? 0 : static_cast<double>(found->second.elements());
}

double own_length(const Node& node, const NodeCost& cost, const ValueTypes& types) {
  double outputs = 0;
  for (const std::string& output : node.outputs) {
    outputs = std::max(outputs, elements_of(output, types));
  }
  const double length = static_cast<double>(cost.flops) / std::max(outputs, 1.0);
  const bool gathers = std::find(kGatherers.begin(), kGatherers.end(), node.op) != kGatherers.end();
  if (!gathers) return length;
  const double all = elements_of(node.inputs[0], types);
  const Shape& shape = types.find(node.inputs[0])->second.shape;
  // Of one channel, or of all there is behind the first axis.
  const double groups = node.inputs.size() > 1 && node.op == "BatchNormalization"
                            ? elements_of(node.inputs[1], types)
                            : static_cast<double>(shape.empty() ? 1 : shape[0]);
  return std::max(length, all / std::max(groups, 1.0));
}

}  // namespace

double spacing_at_one(DType dtype) {
  if (dtype == DType::kFloat32) return std::numeric_limits<float>::epsilon();
  if (dtype == DType::kFloat64) return std::numeric_limits<double>::epsilon();
  return 0;
}

void complete(Tolerance& tolerance, DType dtype) {
  if (!is_floating(dtype)) return;
  constexpr double kGaps = 10, kRoundings = 4;
  const double floor = kRoundings * std::sqrt(std::max(tolerance.reduction, 1.0)) *
                       (spacing_at_one(dtype) * tolerance.magnitude + tolerance.moved);
  // Numbers below the smallest normal one may be flushed to zero.
  const double flushed = dtype == DType::kFloat32
                             ? static_cast<double>(std::numeric_limits<float>::min())
                             : std::numeric_limits<double>::min();
  tolerance.allowed = std::max({kGaps * tolerance.own_gap, floor, flushed});
}

std::map<std::string, double> reduction_lengths(const Graph& graph, const ValueTypes& types) {
  const std::vector<NodeCost> costs = node_costs(graph, types);
  std::map<std::string, double> lengths;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    double length = std::max(1.0, own_length(node, costs[i], types));
    for (const std::string& input : node.inputs) {
      if (const auto found = lengths.find(input); found != lengths.end()) {
        length = std::max(length, found->second);
      }
    }
    for (const std::string& output : node.outputs) lengths[output] = length;
  }
  return lengths;
}

}  // namespace gradstone
