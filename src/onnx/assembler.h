// SPDX-License-Identifier: Apache-2.0
// A graph of ours that grows by the nodes of a file. Shapes are inferred at once and what depends on
// constants alone is computed at once, so that a file's shape arithmetic leaves no node behind.
// Knows nothing of protobuf.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/node_rules.h"

namespace gradstone::onnx_io {

// Names that are taken. Many equal wishes cost no more than different ones.
class NameSet {
 public:
  std::string add(const std::string& wish);  // the wish, or with .2, .3, ...
  bool add_exactly(const std::string& name) { return names_.insert(name).second; }
  void remove(const std::string& name) { names_.erase(name); }

 private:
  std::set<std::string> names_;
  std::map<std::string, int> last_suffix_;
};

// What a graph is for.
struct Roots {
  std::vector<std::string> outputs;
  std::vector<StateUpdate> state_updates;
  std::vector<std::string> states;  // weights that do not train
};

struct Assembled {
  Graph graph;
  std::map<std::string, Tensor> weights;  // one for each of graph.weights
};

class Assembler {
 public:
  explicit Assembler(std::string graph_name);
  Assembler(const Assembler&) = delete;  // constants are pointed to
  Assembler& operator=(const Assembler&) = delete;

  // A value name that is new and printable, as close to the wish as can be.
  std::string reserve(std::string_view wish);
  void release(const std::string& name);  // it was not needed

  // Names are reserved ones.
  void add_input(const std::string& name, TensorType type);
  void add_weight(const std::string& name, Tensor value);
  void add_constant(const std::string& name, Tensor value);

  // Appends a node whose outputs are reserved names, or computes it. Errors begin with the operator.
  Status append(Node node);
  Status append_node(Node node);  // never computes it

  const TensorType& type_of(const std::string& value) const;
  const Tensor* constant(const std::string& value) const;  // nullptr: it is not known here
  // A constant equal to a weight at the start, for an operator that needs to know it now; nullptr
  // where `value` is neither.
  const Tensor* known_value(const std::string& value) const;
  bool is_weight(const std::string& value) const { return weights_.count(value) > 0; }
  bool is_computed(const std::string& value) const { return computed_.count(value) > 0; }

  // The graph without what the roots do not need. Inputs stay.
  Assembled finish(const Roots& roots) &&;

 private:
  bool all_constant(const Node& node) const;
  Result<bool> append_empty(const Node& node);
  bool fold(const Node& node, const std::vector<TensorType>& types);
  Result<std::vector<TensorType>> infer(Node& node);
  void declare(const std::string& name, TensorType type);

  Graph graph_;
  ValueTypes types_;
  std::deque<Constant> constants_;  // a deque: constant_values_ points into it
  ConstantMap constant_values_;
  std::map<std::string, Tensor> weights_;
  NameSet reserved_;
  NameSet node_names_;
  std::set<std::string> computed_;
  std::int64_t folded_bytes_ = 0;
};

// What a name may hold: no control characters, and only UTF-8.
std::string printable_name(std::string_view name);

}  // namespace gradstone::onnx_io
