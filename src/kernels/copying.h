// SPDX-License-Identifier: Apache-2.0
// Elements moved whatever their type is: as words of their size, from one strided view to another.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/kernel.h"
#include "kernels/strided.h"

namespace gradstone::kernels {

// Calls visit(word) with an unsigned integer as large as one element of `dtype`.
template <class Visit>
void with_word(DType dtype, Visit visit) {
  switch (size_of(dtype)) {
    case 1:
      return visit(std::uint8_t{});
    case 4:
      return visit(std::uint32_t{});
    default:
      return visit(std::uint64_t{});
  }
}

// A strided view of the elements of an input or output.
struct View {
  std::int64_t offset = 0;
  Strides strides;
};

// Output element (i) of the view `to` takes input element (i) of the view `from`, for all indices
// within `extents`. Both have the same type of element.
inline void copy_strided(const TensorSink& output, const View& to, const TensorRef& input,
                         const View& from, const Shape& extents) {
  with_word(output.type.dtype, [&](auto word) {
    using Word = decltype(word);
    auto* out = reinterpret_cast<Word*>(output.data) + to.offset;
    const auto* in = reinterpret_cast<const Word*>(input.data) + from.offset;
    for_each_run<2>(extents, {to.strides, from.strides}, [&](const Run<2>& run) {
      Word* target = out + run.offset[0];
      const Word* source = in + run.offset[1];
      for (std::int64_t i = 0; i < run.count; ++i) {
        target[i * run.stride[0]] = source[i * run.stride[1]];
      }
    });
  });
}

// Every element of the output becomes `value`.
inline void fill(const TensorSink& output, double value) {
  const Tensor element = converted(Tensor::scalar(value).ref(), output.type.dtype);
  with_word(output.type.dtype, [&](auto word) {
    std::memcpy(&word, element.data(), sizeof word);
    std::fill_n(reinterpret_cast<decltype(word)*>(output.data), output.type.elements(), word);
  });
}

// Integers of either type as int64.
inline std::vector<std::int64_t> integers_of(const TensorRef& input) {
  const Tensor values = converted(input, DType::kInt64);
  const auto span = values.as<std::int64_t>();
  return {span.begin(), span.end()};
}

// An index into an axis of `extent`, counted from the end if negative.
inline Result<std::int64_t> resolved_index(std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent) {
    return failed("index " + std::to_string(index) + " is outside an axis of " +
                  std::to_string(extent));
  }
  return index < 0 ? index + extent : index;
}

}  // namespace gradstone::kernels
