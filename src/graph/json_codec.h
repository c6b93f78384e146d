// SPDX-License-Identifier: Apache-2.0
// Graphs as JSON (docs/graph-json.md). Weight values do not travel here; see
// protocol/tensor_file.h.
#pragma once

#include "base/json.h"
#include "graph/graph.h"

namespace gradstone {

Json to_json(const Graph& graph);
// Structure only; call check_graph before use. Never crashes on foreign text.
Result<Graph> graph_from_json(const Json& json);

Json to_json(const TensorType& type);
Result<TensorType> tensor_type_from_json(const Json& json);

}  // namespace gradstone
