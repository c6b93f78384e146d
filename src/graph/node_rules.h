// SPDX-License-Identifier: Apache-2.0
// One node seen through the operator table: its inputs gathered, its operator, attributes and
// arity checked, its output types inferred. check_graph does this for a whole graph; a builder that
// grows a graph node by node uses it directly.
#pragma once

#include <map>

#include "graph/op_table.h"

namespace gradstone {

// The constants of a graph by name; they must outlive it.
using ConstantMap = std::map<std::string_view, const Tensor*>;
ConstantMap constants_of(const Graph& graph);

// Owns the spans of a NodeContext for a node whose operator is `op`. The node, the types and the
// constants must outlive it. Values that `types` does not know are absent.
class NodeInputs {
 public:
  NodeInputs(const Node& node, const OpDef& op, const ValueTypes& types,
             const ConstantMap& constants);
  NodeContext context() const { return {node_, types_, constants_}; }

 private:
  const Node& node_;
  std::vector<const TensorType*> types_;
  std::vector<const Tensor*> constants_;
};

// The row of the node's operator. The error suggests the nearest name.
Result<const OpDef*> op_of(const Node& node);

// Types of all outputs of the node's operator (OpDef::infer's answer, checked to have positive
// extents and a sane count of elements). Errors begin with the operator: `(Conv): ...`.
Result<std::vector<TensorType>> infer_node(const Node& node, const ValueTypes& types,
                                           const ConstantMap& constants);

}  // namespace gradstone
