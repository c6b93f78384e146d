// SPDX-License-Identifier: Apache-2.0
// Sums and means over axes, and the softmax family. Sums are taken in double (sums.h).
#include <algorithm>
#include <cmath>

#include "graph/reduction.h"
#include "kernels/kernel.h"
#include "kernels/sums.h"

namespace gradstone::kernels {
namespace {

template <class T>
void store(std::span<const double> values, double divisor, std::span<T> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(values[i] / divisor);
}

template <class T>
Status reduce(const KernelCall& call, bool mean) {
  const Shape& from = call.input_shape(0);
  Shape to = from;
  std::int64_t count = 1;
  const Reduction reduction = TRY(reduction_of(call.context));
  for (const std::size_t axis : reduction.axes) {
    count *= to[axis];
    to[axis] = 1;
  }
  const std::vector<double> sums = sum_to(call.input<T>(0), from, to);
  store<T>(sums, mean ? static_cast<double>(count) : 1.0, call.output<T>(0));
  return {};
}

template <class T>
Status reduce_mean(const KernelCall& call) {
  return reduce<T>(call, true);
}

template <class T>
Status reduce_sum(const KernelCall& call) {
  return reduce<T>(call, false);
}

template <class T>
Status sum_to_shape(const KernelCall& call) {
  const std::vector<double> sums =
      sum_to(call.input<T>(0), call.input_shape(0), call.output_shape(0));
  store<T>(sums, 1.0, call.output<T>(0));
  return {};
}

template <class T>
Status global_average_pool(const KernelCall& call) {
  const std::span<const T> x = call.input<T>(0);
  const std::span<T> y = call.output<T>(0);
  const std::size_t area = y.empty() ? 0 : x.size() / y.size();
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = static_cast<T>(sum_of(x.subspan(i * area, area)) / static_cast<double>(area));
  }
  return {};
}

// A row of the softmax: elements `stride` apart.
struct Row {
  std::int64_t first = 0, stride = 1, extent = 1;
};

template <class Visit>
void for_each_row(const Shape& shape, std::size_t axis, Visit visit) {
  const std::int64_t extent = shape[axis];
  std::int64_t stride = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) stride *= shape[i];
  const std::int64_t elements = element_count(shape);
  if (elements == 0) return;
  for (std::int64_t outer = 0; outer < elements; outer += extent * stride) {
    for (std::int64_t inner = 0; inner < stride; ++inner) visit(Row{outer + inner, stride, extent});
  }
}

template <class T>
double row_maximum(std::span<const T> x, const Row& row) {
  double maximum = static_cast<double>(x[row.first]);
  for (std::int64_t i = 1; i < row.extent; ++i) {
    maximum = std::max(maximum, static_cast<double>(x[row.first + i * row.stride]));
  }
  return maximum;
}

template <class T>
double exponential_sum(std::span<const T> x, const Row& row, double maximum) {
  double sum = 0;
  for (std::int64_t i = 0; i < row.extent; ++i) {
    sum += std::exp(static_cast<double>(x[row.first + i * row.stride]) - maximum);
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
      const std::int64_t at = row.first + i * row.stride;
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

}  // namespace

std::vector<KernelRow> reduction_kernels() {
  return {{"", "ReduceMean", reduce_mean<float>, reduce_mean<double>},
          {"", "ReduceSum", reduce_sum<float>, reduce_sum<double>},
          {"", "GlobalAveragePool", global_average_pool<float>, global_average_pool<double>},
          {"", "Softmax", softmax<float>, softmax<double>},
          {"", "LogSoftmax", log_softmax<float>, log_softmax<double>},
          {kGradstoneDomain, "SumTo", sum_to_shape<float>, sum_to_shape<double>}};
}

}  // namespace gradstone::kernels
