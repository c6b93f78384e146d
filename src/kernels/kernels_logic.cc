// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic of truth values, and Where.
#include <cmath>
#include <functional>

#include "kernels/elementwise.h"

namespace gradstone::kernels {
namespace {

template <class Compare>
Status compare(const KernelCall& call) {
  return with_number_type(call.inputs[0].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    return binary<T, T, bool>(call, [](T a, T b) { return Compare()(a, b); });
  });
}

template <class Combine>
Status combine(const KernelCall& call) {
  return binary<bool>(call, [](bool a, bool b) { return Combine()(a, b); });
}

Status equal(const KernelCall& call) {
  if (call.inputs[0].type.dtype == DType::kBool) return combine<std::equal_to<>>(call);
  return compare<std::equal_to<>>(call);
}

Status negate_truth(const KernelCall& call) {
  return unary<bool>(call, [](bool x) { return !x; });
}

template <class T>
Status is_infinite(const KernelCall& call) {
  const bool below = attribute_or(call.node, "detect_negative", std::int64_t{1}) != 0;
  const bool above = attribute_or(call.node, "detect_positive", std::int64_t{1}) != 0;
  return unary<T, bool>(call, [&](T x) { return std::isinf(x) && (x < 0 ? below : above); });
}

template <class T>
Status is_no_number(const KernelCall& call) {
  return unary<T, bool>(call, [](T x) { return std::isnan(x); });
}

// Moves elements as words of their size.
template <class Word>
void choose(const KernelCall& call) {
  const Shape& shape = call.output_shape(0);
  const bool* condition = call.input<bool>(0).data();
  const auto* a = reinterpret_cast<const Word*>(call.inputs[1].data);
  const auto* b = reinterpret_cast<const Word*>(call.inputs[2].data);
  auto* y = reinterpret_cast<Word*>(call.outputs[0].data);
  for_each_run<4>(shape,
                  {row_major_strides(shape), broadcast_strides(call.input_shape(0), shape),
                   broadcast_strides(call.input_shape(1), shape),
                   broadcast_strides(call.input_shape(2), shape)},
                  [&](const Run<4>& run) {
                    for (std::int64_t i = 0; i < run.count; ++i) {
                      const auto at = [&](std::size_t n) {
                        return run.offset[n] + i * run.stride[n];
                      };
                      y[at(0)] = condition[at(1)] ? a[at(2)] : b[at(3)];
                    }
                  });
}

Status where(const KernelCall& call) {
  switch (size_of(call.outputs[0].type.dtype)) {
    case 1:
      choose<std::uint8_t>(call);
      break;
    case 4:
      choose<std::uint32_t>(call);
      break;
    default:
      choose<std::uint64_t>(call);
  }
  return {};
}

}  // namespace

std::vector<KernelRow> logic_kernels() {
  return {{"", "Equal", equal, equal},
          {"", "Greater", compare<std::greater<>>, compare<std::greater<>>},
          {"", "GreaterOrEqual", compare<std::greater_equal<>>, compare<std::greater_equal<>>},
          {"", "Less", compare<std::less<>>, compare<std::less<>>},
          {"", "LessOrEqual", compare<std::less_equal<>>, compare<std::less_equal<>>},
          {"", "IsInf", is_infinite<float>, is_infinite<double>},
          {"", "IsNaN", is_no_number<float>, is_no_number<double>},
          {"", "And", combine<std::logical_and<>>, combine<std::logical_and<>>},
          {"", "Or", combine<std::logical_or<>>, combine<std::logical_or<>>},
          {"", "Xor", combine<std::not_equal_to<>>, combine<std::not_equal_to<>>},
          {"", "Not", negate_truth, negate_truth},
          {"", "Where", where, where}};
}

}  // namespace gradstone::kernels
