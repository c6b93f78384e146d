// SPDX-License-Identifier: Apache-2.0
// Elements read from, and written to, places that other tensors name; the largest of a row.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "kernels/copying.h"
#include "kernels/element_type.h"

namespace gradstone::kernels {
namespace {

using Integers = std::vector<std::int64_t>;

// Slices of `data` that the last axis of `indices` names, behind `batch_dims` axes.
struct Slices {
  std::int64_t elements = 1;  // of one slice
  Integers offsets;           // of each, in the data
};

Result<Slices> slices_of(const TensorRef& indices, const Shape& data, std::int64_t batch_dims) {
  const auto batch_axes = static_cast<std::size_t>(batch_dims);
  const auto depth = static_cast<std::size_t>(indices.type.shape.back());
  const Strides strides = row_major_strides(data);
  Slices slices;
  for (std::size_t i = batch_axes + depth; i < data.size(); ++i) slices.elements *= data[i];
  const std::int64_t batches =
      element_count(Shape(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(batch_axes)));
  const std::int64_t batch_stride = element_count(data) / batches;
  const std::span<const std::int64_t> numbers = indices.as<std::int64_t>();
  const std::size_t places = numbers.size() / depth;
  const std::size_t places_a_batch = places / static_cast<std::size_t>(batches);
  for (std::size_t place = 0; place < places; ++place) {
    std::int64_t offset = static_cast<std::int64_t>(place / places_a_batch) * batch_stride;
    for (std::size_t i = 0; i < depth; ++i) {
      const std::size_t axis = batch_axes + i;
      offset += TRY(resolved_index(numbers[place * depth + i], data[axis])) * strides[axis];
    }
    slices.offsets.push_back(offset);
  }
  return slices;
}

Status gather_nd(const KernelCall& call) {
  const std::int64_t batch_dims = attribute_or(call.node, "batch_dims", std::int64_t{0});
  const Slices slices = TRY(slices_of(call.inputs[1], call.input_shape(0), batch_dims));
  const std::size_t element = size_of(call.outputs[0].type.dtype);
  const std::size_t bytes = static_cast<std::size_t>(slices.elements) * element;
  std::byte* out = call.outputs[0].data;
  for (const std::int64_t offset : slices.offsets) {
    std::memcpy(out, call.inputs[0].data + static_cast<std::size_t>(offset) * element, bytes);
    out += bytes;
  }
  return {};
}

// Sums and products of integers wrap around: they are taken without a sign.
template <class T>
T combined(T a, T b, bool sum) {
  if constexpr (std::is_floating_point_v<T>) {
    return sum ? a + b : a * b;
  } else {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return static_cast<T>(sum ? x + y : x * y);
  }
}

// The data, then visit(combine, out, updates), where combine(target, update) does the reduction.
template <class Visit>
void scatter(const KernelCall& call, Visit visit) {
  std::memcpy(call.outputs[0].data, call.inputs[0].data, call.outputs[0].type.bytes());
  const std::string reduction = attribute_or(call.node, "reduction", std::string_view("none"));
  with_element_type(call.outputs[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = call.output<T>(0).data();
    const T* updates = call.input<T>(2).data();
    if (reduction == "none") {
      visit([](T& target, T update) { target = update; }, out, updates);
    } else {
      const bool sum = reduction == "add";
      visit([sum](T& target, T update) { target = combined(target, update, sum); }, out, updates);
    }
  });
}

Status scatter_nd(const KernelCall& call) {
  const Slices slices = TRY(slices_of(call.inputs[1], call.input_shape(0), 0));
  scatter(call, [&](auto combine, auto* out, const auto* updates) {
    for (const std::int64_t offset : slices.offsets) {
      for (std::int64_t i = 0; i < slices.elements; ++i) combine(out[offset + i], *updates++);
    }
  });
  return {};
}

// The offset in the data of each index: its own place, but along the axis the index.
Result<Integers> element_offsets(const KernelCall& call) {
  const Shape& data = call.input_shape(0);
  const Shape& shape = call.input_shape(1);
  const std::size_t axis =
      resolved_axis(attribute_or(call.node, "axis", std::int64_t{0}), data.size());
  Integers offsets = integers_of(call.inputs[1]);
  Strides strides = row_major_strides(data);
  const std::int64_t along = strides[axis];
  for (std::int64_t& offset : offsets) offset = TRY(resolved_index(offset, data[axis])) * along;
  strides[axis] = 0;
  for_each_run<2>(shape, {row_major_strides(shape), strides}, [&](const Run<2>& run) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      offsets[static_cast<std::size_t>(run.offset[0] + i * run.stride[0])] +=
          run.offset[1] + i * run.stride[1];
    }
  });
  return offsets;
}

Status gather_elements(const KernelCall& call) {
  const Integers offsets = TRY(element_offsets(call));
  with_word(call.outputs[0].type.dtype, [&](auto word) {
    auto* out = reinterpret_cast<decltype(word)*>(call.outputs[0].data);
    const auto* in = reinterpret_cast<const decltype(word)*>(call.inputs[0].data);
    for (const std::int64_t offset : offsets) *out++ = in[offset];
  });
  return {};
}

Status scatter_elements(const KernelCall& call) {
  const Integers offsets = TRY(element_offsets(call));
  scatter(call, [&](auto combine, auto* out, const auto* updates) {
    for (const std::int64_t offset : offsets) combine(out[offset], *updates++);
  });
  return {};
}

// A row of elements along one axis of a shape: how many rows, and how their elements lie.
struct Rows {
  std::int64_t outer = 1, extent = 1, inner = 1;
};

Rows rows_along(const Shape& shape, std::size_t axis) {
  Rows rows;
  for (std::size_t i = 0; i < axis; ++i) rows.outer *= shape[i];
  rows.extent = shape[axis];
  for (std::size_t i = axis + 1; i < shape.size(); ++i) rows.inner *= shape[i];
  return rows;
}

// An index outside [-depth, depth) leaves its row off.
Status one_hot(const KernelCall& call) {
  const Shape& to = call.output_shape(0);
  const std::size_t axis =
      resolved_axis(attribute_or(call.node, "axis", std::int64_t{-1}), to.size());
  const Rows rows = rows_along(to, axis);
  const Integers indices = integers_of(call.inputs[0]);
  with_word(call.outputs[0].type.dtype, [&](auto word) {
    using Word = decltype(word);
    const auto* values = reinterpret_cast<const Word*>(call.inputs[2].data);
    auto* out = reinterpret_cast<Word*>(call.outputs[0].data);
    std::fill_n(out, element_count(to), values[0]);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Result<std::int64_t> place = resolved_index(indices[i], rows.extent);
      if (!place.ok()) continue;
      const auto row = static_cast<std::int64_t>(i);
      out[(row / rows.inner * rows.extent + *place) * rows.inner + row % rows.inner] = values[1];
    }
  });
  return {};
}

// NaN counts as larger than any number. Of equal elements the first comes first.
template <class T>
bool comes_first(T a, T b, bool largest) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return largest ? !std::isnan(b) : !std::isnan(a);
  }
  return largest ? a > b : a < b;
}

template <class T>
void top_k_of_row(const KernelCall& call, const Rows& rows, std::int64_t from, std::int64_t to,
                  Integers& order) {
  const bool largest = attribute_or(call.node, "largest", std::int64_t{1}) != 0;
  const std::int64_t k = element_count(call.output_shape(0)) / (rows.outer * rows.inner);
  const T* x = call.input<T>(0).data() + from;
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + k, order.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      const T left = x[a * rows.inner], right = x[b * rows.inner];
                      if (comes_first(left, right, largest)) return true;
                      if (comes_first(right, left, largest)) return false;
                      return a < b;
                    });
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int64_t place = order[static_cast<std::size_t>(i)];
    const auto target = static_cast<std::size_t>(to + i * rows.inner);
    if (call.wants_output(0)) call.output<T>(0)[target] = x[place * rows.inner];
    if (call.wants_output(1)) call.output<std::int64_t>(1)[target] = place;
  }
}

Status top_k(const KernelCall& call) {
  const Shape& shape = call.input_shape(0);
  const std::size_t axis =
      resolved_axis(attribute_or(call.node, "axis", std::int64_t{-1}), shape.size());
  const Rows rows = rows_along(shape, axis);
  const std::int64_t k = call.output_shape(0)[axis];
  Integers order(static_cast<std::size_t>(rows.extent));
  with_element_type(call.inputs[0].type.dtype, [&](auto zero) {
    for (std::int64_t row = 0; row < rows.outer * rows.inner; ++row) {
      const std::int64_t block = row / rows.inner, column = row % rows.inner;
      top_k_of_row<decltype(zero)>(call, rows, block * rows.extent * rows.inner + column,
                                   block * k * rows.inner + column, order);
    }
  });
  return {};
}

}  // namespace

std::vector<KernelRow> indexing_kernels() {
  return {{"", "GatherND", gather_nd, gather_nd},
          {"", "GatherElements", gather_elements, gather_elements},
          {"", "ScatterND", scatter_nd, scatter_nd},
          {"", "ScatterElements", scatter_elements, scatter_elements},
          {"", "OneHot", one_hot, one_hot},
          {"", "TopK", top_k, top_k}};
}

}  // namespace gradstone::kernels
