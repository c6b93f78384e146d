// SPDX-License-Identifier: Apache-2.0
// From an element type known at run time to one the compiler knows.
#pragma once

#include "graph/dtype.h"

namespace gradstone::kernels {

// Returns visit(zero) with a zero of the element type.
template <class Visit>
auto with_element_type(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kFloat32:
      return visit(float{});
    case DType::kFloat64:
      return visit(double{});
    case DType::kInt8:
      return visit(std::int8_t{});
    case DType::kInt32:
      return visit(std::int32_t{});
    case DType::kInt64:
      return visit(std::int64_t{});
    case DType::kUInt8:
      return visit(std::uint8_t{});
    case DType::kBool:
      break;
  }
  return visit(bool{});
}

}  // namespace gradstone::kernels
