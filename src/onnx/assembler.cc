// SPDX-License-Identifier: Apache-2.0
#include "onnx/assembler.h"

#include <algorithm>
#include <array>

#include "graph/passes.h"
#include "graph/shape_rules.h"
#include "kernels/evaluate.h"

namespace gradstone::onnx_io {
namespace {

// Enough for any shape arithmetic, mask or table of positions; a file cannot ask for more memory or
// time than this.
constexpr std::int64_t kMostFoldedBytes = std::int64_t{1} << 28;
constexpr std::int64_t kMostFoldedFlops = std::int64_t{1} << 30;

// Operators that move elements, for which a tensor that holds none is a legal operand.
constexpr std::array<std::string_view, 11> kMovesElements = {
    "Cast",  "Concat", "Expand",  "Gather",    "Identity", "Reshape",
    "Slice", "Split",  "Squeeze", "Transpose", "Unsqueeze"};

void strip_absent(std::vector<std::string>& names) {
  while (!names.empty() && names.back().empty()) names.pop_back();
}

// Bytes of a UTF-8 character that begins here; 0 if none does.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80   ? 1
                             : byte(0) < 0xc2 ? 0
                             : byte(0) < 0xe0 ? 2
                             : byte(0) < 0xf0 ? 3
                             : byte(0) < 0xf5 ? 4
                                              : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies above U+10FFFF.
  if (length > 2) {
    const unsigned first = byte(0), second = byte(1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  }
  return length;
}

}  // namespace

std::string NameSet::add(const std::string& wish) {
  if (names_.insert(wish).second) return wish;
  int& suffix = last_suffix_.emplace(wish, 1).first->second;
  for (;;) {
    const std::string name = wish + "." + std::to_string(++suffix);
    if (names_.insert(name).second) return name;
  }
}

std::string printable_name(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    const std::size_t length = utf8_length(name);
    const auto first = static_cast<unsigned char>(name[0]);
    if (length == 0 || first < 0x20 || first == 0x7f) {
      text += '_';
    } else {
      text += name.substr(0, length);
    }
    name.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

Assembler::Assembler(std::string graph_name) { graph_.name = std::move(graph_name); }

std::string Assembler::reserve(std::string_view wish) {
  const std::string name = printable_name(wish);
  return reserved_.add(name.empty() ? "value" : name);
}

void Assembler::release(const std::string& name) { reserved_.remove(name); }

void Assembler::declare(const std::string& name, TensorType type) {
  CHECK(types_.emplace(name, std::move(type)).second, "a value is declared twice");
}

void Assembler::add_input(const std::string& name, TensorType type) {
  graph_.inputs.push_back({name, type});
  declare(name, std::move(type));
}

void Assembler::add_weight(const std::string& name, Tensor value) {
  graph_.weights.push_back({name, value.type(), Initializer::constant(0), true});
  declare(name, value.type());
  weights_.emplace(name, std::move(value));
}

void Assembler::add_constant(const std::string& name, Tensor value) {
  declare(name, value.type());
  const Constant& constant = constants_.emplace_back(Constant{name, std::move(value)});
  constant_values_[constant.name] = &constant.value;
}

const TensorType& Assembler::type_of(const std::string& value) const {
  const auto type = types_.find(value);
  CHECK(type != types_.end(), "a value that was never declared");
  return type->second;
}

const Tensor* Assembler::constant(const std::string& value) const {
  const auto found = constant_values_.find(value);
  return found == constant_values_.end() ? nullptr : found->second;
}

const Tensor* Assembler::known_value(const std::string& value) const {
  const auto weight = weights_.find(value);
  return weight == weights_.end() ? constant(value) : &weight->second;
}

bool Assembler::all_constant(const Node& node) const {
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& input) {
    return input.empty() || constant(input) != nullptr;
  });
}

// A result without elements is known before anything is computed. Graphs hold no such value but as
// a constant.
Result<bool> Assembler::append_empty(const Node& node) {
  const bool moves =
      std::find(kMovesElements.begin(), kMovesElements.end(), node.op) != kMovesElements.end();
  const OpDef* op = find_op(node.domain, node.op);
  if (!moves || op == nullptr || !node.domain.empty()) return false;
  const auto inputs = static_cast<int>(node.inputs.size());
  if (inputs < op->min_inputs || (op->max_inputs != kVariadic && inputs > op->max_inputs)) {
    return false;
  }
  for (const std::string& input : node.inputs) {
    if (input.empty()) return false;
  }
  const NodeInputs seen(node, *op, types_, constant_values_);
  const Result<std::vector<TensorType>> types = op->infer(seen.context());
  if (!types.ok() || types->size() < node.outputs.size()) return false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if ((*types)[i].elements() != 0) return false;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Shape& shape = (*types)[i].shape;
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; })) {
      return unreadable("(" + node.op + "): the output would have shape " + to_string(shape));
    }
    if (!node.outputs[i].empty()) add_constant(node.outputs[i], Tensor((*types)[i]));
  }
  return true;
}

bool Assembler::fold(const Node& node, const std::vector<TensorType>& types) {
  if (node.op == "Dropout") return false;  // its mask is drawn anew at each run
  std::int64_t bytes = 0;
  for (const TensorType& type : types) {
    if (type.elements() > kMostFoldedBytes / 8) return false;
    bytes = saturating_sum(bytes, static_cast<std::int64_t>(type.bytes()));
  }
  if (saturating_sum(folded_bytes_, bytes) > kMostFoldedBytes) return false;
  const OpDef& op = *find_op(node.domain, node.op);
  const NodeInputs inputs(node, op, types_, constant_values_);
  if (op.flops != nullptr && op.flops(inputs.context(), types) > kMostFoldedFlops) return false;
  Graph graph;
  graph.name = "constants";
  std::set<std::string> seen;
  for (const std::string& input : node.inputs) {
    if (!input.empty() && seen.insert(input).second) {
      graph.constants.push_back({input, *constant(input)});
    }
  }
  graph.nodes.push_back(node);
  for (const std::string& output : node.outputs) {
    if (!output.empty()) graph.outputs.push_back(output);
  }
  // Whatever cannot be computed here stays a node; then the engine says why.
  Result<std::vector<Tensor>> values = kernels::evaluate(graph, {});
  if (!values.ok()) return false;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    add_constant(graph.outputs[i], std::move((*values)[i]));
  }
  folded_bytes_ += bytes;
  return true;
}

// Where an operator needs a constant, such as the bounds of a Clip, files may have a floating
// initializer, which we took for a weight: its value in the file is meant.
Result<std::vector<TensorType>> Assembler::infer(Node& node) {
  Result<std::vector<TensorType>> types = infer_node(node, types_, constant_values_);
  if (types.ok()) return types;
  Node known = node;
  bool changed = false;
  for (std::size_t i = 1; i < known.inputs.size(); ++i) {
    const auto weight = weights_.find(known.inputs[i]);
    if (weight == weights_.end()) continue;
    const std::string name = weight->first + ".constant";
    if (constant(name) == nullptr) {
      if (!reserved_.add_exactly(name)) return types;
      add_constant(name, weight->second);
    }
    known.inputs[i] = name;
    changed = true;
  }
  if (!changed) return types;
  Result<std::vector<TensorType>> again = infer_node(known, types_, constant_values_);
  if (!again.ok()) return types;  // of what the file says
  node = known;
  return again;
}

Status Assembler::append(Node node) {
  strip_absent(node.inputs);
  strip_absent(node.outputs);
  if (node.op == "Concat" && node.domain.empty() && node.inputs.size() > 1) {
    // Pieces without elements add nothing.
    std::vector<std::string> pieces;
    for (const std::string& input : node.inputs) {
      if (input.empty() || type_of(input).elements() > 0) pieces.push_back(input);
    }
    if (!pieces.empty()) node.inputs = pieces;
  }
  if (all_constant(node)) {
    if (TRY(append_empty(node))) return {};
    const std::vector<TensorType> types = TRY(infer(node));
    if (fold(node, types)) return {};
  }
  return append_node(std::move(node));
}

Status Assembler::append_node(Node node) {
  const std::vector<TensorType> types = TRY(infer(node));
  node.name = node_names_.add(printable_name(node.name.empty() ? node.op : node.name));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    declare(node.outputs[i], types[i]);
    computed_.insert(node.outputs[i]);
  }
  graph_.nodes.push_back(std::move(node));
  return {};
}

Assembled Assembler::finish(const Roots& roots) && {
  for (Constant& constant : constants_) graph_.constants.push_back(std::move(constant));
  for (Weight& weight : graph_.weights) {
    weight.trainable =
        std::find(roots.states.begin(), roots.states.end(), weight.name) == roots.states.end();
  }
  graph_.outputs = roots.outputs;
  graph_.state_updates = roots.state_updates;
  Assembled assembled;
  assembled.graph = pruned(graph_, roots.outputs, /*drop_inputs=*/false);
  for (const Weight& weight : assembled.graph.weights) {
    assembled.weights.emplace(weight.name, std::move(weights_.at(weight.name)));
  }
  return assembled;
}

}  // namespace gradstone::onnx_io
