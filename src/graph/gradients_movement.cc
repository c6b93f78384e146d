// SPDX-License-Identifier: Apache-2.0
// Rules of operators that move, repeat or sum elements. g is the cotangent of the output.
#include <algorithm>
#include <numeric>

#include "graph/gradients.h"

namespace gradstone {
namespace {

using Integers = std::vector<std::int64_t>;

std::int64_t normal_axis(std::int64_t axis, std::size_t rank) {
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

// Elements of a constant input of integers; `fallback` where the input is absent.
Result<Integers> constant_integers(const GradientBuilder& b, std::size_t index, Integers fallback) {
  if (b.input(index).empty()) return fallback;
  const Tensor* constant = b.constant(index);
  if (!constant) return unsupported("input " + b.input(index) + " is not a constant");
  Integers values(static_cast<std::size_t>(constant->type().elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        static_cast<std::int64_t>(element_as_double(constant->ref(), static_cast<std::int64_t>(i)));
  }
  return values;
}

// Undoes a reduction: every reduced axis is put back with extent 1, then repeated.
std::string spread(GradientBuilder& b, const std::string& g, Integers axes) {
  const Shape& shape = b.shape_of(b.input(0));
  Shape kept = shape;
  if (axes.empty()) std::fill(kept.begin(), kept.end(), 1);
  for (const std::int64_t axis : axes) {
    kept[static_cast<std::size_t>(normal_axis(axis, shape.size()))] = 1;
  }
  return b.expand(b.reshape(g, kept), Shape(shape));
}

// One axis of a Slice: elements start, start + step, ..., `count` of them.
struct AxisSlice {
  std::int64_t axis = 0, start = 0, step = 1, count = 0;
};

Result<std::vector<AxisSlice>> axis_slices(GradientBuilder& b) {
  const Shape& from = b.shape_of(b.input(0));
  const Shape& to = b.shape_of(b.output(0));
  const Integers starts = TRY(constant_integers(b, 1, {}));
  Integers every_axis(starts.size());
  std::iota(every_axis.begin(), every_axis.end(), 0);
  const Integers axes = TRY(constant_integers(b, 3, every_axis));
  const Integers steps = TRY(constant_integers(b, 4, Integers(starts.size(), 1)));
  std::vector<AxisSlice> slices;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t axis = normal_axis(axes[i], from.size());
    const std::int64_t extent = from[static_cast<std::size_t>(axis)];
    const std::int64_t start = starts[i] < 0 ? starts[i] + extent : starts[i];
    const std::int64_t last = steps[i] > 0 ? extent : extent - 1;
    slices.push_back({axis, std::clamp(start, std::int64_t{0}, std::max(last, std::int64_t{0})),
                      steps[i], to[static_cast<std::size_t>(axis)]});
  }
  return slices;
}

// Zeros around `value`: before[i] and after[i] of them along axis i.
std::string zero_padded(GradientBuilder& b, const std::string& value, const Integers& before,
                        const Integers& after) {
  Integers pads = before;
  pads.insert(pads.end(), after.begin(), after.end());
  if (std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad == 0; })) {
    return value;
  }
  return b.append("pad", "Pad", {value, b.integers(pads)});
}

}  // namespace

Status gradient_of_reshape(GradientBuilder& b) {
  b.give(0, b.reshape(b.cotangent(), Shape(b.shape_of(b.input(0)))));
  return {};
}

Status gradient_of_transpose(GradientBuilder& b) {
  const std::size_t rank = b.shape_of(b.input(0)).size();
  Integers reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const Integers order = attribute_or(b.node(), "perm", reversed);
  Integers inverse(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  b.give(0, b.append("transpose", "Transpose", {b.cotangent()}, {{"perm", inverse}}));
  return {};
}

Status gradient_of_concat(GradientBuilder& b) {
  const std::size_t rank = b.shape_of(b.output(0)).size();
  const auto axis =
      static_cast<std::size_t>(normal_axis(attribute_or(b.node(), "axis", std::int64_t{0}), rank));
  Shape begin(rank, 0);
  for (std::size_t i = 0; i < b.node().inputs.size(); ++i) {
    Shape end = b.shape_of(b.input(i));
    end[axis] += begin[axis];
    if (b.wants(i)) b.give(i, b.slice(b.cotangent(), begin, end));
    begin[axis] = end[axis];
  }
  return {};
}

// Steps of one are undone by padding, others by adding g at the places read.
Status gradient_of_slice(GradientBuilder& b) {
  const Shape shape = b.shape_of(b.input(0));
  std::string g = b.cotangent();
  Integers before(shape.size(), 0), after(shape.size(), 0);
  for (const AxisSlice& slice : TRY(axis_slices(b))) {
    const auto axis = static_cast<std::size_t>(slice.axis);
    if (slice.step == 1) {
      before[axis] = slice.start;
      after[axis] = shape[axis] - slice.start - slice.count;
      continue;
    }
    Integers places(static_cast<std::size_t>(slice.count));
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[i] = slice.start + static_cast<std::int64_t>(i) * slice.step;
    }
    Shape scattered = b.shape_of(g);
    scattered[axis] = shape[axis];
    g = b.append("scatter", "GatherGrad", {b.integers(places), g},
                 {{"axis", slice.axis}, {"input_shape", scattered}});
  }
  b.give(0, zero_padded(b, g, before, after));
  return {};
}

// The padding value gets what falls on the padding.
Status gradient_of_pad(GradientBuilder& b) {
  const std::string mode = attribute_or(b.node(), "mode", std::string_view("constant"));
  if (mode != "constant") return unsupported("mode '" + mode + "' has no gradient");
  const Shape shape = b.shape_of(b.input(0));
  const std::size_t rank = shape.size();
  const Integers pads = TRY(constant_integers(b, 1, {}));
  Shape begin(rank), end(rank), before(rank), after(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t low = pads[i], high = pads[rank + i];
    begin[i] = std::max(low, std::int64_t{0});
    end[i] = low + shape[i] + std::min(high, std::int64_t{0});
    before[i] = std::max(-low, std::int64_t{0});
    after[i] = std::max(-high, std::int64_t{0});
  }
  const std::string inner = b.slice(b.cotangent(), begin, end);
  if (b.wants(0)) b.give(0, zero_padded(b, inner, before, after));
  if (b.wants(2)) {
    const std::string all = b.sum_to(b.cotangent(), {});
    b.give(2, b.reshape(b.sub(all, b.sum_to(inner, {})), Shape(b.shape_of(b.input(2)))));
  }
  return {};
}

Status gradient_of_expand(GradientBuilder& b) {
  b.give(0, b.sum_to(b.cotangent(), Shape(b.shape_of(b.input(0)))));
  return {};
}

Status gradient_of_sum_to(GradientBuilder& b) {
  b.give(0, b.expand(b.cotangent(), Shape(b.shape_of(b.input(0)))));
  return {};
}

Status gradient_of_gather(GradientBuilder& b) {
  const std::int64_t axis = attribute_or(b.node(), "axis", std::int64_t{0});
  b.give(0, b.append("scatter", "GatherGrad", {b.input(1), b.cotangent()},
                     {{"axis", axis}, {"input_shape", b.shape_of(b.input(0))}}));
  return {};
}

Status gradient_of_gather_grad(GradientBuilder& b) {
  const std::int64_t axis = attribute_or(b.node(), "axis", std::int64_t{0});
  b.give(1, b.append("gather", "Gather", {b.cotangent(), b.input(0)}, {{"axis", axis}}));
  return {};
}

Status gradient_of_reduce_sum(GradientBuilder& b) {
  const Integers axes = TRY(constant_integers(b, 1, {}));
  const bool identity =
      axes.empty() && attribute_or(b.node(), "noop_with_empty_axes", std::int64_t{0}) != 0;
  b.give(0, identity ? b.cotangent() : spread(b, b.cotangent(), axes));
  return {};
}

Status gradient_of_reduce_mean(GradientBuilder& b) {
  const double summed =
      static_cast<double>(b.type_of(b.input(0)).elements()) /
      static_cast<double>(std::max(b.type_of(b.output(0)).elements(), std::int64_t{1}));
  const std::string g = b.scale(b.cotangent(), 1 / summed);
  b.give(0, spread(b, g, attribute_or(b.node(), "axes", Integers{})));
  return {};
}

}  // namespace gradstone
