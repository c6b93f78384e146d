// SPDX-License-Identifier: Apache-2.0
// Short forms that lowerings of several families are written with. Not for what one family alone
// needs.
#pragma once

#include "engines/torch/lowering.h"

namespace gradstone::torch_engine {

// y = f(x), y = f(a, b) and y = f(a, b, c), of the first inputs and output.
template <class Function>
Step unary(const LoweringContext& context, Function function) {
  const Slot x = context.input(0), y = context.output(0);
  return [=](at::Tensor* v) { v[y] = function(v[x]); };
}
template <class Function>
Step binary(const LoweringContext& context, Function function) {
  const Slot a = context.input(0), b = context.input(1), y = context.output(0);
  return [=](at::Tensor* v) { v[y] = function(v[a], v[b]); };
}
template <class Function>
Step ternary(const LoweringContext& context, Function function) {
  const Slot a = context.input(0), b = context.input(1), c = context.input(2);
  const Slot y = context.output(0);
  return [=](at::Tensor* v) { v[y] = function(v[a], v[b], v[c]); };
}

inline std::int64_t rank_of(const LoweringContext& context) {
  return static_cast<std::int64_t>(context.input_shape(0).size());
}

inline bool has_flag(const Node& node, std::string_view attribute, bool fallback = false) {
  return attribute_or(node, attribute, std::int64_t{fallback}) != 0;
}

// Attribute `axis`, counted from the start of `rank` axes.
inline std::int64_t axis_of(const Node& node, std::int64_t fallback, std::int64_t rank) {
  const std::int64_t axis = attribute_or(node, "axis", fallback);
  return axis < 0 ? axis + rank : axis;
}

// Indices as ATen takes them: int64, with negative ones, which count from the end, made positive.
inline at::Tensor from_start(const at::Tensor& indices, std::int64_t extent) {
  const at::Tensor wide = indices.to(at::kLong);
  return at::where(wide.lt(0), wide.add(extent), wide);
}

// Rows of several lists in one.
inline std::vector<Lowering> joined(std::initializer_list<std::vector<Lowering>> lists) {
  std::vector<Lowering> all;
  for (const std::vector<Lowering>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace gradstone::torch_engine
