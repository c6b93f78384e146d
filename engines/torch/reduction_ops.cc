// SPDX-License-Identifier: Apache-2.0
// Operators along axes: reductions, softmax, arg max, top k, running sums.
#include "engines/torch/lowering_forms.h"
#include "engines/torch/support.h"
#include "graph/reduction.h"

namespace gradstone::torch_engine {
namespace {

using Axes = at::IntArrayRef;

// Functions of (x, axes, keep the axes).
using Reduce = at::Tensor (*)(const at::Tensor&, Axes, bool);

// A scalar has no axes to name and is reduced all the same.
template <class Function>
Result<Step> reduction(const LoweringContext& context, Function function) {
  const Reduction reduction = TRY(reduction_of(context.rules));
  if (reduction.axes.empty() && rank_of(context) > 0) {
    return unary(context, [](const at::Tensor& x) { return x; });
  }
  const Shape axes(reduction.axes.begin(), reduction.axes.end());
  const bool keep = reduction.keep_dims;
  return unary(context, [=](const at::Tensor& x) { return function(x, axes, keep); });
}

template <Reduce kFunction>
Result<Step> lower_reduction(const LoweringContext& context) {
  return reduction(context, kFunction);
}

// ATen has some for floating types only: integers go through float64 and lose their fraction.
template <Reduce kFunction>
Result<Step> lower_floating_reduction(const LoweringContext& context) {
  if (is_floating(context.input_type(0).dtype)) return reduction(context, kFunction);
  const at::ScalarType type = scalar_type(context.output_types[0].dtype);
  return reduction(context, [=](const at::Tensor& x, Axes axes, bool keep) {
    return kFunction(x.to(at::kDouble), axes, keep).to(type);
  });
}

at::Tensor sum(const at::Tensor& x, Axes axes, bool keep) {
  return at::sum(x, axes, keep, x.scalar_type());
}
at::Tensor mean(const at::Tensor& x, Axes axes, bool keep) { return at::mean(x, axes, keep); }
at::Tensor l1(const at::Tensor& x, Axes axes, bool keep) { return sum(x.abs(), axes, keep); }
at::Tensor l2(const at::Tensor& x, Axes axes, bool keep) { return at::norm(x, 2, axes, keep); }
at::Tensor sum_square(const at::Tensor& x, Axes axes, bool keep) { return sum(x * x, axes, keep); }
at::Tensor log_sum(const at::Tensor& x, Axes axes, bool keep) {
  return at::log(sum(x, axes, keep));
}
at::Tensor log_sum_exp(const at::Tensor& x, Axes axes, bool keep) {
  return at::logsumexp(x, axes, keep);
}
// ATen multiplies along one axis at a time. The axes ascend.
at::Tensor product(const at::Tensor& x, Axes axes, bool keep) {
  at::Tensor result = x;
  for (std::size_t i = axes.size(); i-- > 0;) {
    result = at::prod(result, axes[i], keep, x.scalar_type());
  }
  return result;
}

Result<Step> lower_softmax(const LoweringContext& context) {
  const std::int64_t axis = attribute_or(context.node(), "axis", std::int64_t{-1});
  return unary(context, [=](const at::Tensor& x) { return at::softmax(x, axis); });
}
Result<Step> lower_log_softmax(const LoweringContext& context) {
  const std::int64_t axis = attribute_or(context.node(), "axis", std::int64_t{-1});
  return unary(context, [=](const at::Tensor& x) { return at::log_softmax(x, axis); });
}

// ATen names the first of equal elements. The last is the first of the reversed axis.
template <bool kLargest>
Result<Step> lower_arg_extremum(const LoweringContext& context) {
  const std::int64_t axis = axis_of(context.node(), 0, rank_of(context));
  const bool keep = has_flag(context.node(), "keepdims", true);
  const bool last = has_flag(context.node(), "select_last_index");
  const auto find = [=](const at::Tensor& x) {
    return kLargest ? at::argmax(x, axis, keep) : at::argmin(x, axis, keep);
  };
  if (!last) return unary(context, find);
  const std::int64_t end = context.input_shape(0)[static_cast<std::size_t>(axis)] - 1;
  return unary(context, [=](const at::Tensor& x) { return end - find(x.flip(axis)); });
}

// By a stable sort, which keeps equal elements in order; at::topk does not.
Result<Step> lower_top_k(const LoweringContext& context) {
  const std::int64_t axis = axis_of(context.node(), -1, rank_of(context));
  const std::int64_t count = context.output_shape()[static_cast<std::size_t>(axis)];
  const bool largest = has_flag(context.node(), "largest", true);
  const Slot x = context.input(0), values = context.output(0), places = context.output(1);
  return Step([=](at::Tensor* v) {
    const auto sorted = at::sort(v[x], /*stable=*/true, axis, largest);
    if (values != kAbsent) v[values] = std::get<0>(sorted).narrow(axis, 0, count);
    if (places != kAbsent) v[places] = std::get<1>(sorted).narrow(axis, 0, count);
  });
}

// Exclusive: of all but the last element, with a zero before the first.
at::Tensor running_sum(at::Tensor x, std::int64_t axis, bool exclusive, bool reverse) {
  if (reverse) x = x.flip(axis);
  if (exclusive) {
    const at::Tensor zero = at::zeros_like(x.narrow(axis, 0, 1));
    x = at::cat({zero, x.narrow(axis, 0, x.size(axis) - 1)}, axis);
  }
  x = at::cumsum(x, axis, x.scalar_type());
  return reverse ? x.flip(axis) : x;
}

// The axis may be data.
Result<Step> lower_cum_sum(const LoweringContext& context) {
  const bool exclusive = has_flag(context.node(), "exclusive");
  const bool reverse = has_flag(context.node(), "reverse");
  return binary(context, [=](const at::Tensor& x, const at::Tensor& axis) {
    return running_sum(x, axis.to(at::kLong).item<std::int64_t>(), exclusive, reverse);
  });
}

}  // namespace

const std::vector<Lowering>& reduction_lowerings() {
  static const std::vector<Lowering> rows = {
      {"ReduceMax", lower_reduction<at::amax>},
      {"ReduceMin", lower_reduction<at::amin>},
      {"ReduceSum", lower_reduction<sum>},
      {"ReduceProd", lower_reduction<product>},
      {"ReduceL1", lower_reduction<l1>},
      {"ReduceSumSquare", lower_reduction<sum_square>},
      {"ReduceMean", lower_floating_reduction<mean>},
      {"ReduceL2", lower_floating_reduction<l2>},
      {"ReduceLogSum", lower_floating_reduction<log_sum>},
      {"ReduceLogSumExp", lower_floating_reduction<log_sum_exp>},
      {"Softmax", lower_softmax},
      {"LogSoftmax", lower_log_softmax},
      {"ArgMax", lower_arg_extremum<true>},
      {"ArgMin", lower_arg_extremum<false>},
      {"TopK", lower_top_k},
      {"CumSum", lower_cum_sum},
  };
  return rows;
}

}  // namespace gradstone::torch_engine
