// SPDX-License-Identifier: Apache-2.0
#include "graph/host_cut.h"

#include <algorithm>
#include <set>

#include "graph/host_function.h"

namespace gradstone {
namespace {

using Names = std::set<std::string>;

// Where everything stands.
struct Places {
  std::vector<std::size_t> nodes;               // segment of each; of a host node the one before it
  std::map<std::string, std::size_t> readable;  // first segment that can read a node's value
  std::size_t count = 1;                        // of segments

  std::size_t first_reader(const std::string& value) const {
    const auto made = readable.find(value);
    return made == readable.end() ? 0 : made->second;
  }
};

Places places_of(const Graph& graph) {
  Places places;
  for (const Node& node : graph.nodes) {
    std::size_t segment = 0;
    for (const std::string& input : node.inputs) {
      segment = std::max(segment, places.first_reader(input));
    }
    places.nodes.push_back(segment);
    places.count = std::max(places.count, segment + 1);
    for (const std::string& output : node.outputs) {
      places.readable[output] = is_host(node) ? segment + 1 : segment;
    }
  }
  for (const StateUpdate& update : graph.state_updates) {
    places.count = std::max(places.count, places.first_reader(update.value) + 1);
  }
  return places;
}

// What goes into one segment.
class SegmentMaker {
 public:
  SegmentMaker(const Graph& whole, const ValueTypes& types) : whole_(whole), types_(types) {}

  void add(const Node& node) {
    for (const std::string& output : node.outputs) made_.insert(output);
    for (const std::string& input : node.inputs) read(input);
    segment_.graph.nodes.push_back(node);
  }
  void add_host(const Node& node) { segment_.hosts.push_back(node); }
  void add_update(const StateUpdate& update) {
    read(update.weight);
    read(update.value);
    segment_.graph.state_updates.push_back(update);
  }
  // `wanted` are values read outside.
  Segment finish(const Names& wanted, std::size_t index) {
    segment_.graph.name = whole_.name + ", part " + std::to_string(index + 1);
    for (const Node& node : segment_.graph.nodes) {
      for (const std::string& output : node.outputs) {
        if (wanted.count(output) > 0) segment_.graph.outputs.push_back(output);
      }
    }
    return std::move(segment_);
  }

 private:
  void read(const std::string& value) {
    if (value.empty() || made_.count(value) > 0 || !known_.insert(value).second) return;
    Graph& graph = segment_.graph;
    if (const Weight* weight = whole_.find_weight(value)) {
      graph.weights.push_back(*weight);
    } else if (const Constant* constant = whole_.find_constant(value)) {
      graph.constants.push_back(*constant);
    } else {
      graph.inputs.push_back({value, types_.find(value)->second});
    }
  }

  const Graph& whole_;
  const ValueTypes& types_;
  Segment segment_;
  Names made_, known_;
};

// Values that something outside of the node's own segment reads.
Names values_carried(const Graph& graph, const Places& places) {
  Names carried(graph.outputs.begin(), graph.outputs.end());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& input : graph.nodes[i].inputs) {
      if (is_host(graph.nodes[i]) || places.first_reader(input) != places.nodes[i]) {
        carried.insert(input);
      }
    }
  }
  return carried;
}

bool any_in(const std::vector<std::string>& values, const Names& names) {
  return std::any_of(values.begin(), values.end(),
                     [&](const std::string& value) { return names.count(value) > 0; });
}

}  // namespace

std::vector<Segment> cut_at_hosts(const Graph& graph) {
  const Result<ValueTypes> types = check_graph(graph);
  CHECK(types.ok(), "cut_at_hosts of a graph that check_graph does not accept");
  const Places places = places_of(graph);
  std::vector<SegmentMaker> makers(places.count, SegmentMaker(graph, *types));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    SegmentMaker& maker = makers[places.nodes[i]];
    is_host(node) ? maker.add_host(node) : maker.add(node);
  }
  for (const StateUpdate& update : graph.state_updates) {
    makers[places.first_reader(update.value)].add_update(update);
  }
  const Names wanted = values_carried(graph, places);
  std::vector<Segment> segments;
  for (SegmentMaker& maker : makers) segments.push_back(maker.finish(wanted, segments.size()));
  return segments;
}

std::vector<SegmentBackward> chained_backward(const std::vector<Segment>& segments,
                                              const std::vector<std::string>& from,
                                              const std::vector<std::string>& wrt) {
  // Forward: floating values that depend on `wrt` other than through a host node.
  Names dependent(wrt.begin(), wrt.end());
  for (const Segment& segment : segments) {
    const ValueTypes types = check_graph(segment.graph).value();
    for (const Node& node : segment.graph.nodes) {
      if (!any_in(node.inputs, dependent)) continue;
      for (const std::string& output : node.outputs) {
        if (!output.empty() && is_floating(types.find(output)->second.dtype)) {
          dependent.insert(output);
        }
      }
    }
  }
  // Backward: values that have a cotangent.
  Names reached(from.begin(), from.end());
  std::vector<SegmentBackward> passes(segments.size());
  for (std::size_t i = segments.size(); i-- > 0;) {
    const Graph& graph = segments[i].graph;
    SegmentBackward& pass = passes[i];
    for (const Node& node : graph.nodes) {
      for (const std::string& output : node.outputs) {
        if (reached.count(output) > 0 && dependent.count(output) > 0) pass.from.push_back(output);
      }
    }
    if (pass.from.empty()) continue;
    for (const GraphInput& input : graph.inputs) {
      if (dependent.count(input.name) > 0) pass.wrt.push_back(input.name);
    }
    for (const Weight& weight : graph.weights) {
      if (dependent.count(weight.name) > 0) pass.wrt.push_back(weight.name);
    }
    reached.insert(pass.wrt.begin(), pass.wrt.end());
  }
  return passes;
}

}  // namespace gradstone
