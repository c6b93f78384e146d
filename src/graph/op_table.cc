// SPDX-License-Identifier: Apache-2.0
#include "graph/op_table.h"

#include "graph/own_ops.h"

namespace gradstone {

const std::vector<OpDef>& op_table() {
  static const std::vector<OpDef> table = [] {
    std::vector<OpDef> rows = onnx_ops();
    for (const auto own : {ctc_rows, host_rows, gradient_ops}) {
      for (OpDef& row : own()) rows.push_back(std::move(row));
    }
    return rows;
  }();
  return table;
}

const OpDef* find_op(std::string_view domain, std::string_view name) {
  for (const OpDef& row : op_table()) {
    if (row.name == name && row.domain == domain) return &row;
  }
  return nullptr;
}

}  // namespace gradstone
