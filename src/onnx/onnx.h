// SPDX-License-Identifier: Apache-2.0
// ONNX files in and out. The core's only unit that knows protobuf; everyone else sees graphs and
// tensors.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace gradstone {

enum class BatchNormMode { kTrain, kFrozen };

struct ImportOptions {
  // Graph inputs that become constants: shapes, axes and the like, which must be known before a
  // graph is built. Other values are computed from them as far as that goes.
  std::map<std::string, Tensor> bound;
  std::map<std::string, std::int64_t> dimensions;  // extents of symbolic dimensions, by name
  std::map<std::string, Shape> shapes;             // of inputs, in place of what the file says
  // Training form: dropout is kept, and batch norm normalizes with the batch (kTrain) or with what
  // the file holds (kFrozen). Otherwise nodes mean what the file says.
  bool training = false;
  BatchNormMode batch_norm = BatchNormMode::kTrain;
};

// A model as a graph of ours, opset 17. Floating initializers are weights, others constants; names
// are the file's where they can be.
struct ImportedModel {
  Graph graph;
  std::map<std::string, Tensor> weights;  // one for each of graph.weights
  std::int64_t opset = 0;                 // of the file
  std::string producer;
  // What a person should know, one line each: batch norm turned to training, batch norm that the
  // exporter folded away, dropout that it dropped.
  std::vector<std::string> notes;
};

// Errors: unreadable for a file that is damaged or breaks ONNX's rules, unsupported for an operator,
// attribute or type that a graph cannot hold; with node and operator, and how to go on.
Result<ImportedModel> import_onnx(const std::string& path, const ImportOptions& options);
// The same of bytes in memory; external data is looked for in `folder`.
Result<ImportedModel> import_onnx(std::string_view bytes, const std::string& folder,
                                  const ImportOptions& options);

struct ExportOptions {
  // Weights beside the model, in PATH.data. Those over 1.5 GiB go there anyway.
  bool external_weights = false;
};
// Writes a model of opset 17 that ONNX's checker accepts; operators of our own keep their domain,
// and what ONNX has no place for is kept where others do not look (docs/onnx.md): import_onnx gives
// the same graph back. `weights` has a value for each of graph.weights.
Status export_onnx(const Graph& graph, const std::map<std::string, Tensor>& weights,
                   const std::string& path, const ExportOptions& options = {});

// A file with one TensorProto, as data sets of tests are kept.
Result<Tensor> read_tensor_proto(const std::string& path);
Status write_tensor_proto(const std::string& path, std::string_view name, const TensorRef& tensor);

}  // namespace gradstone
