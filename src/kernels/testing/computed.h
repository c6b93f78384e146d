// SPDX-License-Identifier: Apache-2.0
// One node computed on given tensors, for tests whose numbers are doubles whatever the element type;
// node_value.h keeps the type.
#pragma once

#include <gtest/gtest.h>

#include "kernels/testing/node_value.h"

namespace gradstone::kernels::testing {

using gradstone::testing::Ints;
using Numbers = std::vector<double>;

// A tensor of a shape and dtype with these elements.
inline Tensor tensor(DType dtype, const Shape& shape, const Numbers& values) {
  return converted(Tensor::of<double>(shape, values).ref(), dtype);
}
inline Tensor real(const Shape& shape, const Numbers& values) {
  return Tensor::of<double>(shape, values);
}
inline Tensor integral(const Shape& shape, const Ints& values) {
  return Tensor::of<std::int64_t>(shape, values);
}
inline Tensor list(const Ints& values) { return gradstone::testing::list(values); }

inline Numbers numbers(const Tensor& tensor) {
  Numbers values;
  for (std::int64_t i = 0; i < tensor.type().elements(); ++i) {
    values.push_back(element_as_double(tensor.ref(), i));
  }
  return values;
}

// All outputs; an input without elements' type (monostate) is absent. Fails the test on an error.
inline std::vector<Tensor> outputs_of(const std::string& op,
                                      const std::vector<gradstone::testing::TestInput>& inputs,
                                      Attributes attributes = {}, std::size_t outputs = 1) {
  auto values = node_values(op, inputs, std::move(attributes), outputs);
  if (!values.ok()) {
    ADD_FAILURE() << values.error().message;
    return std::vector<Tensor>(outputs);
  }
  return std::move(values).value();
}

// The elements of the first output.
inline Numbers computed(const std::string& op,
                        const std::vector<gradstone::testing::TestInput>& inputs,
                        Attributes attributes = {}) {
  return numbers(outputs_of(op, inputs, std::move(attributes))[0]);
}

}  // namespace gradstone::kernels::testing
