// SPDX-License-Identifier: Apache-2.0
// Operators that move, repeat, pick or convert elements and compute nothing; and Dropout, which
// drops some of them.
#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "graph/slicing.h"
#include "kernels/copying.h"
#include "kernels/kernel.h"
#include "kernels/strided.h"

namespace gradstone::kernels {
namespace {

using Integers = std::vector<std::int64_t>;

Status copy(const KernelCall& call) {
  const std::size_t bytes = call.outputs[0].type.bytes();
  if (bytes > 0) std::memcpy(call.outputs[0].data, call.inputs[0].data, bytes);
  return {};
}

Status cast(const KernelCall& call) {
  const Tensor result = converted(call.inputs[0], call.outputs[0].type.dtype);
  if (result.type().bytes() > 0) {
    std::memcpy(call.outputs[0].data, result.data(), result.type().bytes());
  }
  return {};
}

Status transpose(const KernelCall& call) {
  const Shape& from = call.input_shape(0);
  const Shape& to = call.output_shape(0);
  Integers order(from.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = std::int64_t(order.size() - 1 - i);
  order = attribute_or(call.node, "perm", order);
  const Strides own = row_major_strides(from);
  Strides permuted;
  for (const std::int64_t axis : order) permuted.push_back(own[static_cast<std::size_t>(axis)]);
  copy_strided(call.outputs[0], {0, row_major_strides(to)}, call.inputs[0], {0, permuted}, to);
  return {};
}

Status expand(const KernelCall& call) {
  const Shape& to = call.output_shape(0);
  copy_strided(call.outputs[0], {0, row_major_strides(to)}, call.inputs[0],
               {0, broadcast_strides(call.input_shape(0), to)}, to);
  return {};
}

Status concatenate(const KernelCall& call) {
  const Shape& to = call.output_shape(0);
  const std::size_t axis =
      resolved_axis(attribute_or(call.node, "axis", std::int64_t{0}), to.size());
  const Strides strides = row_major_strides(to);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Shape& part = call.input_shape(i);
    copy_strided(call.outputs[0], {offset, strides}, call.inputs[i], {0, row_major_strides(part)},
                 part);
    offset += part[axis] * strides[axis];
  }
  return {};
}

Status slice(const KernelCall& call) {
  const Shape& from = call.input_shape(0);
  const Shape& to = call.output_shape(0);
  const Slicing slicing = TRY(slicing_of(call.context));
  View source{0, row_major_strides(from)};
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    source.offset += slicing.starts[axis] * source.strides[axis];
    // The step across an axis of one element may be of any size and is never taken.
    source.strides[axis] *= to[axis] > 1 ? slicing.steps[axis] : 1;
  }
  copy_strided(call.outputs[0], {0, row_major_strides(to)}, call.inputs[0], source, to);
  return {};
}

// Constant mode. Of an axis from which elements are taken away, what is left is copied.
Status pad_with_constant(const KernelCall& call) {
  const Padding padding = TRY(padding_of(call.context));
  fill(call.outputs[0], padding.value);
  const Shape& from = call.input_shape(0);
  View source{0, row_major_strides(from)}, target{0, row_major_strides(call.output_shape(0))};
  Shape kept = from;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    const std::int64_t begin = padding.begin[axis], end = padding.end[axis];
    source.offset += std::max<std::int64_t>(-begin, 0) * source.strides[axis];
    target.offset += std::max<std::int64_t>(begin, 0) * target.strides[axis];
    kept[axis] += std::min<std::int64_t>(begin, 0) + std::min<std::int64_t>(end, 0);
    if (kept[axis] <= 0) return {};
  }
  copy_strided(call.outputs[0], target, call.inputs[0], source, kept);
  return {};
}

// The other modes repeat elements of the input: for each axis a list says which.
Status pad(const KernelCall& call) {
  const Pads pads = TRY(pads_of(call.context));
  if (pads.mode == PadMode::kConstant) return pad_with_constant(call);
  const Shape& to = call.output_shape(0);
  const Strides strides = row_major_strides(call.input_shape(0));
  std::vector<std::int64_t> sources = {0};  // of the axes so far, in row-major order
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    const Integers places = padded_places(pads, axis, call.input_shape(0)[axis]);
    std::vector<std::int64_t> next;
    next.reserve(sources.size() * places.size());
    for (const std::int64_t source : sources) {
      for (const std::int64_t place : places) next.push_back(source + place * strides[axis]);
    }
    sources = std::move(next);
  }
  with_word(call.outputs[0].type.dtype, [&](auto word) {
    auto* out = reinterpret_cast<decltype(word)*>(call.outputs[0].data);
    const auto* in = reinterpret_cast<const decltype(word)*>(call.inputs[0].data);
    for (const std::int64_t source : sources) *out++ = in[source];
  });
  return {};
}

Status fill_with_value(const KernelCall& call) {
  fill(call.outputs[0], attribute_or(call.node, "value", 0.0));
  return {};
}

// Gather: for each block before the axis and each index, one row of elements after the axis.
struct Gathering {
  std::int64_t blocks = 1, extent = 1, row = 1;
  Integers indices;  // resolved: in [0, extent)
};

Result<Gathering> gathering_of(const KernelCall& call, const Shape& data, std::size_t index_input) {
  Gathering gathering;
  const std::size_t axis =
      resolved_axis(attribute_or(call.node, "axis", std::int64_t{0}), data.size());
  for (std::size_t i = 0; i < axis; ++i) gathering.blocks *= data[i];
  for (std::size_t i = axis + 1; i < data.size(); ++i) gathering.row *= data[i];
  gathering.extent = data[axis];
  gathering.indices = integers_of(call.inputs[index_input]);
  for (std::int64_t& index : gathering.indices) {
    index = TRY(resolved_index(index, gathering.extent));
  }
  return gathering;
}

Status gather(const KernelCall& call) {
  const Gathering gathering = TRY(gathering_of(call, call.input_shape(0), 1));
  const std::size_t bytes =
      static_cast<std::size_t>(gathering.row) * size_of(call.outputs[0].type.dtype);
  if (bytes == 0) return {};
  std::byte* out = call.outputs[0].data;
  for (std::int64_t block = 0; block < gathering.blocks; ++block) {
    for (const std::int64_t index : gathering.indices) {
      const auto row = static_cast<std::size_t>(block * gathering.extent + index);
      std::memcpy(out, call.inputs[0].data + row * bytes, bytes);
      out += bytes;
    }
  }
  return {};
}

// Inputs: indices, dy.
template <class T>
Status gather_grad(const KernelCall& call) {
  const Gathering gathering = TRY(gathering_of(call, call.output_shape(0), 0));
  const T* dy = call.input<T>(1).data();
  const std::span<T> dx = call.output<T>(0);
  std::fill(dx.begin(), dx.end(), T(0));
  for (std::int64_t block = 0; block < gathering.blocks; ++block) {
    for (const std::int64_t index : gathering.indices) {
      T* row = dx.data() + (block * gathering.extent + index) * gathering.row;
      for (std::int64_t i = 0; i < gathering.row; ++i) row[i] += *dy++;
    }
  }
  return {};
}

// Inputs: data, ratio, training mode. In training each element is dropped with probability `ratio`
// and the others are divided by 1 - ratio. The mask is a stream of its own for each node, and never
// repeats from run to run.
template <class T>
Status dropout(const KernelCall& call) {
  const double ratio = call.has_input(1) ? element_as_double(call.inputs[1], 0) : 0.5;
  const bool training = call.has_input(2) && element_as_double(call.inputs[2], 0) != 0;
  const std::span<const T> x = call.input<T>(0);
  const auto scale = static_cast<T>(1 / (1 - ratio));
  const CounterRandom random(call.seed, stream_of("reference dropout/" + call.node.name));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool kept = !training || random.uniform(call.execution * x.size() + i) >= ratio;
    if (call.wants_output(0)) {
      call.output<T>(0)[i] = !training ? x[i] : kept ? x[i] * scale : T(0);
    }
    if (call.wants_output(1)) call.output<bool>(1)[i] = kept;
  }
  return {};
}

}  // namespace

std::vector<KernelRow> movement_kernels() {
  return {{"", "Reshape", copy, copy},
          {"", "Flatten", copy, copy},
          {"", "Identity", copy, copy},
          {"", "Cast", cast, cast},
          {"", "Transpose", transpose, transpose},
          {"", "Expand", expand, expand},
          {"", "Concat", concatenate, concatenate},
          {"", "Slice", slice, slice},
          {"", "Pad", pad, pad},
          {"", "Gather", gather, gather},
          {"", "Dropout", dropout<float>, dropout<double>},
          {kGradstoneDomain, "GatherGrad", gather_grad<float>, gather_grad<double>},
          {kGradstoneDomain, "Fill", fill_with_value, fill_with_value},
          {"", "Squeeze", copy, copy},
          {"", "Unsqueeze", copy, copy}};
}

}  // namespace gradstone::kernels
