// SPDX-License-Identifier: Apache-2.0
// Whether a tensor is what was expected: exactly for integers, within a tolerance for floating
// numbers. Says how far it is off and where.
#pragma once

#include <optional>
#include <string>

#include "graph/tensor.h"

namespace gradstone {

// An element may differ from the expected e by relative * |e| + absolute * s, where s is the largest
// finite |e| of the tensor, at least 1e-30: sums of terms that cancel are wrong relative to the
// terms, not to themselves.
struct Tolerance {
  double relative = 0, absolute = 0;
};

// For values that ONNX's data sets hold. Its own test tool takes 1e-3 and 1e-7; kernels that only
// differ in the order of sums stay far below that.
Tolerance data_tolerance(DType dtype);

// Nothing where it is as expected; else "is float32 [2], expected float32 [3]" or "3 of 12 elements
// are off, most at [0, 3]: 1.25, expected 1.5 (off by 0.25, tolerance 1e-05)". NaN is equal to NaN.
std::optional<std::string> difference(const TensorRef& actual, const TensorRef& expected,
                                      const Tolerance& tolerance);

// Largest finite magnitude, at least 1e-30.
double scale_of(const TensorRef& tensor);
// "[0, 3]" of element `index`.
std::string index_text(const Shape& shape, std::int64_t index);

}  // namespace gradstone
