// SPDX-License-Identifier: Apache-2.0
// Operators written in simpler ones. A rule (OpDef::expand) appends the nodes; expand_nodes puts them
// in place of the node.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/node_builder.h"

namespace gradstone {

// A graph that grows by the nodes which replace one of its nodes, named `<node>/<label>`.
class ExpansionBuilder : public NodeBuilder {
 public:
  ExpansionBuilder(Graph graph, ValueTypes types);

  bool wants(std::size_t index) const;  // the node has output `index`
  // `value` is output `index` of the node. Every output that is wanted must be set.
  void set_output(std::size_t index, const std::string& value);

  // For expansion.cc only.
  Status expand(const Node& node);  // calls the node's rule
  void append_as_is(const Node& node);

 private:
  void name_outputs(std::size_t first_node);
  bool rename(const std::string& value, const std::string& name, std::size_t first_node);
  bool is_output(const std::string& value) const;

  std::map<std::size_t, std::string> outputs_;
};

// An error if a loop of foreign length would be written out in too many steps.
Status check_unrolled(std::int64_t steps);

struct Expanded {
  Graph graph;
  std::vector<std::size_t> origin;  // for each node the index of the node that it stands for
};
// Replaces every node with an expansion that `wanted` picks, and picks again among the new ones.
// Values keep their names. `graph` has passed check_graph; unsupported where a rule says so.
Result<Expanded> expand_nodes(const Graph& graph,
                              const std::function<bool(const Node&, const OpDef&)>& wanted);

}  // namespace gradstone
