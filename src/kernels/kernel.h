// SPDX-License-Identifier: Apache-2.0
// What a kernel of the reference engine is: a plain function that computes all outputs of one node.
// To add an operator, write its kernel and add one row to the list at the end of a kernels_*.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/op_table.h"

namespace gradstone::kernels {

// One execution of one node. Shapes are those that check_graph inferred; buffers are dense,
// row-major and never overlap. Outputs hold rubbish at first.
struct KernelCall {
  const Node& node;
  const NodeContext& context;           // the same node as shape rules see it
  std::span<const TensorRef> inputs;    // data == nullptr: absent optional
  std::span<const TensorSink> outputs;  // data == nullptr: not wanted
  std::uint64_t seed = 0;               // of masks drawn by Dropout
  std::uint64_t execution = 0;          // how often this program ran before

  bool has_input(std::size_t i) const { return i < inputs.size() && inputs[i].data != nullptr; }
  bool wants_output(std::size_t i) const {
    return i < outputs.size() && outputs[i].data != nullptr;
  }
  const Shape& input_shape(std::size_t i) const { return inputs[i].type.shape; }
  const Shape& output_shape(std::size_t i) const { return outputs[i].type.shape; }
  template <class T>
  std::span<const T> input(std::size_t i) const {
    return inputs[i].as<T>();
  }
  template <class T>
  std::span<T> output(std::size_t i) const {
    const TensorSink& sink = outputs[i];
    CHECK(sink.type.dtype == DTypeOf<T>::value, "output written as another dtype");
    return {reinterpret_cast<T*>(sink.data), static_cast<std::size_t>(sink.type.elements())};
  }
};

// Errors come from data alone (an index out of range); the caller adds the node's name.
using Kernel = Status (*)(const KernelCall&);

// `float64` runs where any input or output is float64, `float32` everywhere else. Kernels that only
// move bytes are the same function twice.
struct KernelRow {
  std::string_view domain;
  std::string_view op;
  Kernel float32 = nullptr;
  Kernel float64 = nullptr;
};

// nullptr if there is no such row.
const KernelRow* find_kernel(std::string_view domain, std::string_view op);

// The parts of the table, one for each kernels_*.cc.
std::vector<KernelRow> elementwise_kernels();
std::vector<KernelRow> activation_kernels();
std::vector<KernelRow> math_kernels();
std::vector<KernelRow> logic_kernels();
std::vector<KernelRow> matrix_kernels();
std::vector<KernelRow> convolution_kernels();
std::vector<KernelRow> pooling_kernels();
std::vector<KernelRow> normalization_kernels();
std::vector<KernelRow> reduction_kernels();
std::vector<KernelRow> loss_kernels();
std::vector<KernelRow> movement_kernels();
std::vector<KernelRow> axes_kernels();
std::vector<KernelRow> indexing_kernels();
std::vector<KernelRow> generator_kernels();
std::vector<KernelRow> recurrent_kernels();

// Axis -1 is the last of `rank`.
inline std::size_t resolved_axis(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

}  // namespace gradstone::kernels
