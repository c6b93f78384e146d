// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel.h"

namespace gradstone::kernels {
namespace {

std::vector<KernelRow> all_kernels() {
  std::vector<KernelRow> rows;
  for (const auto part : {elementwise_kernels, activation_kernels, math_kernels, logic_kernels,
                          matrix_kernels, convolution_kernels, pooling_kernels,
                          normalization_kernels, reduction_kernels, loss_kernels, movement_kernels,
                          axes_kernels, indexing_kernels, generator_kernels, recurrent_kernels}) {
    for (const KernelRow& row : part()) rows.push_back(row);
  }
  return rows;
}

}  // namespace

const KernelRow* find_kernel(std::string_view domain, std::string_view op) {
  static const std::vector<KernelRow> rows = all_kernels();
  for (const KernelRow& row : rows) {
    if (row.op == op && row.domain == domain) return &row;
  }
  return nullptr;
}

}  // namespace gradstone::kernels
