// SPDX-License-Identifier: Apache-2.0
// Walks the nodes of a model in order and gives them to an assembler: names resolved, functions
// inlined, branches taken that are known. What single operators mean in which opset: upgrade.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/assembler.h"
#include "onnx/attributes.h"
#include "onnx/model_file.h"
#include "onnx/onnx.h"
#include "onnx/upgrade.h"

namespace gradstone::onnx_io {

// Names of one graph or one call of a function, and what they stand for.
struct Scope {
  const Scope* outer = nullptr;  // of a graph in an attribute: it sees the names around it
  std::string prefix;            // of the names that it makes: "" or "call/"
  const Opsets* opsets = nullptr;
  const FileAttributes* attributes = nullptr;  // of the call
  std::map<std::string, std::string> values;   // names of the file to values of the assembler

  const std::string* find(const std::string& name) const;
};

class Importer {
 public:
  // All must outlive it. `external` reads tensors.
  Importer(const ModelFile& file, const ImportOptions& options, ExternalData& external,
           Assembler& assembler);

  // The whole model; the graph's outputs have the file's names.
  Result<Roots> run();

 private:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
  using Names = std::vector<std::string>;

  // importer.cc
  Status add_initializers(const onnx::GraphProto& graph, Scope& scope);
  Status add_input(const onnx::ValueInfoProto& input, Scope& scope);
  Status walk(const Nodes& nodes, Scope& scope);
  Status walk_node(const onnx::NodeProto& node, Scope& scope);
  Status count_step();  // an error after too many
  Result<FileNode> file_node(const onnx::NodeProto& node, const Scope& scope);
  Status place(const onnx::NodeProto& proto, FileNode node, Scope& scope);
  Status append(FileNode node);
  Status define(Scope& scope, const std::string& name, const std::string& value);
  void add_own_fields(const Scope& scope, Roots& roots) const;
  Result<std::string> output_value(const std::string& name, const Scope& scope);

  // function_calls.cc
  const onnx::FunctionProto* local_function(const onnx::NodeProto& node) const;
  // Values of the function's outputs.
  Result<Names> call(const onnx::FunctionProto& function, const FileNode& node);
  // By ONNX's definition of the operator; nullopt where it has none.
  Result<std::optional<Names>> call_definition(const FileNode& node);

  // control_flow.cc
  Result<std::optional<Names>> control_flow(const FileNode& node, const Scope& scope);
  Result<Names> branch(const FileNode& node, const Scope& scope);
  Result<Names> loop(const FileNode& node, const Scope& scope);
  Result<Names> scan(const FileNode& node, const Scope& scope);
  // Runs a graph in an attribute once, with `inputs` for its inputs.
  Result<Names> run_body(const onnx::GraphProto& body, const Scope& outer, const Names& inputs,
                         const std::string& prefix);
  Result<std::string> stacked(const std::string& name, const Names& values, std::int64_t axis);
  Result<std::string> append_one(const std::string& name, std::string_view op, const Names& inputs,
                                 std::map<std::string, Attribute> attributes);

  const ModelFile& file_;
  const ImportOptions& options_;
  ExternalData& external_;
  Assembler& assembler_;
  std::map<std::string, const onnx::FunctionProto*> functions_;  // by domain, name and overload
  std::int64_t steps_ = 0;                                       // nodes and trips so far
  int depth_ = 0;                                                // of calls and bodies
};

}  // namespace gradstone::onnx_io
