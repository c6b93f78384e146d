// SPDX-License-Identifier: Apache-2.0
// Which element types an operator takes, and the shape rules of operators that work on each element
// by itself. Not for operators with a geometry: see shape_rules.h.
#pragma once

#include <string_view>

#include "graph/shape_rules.h"

namespace gradstone {

// ONNX's type constraints, as far as DType has the types.
enum class Elements {
  kFloating,  // float32, float64
  kWide,      // those, int32 and int64: most reductions, Pow, PRelu
  kSigned,    // those and int8: Relu, Neg
  kNumbers,   // those and uint8
  kBool,
  kAny,
};

// An error unless input `input` has one of the types. `what` names it in the message. Absent inputs
// pass.
Status expect_elements(const NodeContext& context, std::size_t input, Elements elements,
                       std::string_view what);

// The inputs `first`, ... have one type, and broadcast against each other and `shape`.
Result<TensorType> broadcast_inputs(const NodeContext& context, std::size_t first,
                                    Elements elements, Shape shape = {});

// One input; the output is like it.
template <Elements kElements>
OutputTypes infer_like_first(const NodeContext& context) {
  TRY(expect_elements(context, 0, kElements, "the input"));
  return std::vector<TensorType>{*context.inputs[0]};
}

// Any number of inputs of one type, which broadcast.
template <Elements kElements>
OutputTypes infer_broadcast(const NodeContext& context) {
  return std::vector<TensorType>{TRY(broadcast_inputs(context, 0, kElements))};
}

// The same with a truth value as output.
template <Elements kElements>
OutputTypes infer_comparison(const NodeContext& context) {
  TensorType type = TRY(broadcast_inputs(context, 0, kElements));
  type.dtype = DType::kBool;
  return std::vector<TensorType>{type};
}

}  // namespace gradstone
