// SPDX-License-Identifier: Apache-2.0
#include "graph/shape_rules.h"

#include <algorithm>
#include <limits>

#include "base/suggest.h"

namespace gradstone {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  return a != 0 && b > kLargest / a ? kLargest : a * b;
}

}  // namespace

Result<std::int64_t> checked_element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return unreadable("shape " + to_string(shape) + " has a negative extent");
    empty = empty || extent == 0;
    count = saturating_multiply(count, std::max<std::int64_t>(extent, 1));
  }
  if (count > kMaxElements) {
    return unreadable("shape " + to_string(shape) + " has more than 2^40 elements");
  }
  return empty ? 0 : count;
}

std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  return a > kLargest - b ? kLargest : a + b;
}

std::int64_t saturating_product(std::initializer_list<std::int64_t> factors) {
  return saturating_product(1, std::span<const std::int64_t>(factors.begin(), factors.size()));
}

std::int64_t saturating_product(std::int64_t factor, std::span<const std::int64_t> factors) {
  for (const std::int64_t other : factors) factor = saturating_multiply(factor, other);
  return factor;
}

Result<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& extent = result[offset + i];
    if (extent == shorter[i] || shorter[i] == 1) continue;
    if (extent != 1) {
      return unreadable("shapes " + to_string(a) + " and " + to_string(b) +
                        " do not broadcast: extents " + std::to_string(extent) + " and " +
                        std::to_string(shorter[i]));
    }
    extent = shorter[i];
  }
  return result;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  const Result<Shape> both = broadcast_shapes(from, to);
  return both.ok() && *both == to;
}

Result<std::size_t> resolved_axis(std::int64_t axis, std::size_t rank, bool allow_end) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  const std::int64_t last = allow_end ? signed_rank : signed_rank - 1;
  if (axis < -signed_rank || axis > last) {
    return unreadable("axis " + std::to_string(axis) + " is outside a tensor of rank " +
                      std::to_string(rank));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

Result<std::vector<std::size_t>> resolved_axes(const std::vector<std::int64_t>& axes,
                                               std::size_t rank) {
  std::vector<std::size_t> resolved;
  for (const std::int64_t axis : axes) resolved.push_back(TRY(resolved_axis(axis, rank)));
  std::sort(resolved.begin(), resolved.end());
  const auto twice = std::adjacent_find(resolved.begin(), resolved.end());
  if (twice != resolved.end()) {
    return unreadable("axis " + std::to_string(*twice) + " is named twice");
  }
  return resolved;
}

Status expect_floating(const NodeContext& context, std::size_t input, std::string_view what) {
  const TensorType* type = context.inputs[input];
  if (type == nullptr || is_floating(type->dtype)) return {};
  return unreadable(std::string(what) + " is " + std::string(name_of(type->dtype)) +
                    "; the operator needs float32 or float64");
}

Status expect_like_first(const NodeContext& context, std::size_t input, std::string_view what) {
  const TensorType* type = context.inputs[input];
  const TensorType* first = context.inputs[0];
  if (type == nullptr || first == nullptr || type->dtype == first->dtype) return {};
  return unreadable(std::string(what) + " is " + std::string(name_of(type->dtype)) +
                    ", the first input is " + std::string(name_of(first->dtype)));
}

Status expect_rank(const TensorType& type, std::size_t rank, std::string_view what) {
  if (type.shape.size() == rank) return {};
  return unreadable(std::string(what) + " has shape " + to_string(type.shape) + "; expected rank " +
                    std::to_string(rank));
}

Status expect_index_type(const TensorType& type, std::string_view what) {
  if (type.dtype == DType::kInt32 || type.dtype == DType::kInt64) return {};
  return unreadable(std::string(what) + " is " + std::string(name_of(type.dtype)) +
                    "; expected int32 or int64");
}

Result<std::vector<std::int64_t>> constant_integers(const NodeContext& context, std::size_t input,
                                                    std::string_view what) {
  const Tensor* tensor = context.constants[input];
  if (tensor == nullptr) {
    return unsupported(std::string(what) + " is not a constant; shapes are static, make it one");
  }
  TRY(expect_index_type(tensor->type(), what));
  TRY(expect_rank(tensor->type(), 1, what));
  if (tensor->type().dtype == DType::kInt32) {
    const auto values = tensor->as<std::int32_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  const auto values = tensor->as<std::int64_t>();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

Result<double> constant_number(const NodeContext& context, std::size_t input,
                               std::string_view what) {
  const Tensor* tensor = context.constants[input];
  if (tensor == nullptr) return unsupported(std::string(what) + " is not a constant; make it one");
  if (tensor->type().elements() != 1) {
    return unreadable(std::string(what) + " has shape " + to_string(tensor->shape()) +
                      "; expected one number");
  }
  return element_as_double(tensor->ref(), 0);
}

Result<std::string> chosen(const Node& node, std::string_view attribute,
                           const std::vector<std::string_view>& choices) {
  std::string value = attribute_or(node, attribute, choices.front());
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return value;
  return unreadable("attribute '" + std::string(attribute) + "' has no choice '" + value + "'" +
                    did_you_mean(value, choices));
}

std::int64_t one_per_element(const NodeContext&, std::span<const TensorType> outputs) {
  return outputs[0].elements();
}

std::int64_t one_per_input_element(const NodeContext& context, std::span<const TensorType>) {
  return context.inputs[0]->elements();
}

}  // namespace gradstone
