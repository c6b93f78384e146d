// SPDX-License-Identifier: Apache-2.0
// The value of one node with constant inputs, for tests of kernels. Not for programs.
#pragma once

#include <string>
#include <vector>

#include "graph/one_node.h"
#include "kernels/evaluate.h"

namespace gradstone::kernels::testing {

using gradstone::testing::Attributes;

template <class T>
Tensor tensor_of(Shape shape, const std::vector<T>& values) {
  Tensor tensor({DTypeOf<T>::value, std::move(shape)});
  CHECK(tensor.type().elements() == static_cast<std::int64_t>(values.size()), "another count");
  for (std::size_t i = 0; i < values.size(); ++i) tensor.as<T>()[i] = values[i];
  return tensor;
}

template <class T>
Tensor vector_of(const std::vector<T>& values) {
  return tensor_of<T>({static_cast<std::int64_t>(values.size())}, values);
}

// All outputs of a node. An input without a type (monostate) is absent.
inline Result<std::vector<Tensor>> node_values(
    std::string op, const std::vector<gradstone::testing::TestInput>& inputs,
    Attributes attributes = {}, std::size_t outputs = 1) {
  return evaluate(
      gradstone::testing::one_node(std::move(op), inputs, std::move(attributes), outputs), {});
}

// Elements of the first output, of type T.
template <class T>
std::vector<T> node_value(std::string op, const std::vector<gradstone::testing::TestInput>& inputs,
                          Attributes attributes = {}) {
  const std::vector<Tensor> outputs =
      node_values(std::move(op), inputs, std::move(attributes)).value();
  const std::span<const T> elements = outputs[0].as<T>();
  return {elements.begin(), elements.end()};
}

}  // namespace gradstone::kernels::testing
