// SPDX-License-Identifier: Apache-2.0
// Tensors repeated, cut apart, or cut to a triangle. All element types alike.
#include <algorithm>

#include "graph/splitting.h"
#include "kernels/copying.h"

namespace gradstone::kernels {
namespace {

// Each axis of the output is two: the repeats, along which the input stands still, and its own.
Status tile(const KernelCall& call) {
  const Shape& from = call.input_shape(0);
  const Shape& to = call.output_shape(0);
  const Strides in = row_major_strides(from), out = row_major_strides(to);
  Shape extents;
  View source, target;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    extents.insert(extents.end(), {to[axis] / from[axis], from[axis]});
    source.strides.insert(source.strides.end(), {0, in[axis]});
    target.strides.insert(target.strides.end(), {out[axis] * from[axis], out[axis]});
  }
  copy_strided(call.outputs[0], target, call.inputs[0], source, extents);
  return {};
}

Status split(const KernelCall& call) {
  const Splitting splitting = TRY(splitting_of(call.context));
  const Strides strides = row_major_strides(call.input_shape(0));
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.wants_output(i)) {
      const Shape& part = call.output_shape(i);
      copy_strided(call.outputs[i], {0, row_major_strides(part)}, call.inputs[0], {offset, strides},
                   part);
    }
    offset += splitting.extents[i] * strides[splitting.axis];
  }
  return {};
}

// Upper: element (row, column) stays where column - row >= k; lower: where column - row <= k.
Status triangle(const KernelCall& call) {
  const Shape& shape = call.input_shape(0);
  const bool upper = attribute_or(call.node, "upper", std::int64_t{1}) != 0;
  const std::int64_t columns = shape.back(), rows = shape[shape.size() - 2];
  // No diagonal lies beyond these: row numbers and k can be added.
  const std::int64_t k =
      std::clamp(call.has_input(1) ? call.input<std::int64_t>(1)[0] : 0, -rows, columns);
  with_word(call.outputs[0].type.dtype, [&](auto word) {
    using Word = decltype(word);
    const auto* in = reinterpret_cast<const Word*>(call.inputs[0].data);
    auto* out = reinterpret_cast<Word*>(call.outputs[0].data);
    const std::int64_t all_rows = element_count(shape) / columns;
    for (std::int64_t row = 0; row < all_rows; ++row) {
      const std::int64_t diagonal = row % rows + k;
      for (std::int64_t column = 0; column < columns; ++column) {
        const bool kept = upper ? column >= diagonal : column <= diagonal;
        out[row * columns + column] = kept ? in[row * columns + column] : Word{0};
      }
    }
  });
  return {};
}

}  // namespace

std::vector<KernelRow> axes_kernels() {
  return {{"", "Tile", tile, tile}, {"", "Split", split, split}, {"", "Trilu", triangle, triangle}};
}

}  // namespace gradstone::kernels
