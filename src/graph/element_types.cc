// SPDX-License-Identifier: Apache-2.0
#include "graph/element_types.h"

#include <array>

namespace gradstone {
namespace {

// In the order of Elements.
constexpr std::array<std::string_view, 6> kNeeds = {
    "float32 or float64",
    "float32, float64, int32 or int64",
    "float32, float64, int8, int32 or int64",
    "numbers",
    "bool",
    "anything",
};

bool contains(Elements elements, DType dtype) {
  const bool wide = is_floating(dtype) || dtype == DType::kInt32 || dtype == DType::kInt64;
  switch (elements) {
    case Elements::kFloating:
      return is_floating(dtype);
    case Elements::kWide:
      return wide;
    case Elements::kSigned:
      return wide || dtype == DType::kInt8;
    case Elements::kNumbers:
      return dtype != DType::kBool;
    case Elements::kBool:
      return dtype == DType::kBool;
    case Elements::kAny:
      break;
  }
  return true;
}

std::string input_name(std::size_t index) {
  return index == 1 ? "the second input" : "input " + std::to_string(index);
}

}  // namespace

Status expect_elements(const NodeContext& context, std::size_t input, Elements elements,
                       std::string_view what) {
  const TensorType* type = context.inputs[input];
  if (type == nullptr || contains(elements, type->dtype)) return {};
  return unreadable(std::string(what) + " is " + std::string(name_of(type->dtype)) +
                    "; the operator needs " +
                    std::string(kNeeds[static_cast<std::size_t>(elements)]));
}

Result<TensorType> broadcast_inputs(const NodeContext& context, std::size_t first,
                                    Elements elements, Shape shape) {
  TRY(expect_elements(context, first, elements, "the input"));
  const DType dtype = context.inputs[first]->dtype;
  for (std::size_t i = first; i < context.inputs.size(); ++i) {
    if (context.inputs[i]->dtype != dtype) {
      return unreadable(input_name(i) + " is " + std::string(name_of(context.inputs[i]->dtype)) +
                        ", " + (first == 0 ? "the first input" : input_name(first)) + " is " +
                        std::string(name_of(dtype)));
    }
    shape = TRY(broadcast_shapes(shape, context.inputs[i]->shape));
  }
  return TensorType{dtype, std::move(shape)};
}

}  // namespace gradstone
