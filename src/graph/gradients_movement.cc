// SPDX-License-Identifier: Apache-2.0
// Rules of operators that move, repeat or sum elements. g is the cotangent of the output.
#include <algorithm>
#include <numeric>

#include "graph/gradients.h"
#include "graph/reduction.h"
#include "graph/shape_rules.h"
#include "graph/slicing.h"

namespace gradstone {
namespace {

using Integers = std::vector<std::int64_t>;

// Undoes a reduction: every reduced axis is put back with extent 1, then repeated.
std::string spread(GradientBuilder& b, const std::string& g, const std::vector<std::size_t>& axes) {
  const Shape shape = b.shape_of(b.input(0));
  Shape kept = shape;
  for (const std::size_t axis : axes) kept[axis] = 1;
  return b.expand(b.reshape(g, kept), shape);
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
  const std::int64_t requested = attribute_or(b.node(), "axis", std::int64_t{0});
  const std::size_t axis = TRY(resolved_axis(requested, rank));
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
  const NodeInputs inputs = b.node_inputs();
  const Slicing slicing = TRY(slicing_of(inputs.context()));
  const Shape shape = b.shape_of(b.input(0));
  std::string g = b.cotangent();
  Integers before(shape.size(), 0), after(shape.size(), 0);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t start = slicing.starts[axis], step = slicing.steps[axis];
    if (step == 1) {
      before[axis] = start;
      after[axis] = shape[axis] - start - slicing.extents[axis];
      continue;
    }
    Integers places(static_cast<std::size_t>(slicing.extents[axis]));
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[i] = start + static_cast<std::int64_t>(i) * step;
    }
    Shape scattered = b.shape_of(g);
    scattered[axis] = shape[axis];
    g = b.append("scatter", "GatherGrad", {b.integers(places), g},
                 {{"axis", static_cast<std::int64_t>(axis)}, {"input_shape", scattered}});
  }
  b.give(0, zero_padded(b, g, before, after));
  return {};
}

// What was repeated is summed, axis by axis.
Status gradient_of_repeating_pad(GradientBuilder& b, const Pads& pads) {
  const Shape shape = b.shape_of(b.input(0));
  std::string g = b.cotangent();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (pads.begin[axis] == 0 && pads.end[axis] == 0) continue;
    Shape scattered = b.shape_of(g);
    scattered[axis] = shape[axis];
    g = b.append("scatter", "GatherGrad", {b.integers(padded_places(pads, axis, shape[axis])), g},
                 {{"axis", static_cast<std::int64_t>(axis)}, {"input_shape", scattered}});
  }
  b.give(0, g);
  return {};
}

// Padding with a constant is undone by padding the other way round.
Status gradient_of_pad(GradientBuilder& b) {
  const NodeInputs inputs = b.node_inputs();
  const Pads pads = TRY(pads_of(inputs.context()));
  if (pads.mode != PadMode::kConstant) return gradient_of_repeating_pad(b, pads);
  const Shape& shape = b.shape_of(b.input(0));
  Shape end = pads.begin;
  bool takes_away = false;
  Integers before, after;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    end[axis] += shape[axis];
    takes_away |= pads.begin[axis] < 0 || pads.end[axis] < 0;
    before.push_back(-pads.begin[axis]);
    after.push_back(-pads.end[axis]);
  }
  b.give(0, takes_away ? zero_padded(b, b.cotangent(), before, after)
                       : b.slice(b.cotangent(), pads.begin, end));
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
  const NodeInputs inputs = b.node_inputs();
  const Reduction reduction = TRY(reduction_of(inputs.context()));
  b.give(0, spread(b, b.cotangent(), reduction.axes));
  return {};
}

Status gradient_of_reduce_mean(GradientBuilder& b) {
  const NodeInputs inputs = b.node_inputs();
  const Reduction reduction = TRY(reduction_of(inputs.context()));
  const double gathered = static_cast<double>(b.type_of(b.input(0)).elements()) /
                          static_cast<double>(b.type_of(b.output(0)).elements());
  const std::string g = b.scale(b.cotangent(), 1 / gathered);
  b.give(0, spread(b, g, reduction.axes));
  return {};
}

}  // namespace gradstone
