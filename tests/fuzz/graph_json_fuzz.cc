// SPDX-License-Identifier: Apache-2.0
// Graphs from foreign JSON: no crash, what is read and written again is the same, and a graph that
// check_graph accepts can be costed and pruned.
#include "graph/json_codec.h"
#include "graph/passes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradstone;
  const Result<Json> json = parse_json({reinterpret_cast<const char*>(data), size});
  if (!json.ok()) return 0;
  const Result<Graph> graph = graph_from_json(*json);
  if (!graph.ok()) return 0;
  const std::string written = write_json(to_json(*graph));
  const Graph again = graph_from_json(parse_json(written).value()).value();
  CHECK(write_json(to_json(again)) == written, "a graph changed on its way");
  const Result<ValueTypes> types = check_graph(again);
  if (!types.ok()) return 0;
  node_costs(again, *types);
  parameter_count(again);
  CHECK(check_graph(to_inference(again, again.outputs)).ok(), "an inference form is no graph");
  CHECK(check_graph(pruned(again, again.outputs, true)).ok(), "a pruned graph is no graph");
  CHECK(check_graph(share_dropout(again).graph).ok(), "shared dropout makes no graph");
  return 0;
}
