// SPDX-License-Identifier: Apache-2.0
#include "graph/element_types.h"
#include "graph/gradients.h"
#include "graph/onnx_dtype.h"
#include "graph/onnx_ops.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using enum AttributeKind;
using Gradient = Status (*)(GradientBuilder&);

// The exponent may have another type; the power has the base's.
OutputTypes infer_power(const NodeContext& context) {
  TRY(expect_elements(context, 0, Elements::kWide, "the base"));
  TRY(expect_elements(context, 1, Elements::kNumbers, "the exponent"));
  const Shape shape = TRY(broadcast_shapes(context.inputs[0]->shape, context.inputs[1]->shape));
  return std::vector<TensorType>{{context.inputs[0]->dtype, shape}};
}

OutputTypes infer_cast(const NodeContext& context) {
  const std::int64_t code = attribute_or(context.node, "to", std::int64_t{0});
  const std::optional<DType> dtype = dtype_from_onnx_code(code);
  if (!dtype) {
    return unsupported("to = " + std::to_string(code) + " is no element type known here");
  }
  return std::vector<TensorType>{{*dtype, context.inputs[0]->shape}};
}

// Whatever the function, one operation an element.
OpDef unary(std::string_view name, Gradient gradient, std::string_view summary) {
  return {.name = name,
          .infer = infer_like_first<Elements::kFloating>,
          .flops = one_per_element,
          .gradient = gradient,
          .summary = summary};
}

OpDef binary(std::string_view name, Gradient gradient, std::string_view summary) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = infer_broadcast<Elements::kNumbers>,
          .flops = one_per_element,
          .gradient = gradient,
          .summary = summary};
}

}  // namespace

std::vector<OpDef> elementwise_rows() {
  std::vector<OpDef> rows = {
      unary("Relu", gradient_of_relu, "max(x, 0)"),
      unary("Tanh", gradient_of_tanh, "Hyperbolic tangent"),
      unary("Sigmoid", gradient_of_sigmoid, "1 / (1 + exp(-x))"),
      unary("Exp", gradient_of_exp, "e to the power x"),
      unary("Log", gradient_of_log, "Natural logarithm"),
      unary("Sqrt", gradient_of_sqrt, "Square root"),
      unary("Reciprocal", gradient_of_reciprocal, "1 / x"),
      unary("Neg", gradient_of_neg, "-x"),
      binary("Add", gradient_of_add, "a + b, broadcast"),
      binary("Sub", gradient_of_sub, "a - b, broadcast"),
      binary("Mul", gradient_of_mul, "a * b, broadcast"),
      binary("Div", gradient_of_div, "a / b, broadcast; integers towards zero"),
      binary("Pow", gradient_of_pow, "a to the power b, broadcast; as a's type"),
      // A change of representation, not arithmetic: no operations.
      {.name = "Cast",
       .attributes = {{"to", kInt, true}},
       .infer = infer_cast,
       .gradient = gradient_of_cast,
       .summary = "Another element type; `to` is ONNX's number of it"},
  };
  for (OpDef& row : rows) {
    if (row.name == "Relu" || row.name == "Neg") row.infer = infer_like_first<Elements::kSigned>;
    if (row.name == "Pow") row.infer = infer_power;
  }
  return rows;
}

}  // namespace gradstone
