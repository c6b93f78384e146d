// SPDX-License-Identifier: Apache-2.0
// Nodes of any opset as nodes of the one that graphs mean: a table of rules, each for one operator
// and the versions that write it differently. Operators that static shapes decide alone (Shape,
// CastLike, Constant ...) go the same way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "onnx/assembler.h"
#include "onnx/attributes.h"

namespace gradstone::onnx_io {

// A node of the file: inputs are values of the assembler, outputs names that it has reserved; ""
// is an absent one.
struct FileNode {
  std::string name, op, domain;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  FileAttributes attributes;
};

// What a rule sees and does. It edits `node`, or puts something in its place.
class Rewriter {
 public:
  Rewriter(Assembler& assembler, FileNode& node) : node(node), assembler_(assembler) {}

  FileNode& node;

  bool has(std::size_t input) const {
    return input < node.inputs.size() && !node.inputs[input].empty();
  }
  Status expect_inputs(std::size_t least) const;  // present ones
  const TensorType& type(std::size_t input) const { return assembler_.type_of(node.inputs[input]); }
  std::size_t rank(std::size_t input) const { return type(input).shape.size(); }
  const TensorType& type_of(const std::string& value) const { return assembler_.type_of(value); }
  // Input `input` as a list of integers that is known now.
  Result<std::vector<std::int64_t>> integers(std::size_t input, std::string_view what) const;
  // The same of numbers; a weight's first values are known, too.
  Result<std::vector<double>> numbers(std::size_t input, std::string_view what) const;

  std::string constant(std::string_view label, Tensor value);
  std::string integer_list(std::string_view label, const std::vector<std::int64_t>& values);
  std::string scalar(std::string_view label, double value, DType dtype);
  // Appends a node of opset 17 with one output and returns that.
  Result<std::string> append(std::string_view label, std::string_view op,
                             std::vector<std::string> inputs,
                             std::map<std::string, Attribute> attributes = {});

  // What takes the node's place. All outputs must be set then.
  void set_output(std::size_t output, const std::string& value);
  void set_constant(Tensor value);  // of output 0
  bool replaced() const { return replaced_; }
  const std::vector<std::string>& results() const { return results_; }

 private:
  Assembler& assembler_;
  bool replaced_ = false;
  std::vector<std::string> results_;
};

// Applies the rules for a node of ONNX's own domain, written for `opset`. Afterwards either
// rewriter.replaced(), or the node is one of opset 17.
Status upgrade(Rewriter& rewriter, std::int64_t opset);

// One rule. It runs where from <= opset <= to.
struct UpgradeRule {
  std::string_view op;
  std::int64_t from = 1;
  std::int64_t to = 0;
  Status (*apply)(Rewriter&) = nullptr;
};
std::vector<UpgradeRule> old_opset_rules();  // below 17, in the order to apply them
std::vector<UpgradeRule> new_opset_rules();  // 18 and later
std::vector<UpgradeRule> shape_rules();      // of every opset

}  // namespace gradstone::onnx_io
