// SPDX-License-Identifier: Apache-2.0
// Einsum by its definition: for each element of the output the sum, over the axes that the output
// leaves out, of the product of the operands.
#include <type_traits>

#include "graph/einsum.h"
#include "kernels/element_type.h"
#include "kernels/kernel.h"
#include "kernels/strided.h"

namespace gradstone::kernels {
namespace {

// An index over all axes, those of the output first, and the offset in each operand that it means.
class Walk {
 public:
  Walk(const EinsumEquation& equation, const KernelCall& call) : offsets_(call.inputs.size(), 0) {
    std::vector<std::size_t> labels = equation.output;
    labels.insert(labels.end(), equation.summed.begin(), equation.summed.end());
    for (const std::size_t label : labels) {
      Axis axis{equation.extents[label], 0, std::vector<std::int64_t>(call.inputs.size(), 0)};
      for (std::size_t n = 0; n < call.inputs.size(); ++n) {
        const Strides strides = row_major_strides(call.input_shape(n));
        for (std::size_t i = 0; i < strides.size(); ++i) {  // a diagonal adds strides
          const bool repeated = call.input_shape(n)[i] == 1;
          if (equation.operands[n][i] == label && !repeated) axis.strides[n] += strides[i];
        }
      }
      axes_.push_back(std::move(axis));
    }
  }

  std::int64_t offset(std::size_t operand) const { return offsets_[operand]; }

  void advance() {
    for (std::size_t i = axes_.size(); i-- > 0;) {
      Axis& axis = axes_[i];
      const bool wraps = ++axis.index == axis.extent;
      const std::int64_t steps = wraps ? 1 - axis.extent : 1;
      for (std::size_t n = 0; n < offsets_.size(); ++n) offsets_[n] += steps * axis.strides[n];
      if (!wraps) return;
      axis.index = 0;
    }
  }

 private:
  struct Axis {
    std::int64_t extent = 1, index = 0;
    std::vector<std::int64_t> strides;
  };
  std::vector<Axis> axes_;
  std::vector<std::int64_t> offsets_;
};

// Integers wrap around: they are computed without a sign.
template <class T>
Status einsum_of_type(const KernelCall& call) {
  using Number = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
  const EinsumEquation equation = TRY(einsum_of(call.context));
  Walk walk(equation, call);
  std::vector<const T*> operands;
  for (std::size_t n = 0; n < call.inputs.size(); ++n) operands.push_back(call.input<T>(n).data());
  std::int64_t terms = 1;
  for (const std::size_t label : equation.summed) terms *= equation.extents[label];
  for (T& y : call.output<T>(0)) {
    Number sum = 0;
    for (std::int64_t term = 0; term < terms; ++term) {
      Number product = 1;
      for (std::size_t n = 0; n < operands.size(); ++n) {
        product *= static_cast<Number>(operands[n][walk.offset(n)]);
      }
      sum += product;
      walk.advance();
    }
    y = static_cast<T>(sum);
  }
  return {};
}

Status einsum(const KernelCall& call) {
  return with_element_type(call.outputs[0].type.dtype,
                           [&](auto zero) { return einsum_of_type<decltype(zero)>(call); });
}

}  // namespace

std::vector<KernelRow> einsum_kernels() { return {{"", "Einsum", einsum, einsum}}; }

}  // namespace gradstone::kernels
