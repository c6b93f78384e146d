// SPDX-License-Identifier: Apache-2.0
// What every operator means: one row an operator. Shapes, costs and gradients are looked up here by
// everyone; how it is computed stands in the engines.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace gradstone {

class GradientBuilder;   // graph/gradients.h
class ExpansionBuilder;  // graph/expansion.h

enum class AttributeKind { kInt, kFloat, kString, kInts, kFloats, kStrings, kGraph };

struct AttributeDef {
  std::string_view name;
  AttributeKind kind = AttributeKind::kInt;
  bool required = false;
};

// What a shape or cost rule sees of one node. Index i of both spans is input i; nullptr means an
// absent optional. Both have max_inputs elements (of a variadic operator: as many as the node has),
// see node_rules.h.
struct NodeContext {
  const Node& node;
  std::span<const TensorType* const> inputs;
  std::span<const Tensor* const>
      constants;  // the input's value where it is a Constant (Reshape's shape)
};

struct OpDef {
  std::string_view name;
  std::string_view domain;  // "", kTrainingDomain or kGradstoneDomain
  int min_inputs = 1;
  int max_inputs = 1;  // kVariadic: any number
  int min_outputs = 1;
  int max_outputs = 1;
  int optional_input = -1;  // an input below min_inputs that may nevertheless be absent
  std::vector<AttributeDef> attributes;
  // Types of all outputs that the operator can have (max_outputs of them), whether the node names
  // them or not. The error says what does not fit; check_graph adds workload and node.
  Result<std::vector<TensorType>> (*infer)(const NodeContext&) = nullptr;
  // Floating-point operations of one execution, a multiply-add counting two; nullptr: none (it only
  // moves data).
  std::int64_t (*flops)(const NodeContext&, std::span<const TensorType> outputs) = nullptr;
  bool multiply_adds = false;  // flops / 2 counts in NodeCost::multiply_adds (Conv, Gemm, MatMul
                               // and their gradients)
  // With multiply_adds: the operations beside them (adding a bias), counted in NodeCost::flops
  // only; nullptr: none.
  std::int64_t (*other_flops)(const NodeContext&, std::span<const TensorType> outputs) = nullptr;
  // Appends the nodes of the backward pass; nullptr: no gradient flows through (integers,
  // comparisons).
  Status (*gradient)(GradientBuilder&) = nullptr;
  // Writes the operator in simpler ones, as ONNX does for its functions: its definition for engines
  // that lack it, and its gradient where `gradient` is nullptr; nullptr: it is elementary.
  Status (*expand)(ExpansionBuilder&) = nullptr;
  std::string_view summary;  // one line for docs/operators.md
};

inline constexpr int kVariadic = -1;

// All rows, ONNX's operators first. The vector is built once.
const std::vector<OpDef>& op_table();
const OpDef* find_op(std::string_view domain, std::string_view name);

// The two halves of the table: onnx_ops.cc and gradient_ops.cc.
std::vector<OpDef> onnx_ops();
std::vector<OpDef> gradient_ops();

}  // namespace gradstone
