// SPDX-License-Identifier: Apache-2.0
#include "verify/kinks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "graph/window.h"
#include "kernels/window_table.h"

namespace gradstone {
namespace {

using Mask = std::vector<bool>;

constexpr std::array<std::string_view, 9> kKinkedAtZero = {
    "Relu", "LeakyRelu", "Elu", "Selu", "PRelu", "Abs", "Sign", "Celu", "Sqrt"};
constexpr std::array<std::string_view, 10> kOthers = {
    "Clip", "HardSigmoid", "ThresholdedRelu", "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin",
    "Max",  "Min",         "RoiAlign"};

template <class Names>
bool is_among(const Names& names, const std::string& op) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

// Where the node's slope jumps, for operators of one variable.
std::vector<double> kinks_of(const Node& node, const std::vector<const Tensor*>& inputs) {
  if (is_among(kKinkedAtZero, node.op)) return {0};
  if (node.op == "ThresholdedRelu") return {attribute_or(node, "alpha", 1.0)};
  std::vector<double> kinks;
  if (node.op == "Clip") {
    for (std::size_t bound = 1; bound < inputs.size(); ++bound) {
      if (inputs[bound] != nullptr) kinks.push_back(element_as_double(inputs[bound]->ref(), 0));
    }
  }
  if (node.op == "HardSigmoid") {
    const double alpha = attribute_or(node, "alpha", 0.2), beta = attribute_or(node, "beta", 0.5);
    if (alpha != 0) kinks = {-beta / alpha, (1 - beta) / alpha};
  }
  return kinks;
}

// Marks the elements of a group that lie within `tolerance` of its extreme, if there are several.
class TieMarker {
 public:
  TieMarker(std::span<const double> x, double tolerance, bool least, Mask& mask)
      : x_(x), tolerance_(tolerance), sign_(least ? -1 : 1), mask_(mask) {}

  void mark(const std::vector<std::size_t>& group) {
    if (group.empty()) return;
    double extreme = sign_ * x_[group[0]];
    for (const std::size_t place : group) extreme = std::max(extreme, sign_ * x_[place]);
    const auto near = [&](std::size_t place) { return sign_ * x_[place] >= extreme - tolerance_; };
    if (std::count_if(group.begin(), group.end(), near) < 2) return;
    for (const std::size_t place : group) {
      if (near(place)) mask_[place] = true;
    }
  }

 private:
  std::span<const double> x_;
  double tolerance_, sign_;
  Mask& mask_;
};

void mark_windows(const Node& node, const Shape& shape, TieMarker& marker) {
  const Shape extents(shape.begin() + 2, shape.end());
  const Result<Window> window = pooling_window_of(node, extents);
  if (!window.ok()) return;
  const kernels::WindowTable table = kernels::window_table(*window, extents);
  const std::int64_t planes = shape[0] * shape[1];
  std::vector<std::size_t> group;
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    for (std::int64_t position = 0; position < table.positions; ++position) {
      group.clear();
      for (std::int64_t tap = 0; tap < table.taps; ++tap) {
        const std::int32_t place =
            table.identity ? static_cast<std::int32_t>(position) : table.place(tap, position);
        if (place >= 0) group.push_back(static_cast<std::size_t>(plane * table.area + place));
      }
      marker.mark(group);
    }
  }
}

// Groups along the reduced axes; every element where the axes are not said.
void mark_reduction(const Node& node, const Shape& shape, TieMarker& marker) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::vector<bool> reduced(shape.size(), false);
  std::vector<std::int64_t> axes = attribute_or(node, "axes", std::vector<std::int64_t>{});
  if (node.op == "GlobalMaxPool") {
    for (std::int64_t axis = 2; axis < rank; ++axis) axes.push_back(axis);
  }
  for (std::int64_t axis : axes)
    reduced[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  if (axes.empty()) reduced.assign(shape.size(), true);
  std::map<std::size_t, std::vector<std::size_t>> groups;
  const auto count = static_cast<std::size_t>(element_count(shape));
  for (std::size_t place = 0; place < count; ++place) {
    std::size_t rest = place, key = 0, factor = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(shape[axis]);
      if (!reduced[axis]) {
        key += rest % extent * factor;
        factor *= extent;
      }
      rest /= extent;
    }
    groups[key].push_back(place);
  }
  for (const auto& [key, group] : groups) marker.mark(group);
}

// Max and Min of operands of one shape. Broadcast operands are not looked at.
void mark_operands(const std::vector<const Tensor*>& inputs, std::size_t input, double tolerance,
                   Mask& mask) {
  for (std::size_t other = 0; other < inputs.size(); ++other) {
    if (other == input || inputs[other] == nullptr) continue;
    if (inputs[other]->type() != inputs[input]->type()) continue;
    const std::span<const double> a = inputs[input]->as<double>(), b = inputs[other]->as<double>();
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::abs(a[i] - b[i]) <= tolerance) mask[i] = true;
    }
  }
}

}  // namespace

bool has_kinks(const Node& node) {
  return node.domain.empty() && (is_among(kKinkedAtZero, node.op) || is_among(kOthers, node.op));
}

bool moves_over_kinks(const Node& node) {
  return node.domain.empty() && is_among(kOthers, node.op);
}

std::vector<bool> nonsmooth_elements(const Node& node, const std::vector<const Tensor*>& inputs,
                                     std::size_t input, double tolerance) {
  if (!has_kinks(node) || inputs[input] == nullptr) return {};
  const Tensor& x = *inputs[input];
  if (x.type().dtype != DType::kFloat64) return {};
  Mask mask(static_cast<std::size_t>(x.type().elements()), false);
  const std::span<const double> values = x.as<double>();
  if (node.op == "Max" || node.op == "Min") {
    mark_operands(inputs, input, tolerance, mask);
  } else if (input == 0) {
    for (const double kink : kinks_of(node, inputs)) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::abs(values[i] - kink) <= tolerance) mask[i] = true;
      }
    }
    TieMarker marker(values, tolerance, node.op == "ReduceMin", mask);
    if (node.op == "MaxPool") mark_windows(node, x.shape(), marker);
    if (node.op == "GlobalMaxPool" || node.op == "ReduceMax" || node.op == "ReduceMin") {
      mark_reduction(node, x.shape(), marker);
    }
  }
  return std::find(mask.begin(), mask.end(), true) == mask.end() ? Mask() : mask;
}

}  // namespace gradstone
