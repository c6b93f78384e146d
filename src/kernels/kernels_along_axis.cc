// SPDX-License-Identifier: Apache-2.0
// Operators along one axis: the softmax family, cumulative sums, places of extrema. Sums are taken
// in double.
#include <algorithm>
#include <cmath>

#include "kernels/elementwise.h"
#include "kernels/rows.h"

namespace gradstone::kernels {
namespace {

template <class T>
double row_maximum(std::span<const T> x, const Row& row) {
  double maximum = static_cast<double>(x[row.first]);
  for (std::int64_t i = 1; i < row.extent; ++i) {
    maximum = std::max(maximum, static_cast<double>(x[row.at(i)]));
  }
  return maximum;
}

template <class T>
double exponential_sum(std::span<const T> x, const Row& row, double maximum) {
  double sum = 0;
  for (std::int64_t i = 0; i < row.extent; ++i) {
    sum += std::exp(static_cast<double>(x[row.at(i)]) - maximum);
  }
  return sum;
}

template <class T, class Function>
Status softmax_like(const KernelCall& call, Function function) {
  const std::span<const T> x = call.input<T>(0);
  const std::span<T> y = call.output<T>(0);
  const Shape& shape = call.input_shape(0);
  const std::int64_t axis = attribute_or(call.node, "axis", std::int64_t{-1});
  for_each_row(shape, resolved_axis(axis, shape.size()), [&](const Row& row) {
    const double maximum = row_maximum(x, row);
    const double sum = exponential_sum(x, row, maximum);
    for (std::int64_t i = 0; i < row.extent; ++i) {
      const std::int64_t at = row.at(i);
      y[at] = static_cast<T>(function(static_cast<double>(x[at]) - maximum, sum));
    }
  });
  return {};
}

template <class T>
Status softmax(const KernelCall& call) {
  return softmax_like<T>(call, [](double x, double sum) { return std::exp(x) / sum; });
}

template <class T>
Status log_softmax(const KernelCall& call) {
  return softmax_like<T>(call, [](double x, double sum) { return x - std::log(sum); });
}

// In double, or for integers in one that wraps around.
template <class T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

template <class T>
void cumulate(const KernelCall& call, const Row& row) {
  const bool exclusive = attribute_or(call.node, "exclusive", std::int64_t{0}) != 0;
  const bool reverse = attribute_or(call.node, "reverse", std::int64_t{0}) != 0;
  const std::span<const T> x = call.input<T>(0);
  const std::span<T> y = call.output<T>(0);
  SumOf<T> sum = 0;
  for (std::int64_t i = 0; i < row.extent; ++i) {
    const std::int64_t at = row.at(reverse ? row.extent - 1 - i : i);
    const SumOf<T> before = sum;
    sum += static_cast<SumOf<T>>(x[at]);
    y[at] = static_cast<T>(exclusive ? before : sum);
  }
}

Status cumulative_sum(const KernelCall& call) {
  const Shape& shape = call.input_shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto axis = static_cast<std::int64_t>(element_as_double(call.inputs[1], 0));
  if (axis < -rank || axis >= rank) {
    return failed("axis " + std::to_string(axis) + " is outside a tensor of rank " +
                  std::to_string(rank));
  }
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) -> Status {
    for_each_row(shape, resolved_axis(axis, shape.size()),
                 [&](const Row& row) { cumulate<decltype(zero)>(call, row); });
    return {};
  });
}

// Place in the row of the element that is `better` than all others. The first NaN is best, as in
// NumPy.
template <class T, class Better>
std::int64_t best_place(std::span<const T> x, const Row& row, bool last, Better better) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < row.extent; ++i) {
    const T champion = x[row.at(best)], other = x[row.at(i)];
    if (champion != champion) break;
    if (better(other, champion) || other != other || (last && other == champion)) best = i;
  }
  return best;
}

template <class Better>
Status place(const KernelCall& call, Better better) {
  const Shape& shape = call.input_shape(0);
  const std::int64_t axis = attribute_or(call.node, "axis", std::int64_t{0});
  const bool last = attribute_or(call.node, "select_last_index", std::int64_t{0}) != 0;
  std::int64_t* y = call.output<std::int64_t>(0).data();
  return with_number_type(call.inputs[0].type.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const std::span<const T> x = call.input<T>(0);
    for_each_row(shape, resolved_axis(axis, shape.size()),
                 [&](const Row& row) { *y++ = best_place(x, row, last, better); });
    return {};
  });
}

Status place_of_maximum(const KernelCall& call) {
  return place(call, [](auto a, auto b) { return a > b; });
}

Status place_of_minimum(const KernelCall& call) {
  return place(call, [](auto a, auto b) { return a < b; });
}

}  // namespace

std::vector<KernelRow> along_axis_kernels() {
  return {{"", "Softmax", softmax<float>, softmax<double>},
          {"", "LogSoftmax", log_softmax<float>, log_softmax<double>},
          {"", "CumSum", cumulative_sum, cumulative_sum},
          {"", "ArgMax", place_of_maximum, place_of_maximum},
          {"", "ArgMin", place_of_minimum, place_of_minimum}};
}

}  // namespace gradstone::kernels
