// SPDX-License-Identifier: Apache-2.0
// Reductions over axes. Sums are taken in double (sums.h), those of integers wrap around.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/element_conversion.h"
#include "graph/reduction.h"
#include "kernels/elementwise.h"
#include "kernels/sums.h"

namespace gradstone::kernels {
namespace {

// The shape of the output with the reduced axes kept, and how many elements each of its own stands
// for.
struct Kept {
  Shape shape;
  std::int64_t count = 1;
};

Result<Kept> kept_of(const KernelCall& call) {
  Kept kept{call.input_shape(0), 1};
  const Reduction reduction = TRY(reduction_of(call.context));
  for (const std::size_t axis : reduction.axes) {
    kept.count *= kept.shape[axis];
    kept.shape[axis] = 1;
  }
  return kept;
}

// Calls fold(folded[k], x) for every element x of the input, k being its place in the output.
template <class T, class Folded, class Fold>
std::vector<Folded> folded(const KernelCall& call, const Kept& kept, Folded start, Fold fold) {
  std::vector<Folded> result(static_cast<std::size_t>(element_count(kept.shape)), start);
  const Shape& from = call.input_shape(0);
  const T* x = call.input<T>(0).data();
  for_each_run<2>(from, {row_major_strides(from), broadcast_strides(kept.shape, from)},
                  [&](const Run<2>& run) {
                    const T* in = x + run.offset[0];
                    Folded* out = result.data() + run.offset[1];
                    for (std::int64_t i = 0; i < run.count; ++i) {
                      fold(out[i * run.stride[1]], in[i * run.stride[0]]);
                    }
                  });
  return result;
}

// finish(sum) of the sum of transform(x), taken in double.
template <class Transform, class Finish>
Status reduce_in_double(const KernelCall& call, Transform transform, Finish finish) {
  const Kept kept = TRY(kept_of(call));
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const std::vector<double> sums = folded<T>(
        call, kept, 0.0, [&](double& sum, T x) { sum += transform(static_cast<double>(x)); });
    const std::span<T> y = call.output<T>(0);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = converted_element<T>(finish(sums[i]));
    return {};
  });
}

// The same for an integral result: sums of integers are exact, or wrap around.
template <class Transform>
Status reduce_sum_of(const KernelCall& call, Transform transform) {
  if (is_floating(call.outputs[0].type.dtype)) {
    return reduce_in_double(call, transform, [](double sum) { return sum; });
  }
  const Kept kept = TRY(kept_of(call));
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    using Sum = std::uint64_t;
    const std::vector<Sum> sums = folded<T>(
        call, kept, Sum{0}, [&](Sum& sum, T x) { sum += transform(static_cast<Sum>(x)); });
    const std::span<T> y = call.output<T>(0);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(sums[i]);
    return {};
  });
}

// Sums and means of floating elements, the frequent ones, go by sums.h.
template <class T>
Status store_sums(const KernelCall& call, const Kept& kept, double divisor) {
  const std::vector<double> sums = sum_to(call.input<T>(0), call.input_shape(0), kept.shape);
  const std::span<T> y = call.output<T>(0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(sums[i] / divisor);
  return {};
}

Status reduce_sum(const KernelCall& call) {
  const Kept kept = TRY(kept_of(call));
  switch (call.outputs[0].type.dtype) {
    case DType::kFloat32:
      return store_sums<float>(call, kept, 1);
    case DType::kFloat64:
      return store_sums<double>(call, kept, 1);
    default:
      return reduce_sum_of(call, [](auto x) { return x; });
  }
}

Status reduce_mean(const KernelCall& call) {
  const Kept kept = TRY(kept_of(call));
  const auto count = static_cast<double>(kept.count);
  switch (call.outputs[0].type.dtype) {
    case DType::kFloat32:
      return store_sums<float>(call, kept, count);
    case DType::kFloat64:
      return store_sums<double>(call, kept, count);
    default:
      return reduce_in_double(
          call, [](double x) { return x; }, [&](double sum) { return sum / count; });
  }
}

Status reduce_l1(const KernelCall& call) {
  return reduce_sum_of(call, [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) return std::abs(x);
    return static_cast<std::int64_t>(x) < 0 ? 0 - x : x;
  });
}

Status reduce_sum_square(const KernelCall& call) {
  return reduce_sum_of(call, [](auto x) { return x * x; });
}

Status reduce_l2(const KernelCall& call) {
  return reduce_in_double(
      call, [](double x) { return x * x; }, [](double sum) { return std::sqrt(sum); });
}

Status reduce_log_sum(const KernelCall& call) {
  return reduce_in_double(
      call, [](double x) { return x; }, [](double sum) { return std::log(sum); });
}

template <class T, class Better>
std::vector<T> extremes(const KernelCall& call, const Kept& kept, T start, Better better) {
  return folded<T>(call, kept, start, [&](T& best, T x) {  // NaN wins
    if (better(x, best) || x != x) best = x;
  });
}

template <class T>
T least() {
  using Limits = std::numeric_limits<T>;
  return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
}

template <class T>
T greatest() {
  using Limits = std::numeric_limits<T>;
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

Status reduce_max(const KernelCall& call) {
  const Kept kept = TRY(kept_of(call));
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const auto best = extremes<T>(call, kept, least<T>(), [](T a, T b) { return a > b; });
    std::copy(best.begin(), best.end(), call.output<T>(0).begin());
    return {};
  });
}

Status reduce_min(const KernelCall& call) {
  const Kept kept = TRY(kept_of(call));
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const auto best = extremes<T>(call, kept, greatest<T>(), [](T a, T b) { return a < b; });
    std::copy(best.begin(), best.end(), call.output<T>(0).begin());
    return {};
  });
}

// Products of floating elements in double, of integers modulo 2^64.
Status reduce_prod(const KernelCall& call) {
  const Kept kept = TRY(kept_of(call));
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    using Product = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
    const auto products = folded<T>(
        call, kept, Product{1}, [](Product& product, T x) { product *= static_cast<Product>(x); });
    const std::span<T> y = call.output<T>(0);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(products[i]);
    return {};
  });
}

// m + log(sum of e^(x - m)) with the maximum m: no exponential overflows. An infinite maximum is
// the result.
Status reduce_log_sum_exp(const KernelCall& call) {
  const Kept kept = TRY(kept_of(call));
  return with_number_type(call.outputs[0].type.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const auto maxima = extremes<T>(call, kept, least<T>(), [](T a, T b) { return a > b; });
    std::vector<double> sums(maxima.size(), 0.0);
    const Shape& from = call.input_shape(0);
    const T* x = call.input<T>(0).data();
    for_each_run<2>(from, {row_major_strides(from), broadcast_strides(kept.shape, from)},
                    [&](const Run<2>& run) {
                      for (std::int64_t i = 0; i < run.count; ++i) {
                        const std::int64_t to = run.offset[1] + i * run.stride[1];
                        const T value = x[run.offset[0] + i * run.stride[0]];
                        sums[to] +=
                            std::exp(static_cast<double>(value) - static_cast<double>(maxima[to]));
                      }
                    });
    const std::span<T> y = call.output<T>(0);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto maximum = static_cast<double>(maxima[i]);
      y[i] = std::isinf(maximum) ? maxima[i] : converted_element<T>(maximum + std::log(sums[i]));
    }
    return {};
  });
}

template <class T>
Status sum_to_shape(const KernelCall& call) {
  return store_sums<T>(call, {call.output_shape(0), 1}, 1);
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

}  // namespace

std::vector<KernelRow> reduction_kernels() {
  return {{"", "ReduceMean", reduce_mean, reduce_mean},
          {"", "ReduceSum", reduce_sum, reduce_sum},
          {"", "ReduceProd", reduce_prod, reduce_prod},
          {"", "ReduceMax", reduce_max, reduce_max},
          {"", "ReduceMin", reduce_min, reduce_min},
          {"", "ReduceL1", reduce_l1, reduce_l1},
          {"", "ReduceL2", reduce_l2, reduce_l2},
          {"", "ReduceSumSquare", reduce_sum_square, reduce_sum_square},
          {"", "ReduceLogSum", reduce_log_sum, reduce_log_sum},
          {"", "ReduceLogSumExp", reduce_log_sum_exp, reduce_log_sum_exp},
          {"", "GlobalAveragePool", global_average_pool<float>, global_average_pool<double>},
          {kGradstoneDomain, "SumTo", sum_to_shape<float>, sum_to_shape<double>}};
}

}  // namespace gradstone::kernels
