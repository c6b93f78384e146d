// SPDX-License-Identifier: Apache-2.0
// A graph with host operators (host_function.h) cut into graphs without, for engines that cannot
// call a C++ function in mid-graph. Whoever runs the chain carries values from one to the next,
// calls the functions between, and chains backward passes by cotangents.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace gradstone {

// To run the chain: for each segment in order run `graph`, then its `hosts`. To differentiate it:
// for each segment in reverse order run the backward pass that chained_backward says, with the
// sums of the cotangents that later segments gave for its values `from`, and the caller.
struct Segment {
  // Inputs are inputs of the whole graph, or values that earlier segments or host nodes made, under
  // their names. Outputs are those values made here that a host node or a later segment reads or
  // the whole graph puts out; a weight that stands in several segments is one variable.
  Graph graph;
  std::vector<Node> hosts;  // read inputs and values of this and earlier segments
};

// Every node stands in exactly one segment, as early as it can. `graph` has passed check_graph.
std::vector<Segment> cut_at_hosts(const Graph& graph);

// Of one segment: the backward pass from values `from` to inputs and weights `wrt`. Both may be
// empty: there is nothing to do.
struct SegmentBackward {
  std::vector<std::string> from;
  std::vector<std::string> wrt;
};
// The passes that together are the backward pass of the whole from `from` with respect to `wrt`, by
// segment. The gradient of a value of `wrt` is the sum of those that segments give for it; a value
// that stands in no pass has gradient 0.
std::vector<SegmentBackward> chained_backward(const std::vector<Segment>& segments,
                                              const std::vector<std::string>& from,
                                              const std::vector<std::string>& wrt);

}  // namespace gradstone
