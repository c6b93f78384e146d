// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan written out, as far as their course is known before the network runs.
#include <algorithm>

#include "graph/shape_rules.h"
#include "onnx/importer.h"

namespace gradstone::onnx_io {
namespace {

constexpr int kMostDepth = 64;
constexpr std::int64_t kMostTrips = 100'000;

using Integers = std::vector<std::int64_t>;

Result<const onnx::GraphProto*> body_of(const FileNode& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  if (found != node.attributes.end()) {
    if (const auto* graph = std::get_if<const onnx::GraphProto*>(&found->second)) return *graph;
  }
  return unreadable("attribute '" + name + "' holds no graph");
}

std::string trip_prefix(const FileNode& node, std::int64_t trip) {
  return node.name + "/" + std::to_string(trip) + "/";
}

// Axes or directions of a Scan, one for each input or output.
Result<Integers> one_each(const FileNode& node, const std::string& name, std::size_t count) {
  Integers list = TRY(integers_or(node.attributes, name, Integers(count, 0)));
  if (list.size() == count) return list;
  return unreadable("attribute '" + name + "' has " + std::to_string(list.size()) +
                    " items; expected " + std::to_string(count));
}

}  // namespace

Result<std::optional<Importer::Names>> Importer::control_flow(const FileNode& node,
                                                              const Scope& scope) {
  using Answer = std::optional<Names>;
  if (!node.domain.empty()) return Answer();
  if (node.op == "If") return Answer(TRY(branch(node, scope)));
  if (node.op == "Loop") return Answer(TRY(loop(node, scope)));
  if (node.op == "Scan" && scope.opsets->find("")->second > 8) {
    return Answer(TRY(scan(node, scope)));
  }
  return Answer();
}

Result<Importer::Names> Importer::run_body(const onnx::GraphProto& body, const Scope& outer,
                                           const Names& inputs, const std::string& prefix) {
  TRY(count_step());
  if (depth_ >= kMostDepth) return unreadable("graphs are nested too deeply");
  if (body.input_size() != static_cast<int>(inputs.size())) {
    return unreadable("its body has " + std::to_string(body.input_size()) + " inputs; expected " +
                      std::to_string(inputs.size()));
  }
  Scope scope;
  scope.outer = &outer;
  scope.prefix = prefix;
  scope.opsets = outer.opsets;
  scope.attributes = outer.attributes;
  for (int i = 0; i < body.input_size(); ++i) {
    TRY(define(scope, body.input(i).name(), inputs[static_cast<std::size_t>(i)]));
  }
  TRY(add_initializers(body, scope));
  ++depth_;
  const Status walked = walk(body.node(), scope);
  --depth_;
  TRY(walked);
  Names outputs;
  for (const onnx::ValueInfoProto& output : body.output()) {
    const std::string* value = scope.find(output.name());
    if (value == nullptr || value->empty()) {
      return unreadable("nothing makes output '" + printable_name(output.name()) + "' of its body");
    }
    outputs.push_back(*value);
  }
  return outputs;
}

Result<std::string> Importer::append_one(const std::string& name, std::string_view op,
                                         const Names& inputs,
                                         std::map<std::string, Attribute> attributes) {
  Node node;
  node.name = name;
  node.op = op;
  node.inputs = inputs;
  node.outputs = {assembler_.reserve(name)};
  node.attributes = std::move(attributes);
  const std::string output = node.outputs[0];
  TRY(assembler_.append(std::move(node)));
  return output;
}

Result<Importer::Names> Importer::branch(const FileNode& node, const Scope& scope) {
  const Tensor* condition =
      node.inputs.empty() || node.inputs[0].empty() ? nullptr : assembler_.constant(node.inputs[0]);
  if (condition == nullptr || condition->type().elements() != 1) {
    return unsupported(
        "its condition is computed while the network runs; a graph has no branches, so export the "
        "model with fixed shapes or without the branch");
  }
  const bool taken = element_as_double(condition->ref(), 0) != 0;
  const onnx::GraphProto* body = TRY(body_of(node, taken ? "then_branch" : "else_branch"));
  return run_body(*body, scope, {}, node.name + "/");
}

// One value for each trip, along a new axis.
Result<std::string> Importer::stacked(const std::string& name, const Names& values,
                                      std::int64_t axis) {
  if (values.empty()) return unsupported("it makes no trip, so an output would hold nothing");
  Shape shape = assembler_.type_of(values[0]).shape;
  const std::size_t place = TRY(resolved_axis(axis, shape.size() + 1));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(place), 1);
  const std::string extents = assembler_.reserve(name + "/shape");
  assembler_.add_constant(extents,
                          Tensor::of<std::int64_t>({static_cast<std::int64_t>(shape.size())},
                                                   std::span<const std::int64_t>(shape)));
  Names pieces;
  for (const std::string& value : values) {
    pieces.push_back(TRY(append_one(name + "/piece", "Reshape", {value, extents}, {})));
  }
  return append_one(name, "Concat", pieces, {{"axis", static_cast<std::int64_t>(place)}});
}

Result<Importer::Names> Importer::loop(const FileNode& node, const Scope& scope) {
  const onnx::GraphProto* body = TRY(body_of(node, "body"));
  if (node.inputs.size() < 2) return unreadable("it has no trip count and condition");
  std::int64_t most = kMostTrips + 1;
  if (!node.inputs[0].empty()) {
    const Tensor* count = assembler_.constant(node.inputs[0]);
    if (count == nullptr || count->type().elements() != 1) {
      return unsupported("its trip count is computed while the network runs");
    }
    const double stated = element_as_double(count->ref(), 0);
    most = static_cast<std::int64_t>(std::clamp<double>(stated, 0, kMostTrips + 1));
  }
  const std::size_t carried = node.inputs.size() - 2;
  const auto outputs = static_cast<std::size_t>(body->output_size());
  if (outputs < carried + 1) return unreadable("its body has too few outputs");
  std::string condition = node.inputs[1];
  Names state(node.inputs.begin() + 2, node.inputs.end());
  std::vector<Names> gathered(outputs - carried - 1);
  for (std::int64_t trip = 0; trip < most; ++trip) {
    if (condition.empty()) {
      condition = assembler_.reserve(node.name + "/true");
      assembler_.add_constant(condition, Tensor::scalar(true));
    }
    const Tensor* goes_on = assembler_.constant(condition);
    if (goes_on == nullptr || goes_on->type().elements() != 1) {
      return unsupported("its condition is computed while the network runs");
    }
    if (element_as_double(goes_on->ref(), 0) == 0) break;
    if (trip == kMostTrips) return unsupported("it makes too many trips");
    const std::string number = assembler_.reserve(node.name + "/trip");
    assembler_.add_constant(number, Tensor::scalar(trip));
    Names inputs = {number, condition};
    inputs.insert(inputs.end(), state.begin(), state.end());
    const Names values = TRY(run_body(*body, scope, inputs, trip_prefix(node, trip)));
    condition = values[0];
    for (std::size_t i = 0; i < carried; ++i) state[i] = values[i + 1];
    for (std::size_t i = 0; i < gathered.size(); ++i) {
      gathered[i].push_back(values[carried + 1 + i]);
    }
  }
  for (const Names& values : gathered) {
    state.push_back(TRY(stacked(node.name + "/stacked", values, 0)));
  }
  return state;
}

Result<Importer::Names> Importer::scan(const FileNode& node, const Scope& scope) {
  const onnx::GraphProto* body = TRY(body_of(node, "body"));
  const std::int64_t scanned = TRY(integer_or(node.attributes, "num_scan_inputs", 0));
  const std::size_t inputs = node.inputs.size();
  if (scanned < 1 || scanned > static_cast<std::int64_t>(inputs)) {
    return unreadable("num_scan_inputs = " + std::to_string(scanned));
  }
  const std::size_t carried = inputs - static_cast<std::size_t>(scanned);
  const auto outputs = static_cast<std::size_t>(body->output_size());
  if (outputs < carried) return unreadable("its body has too few outputs");
  const Integers axes = TRY(one_each(node, "scan_input_axes", inputs - carried));
  const Integers directions = TRY(one_each(node, "scan_input_directions", inputs - carried));
  const Integers out_axes = TRY(one_each(node, "scan_output_axes", outputs - carried));
  const Integers out_directions = TRY(one_each(node, "scan_output_directions", outputs - carried));
  std::int64_t trips = -1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (node.inputs[carried + i].empty()) return unreadable("an input is absent");
    const Shape& shape = assembler_.type_of(node.inputs[carried + i]).shape;
    const std::int64_t extent = shape[TRY(resolved_axis(axes[i], shape.size()))];
    if (trips >= 0 && extent != trips) return unreadable("its inputs differ in length");
    trips = extent;
  }
  if (trips > kMostTrips) return unsupported("it makes too many trips");
  Names state(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(carried));
  std::vector<Names> gathered(outputs - carried);
  for (std::int64_t trip = 0; trip < trips; ++trip) {
    Names values = state;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::string place = assembler_.reserve(node.name + "/place");
      assembler_.add_constant(place, Tensor::scalar(directions[i] != 0 ? trips - 1 - trip : trip));
      values.push_back(TRY(append_one(node.name + "/element", "Gather",
                                      {node.inputs[carried + i], place}, {{"axis", axes[i]}})));
    }
    values = TRY(run_body(*body, scope, values, trip_prefix(node, trip)));
    for (std::size_t i = 0; i < carried; ++i) state[i] = values[i];
    for (std::size_t i = 0; i < gathered.size(); ++i) gathered[i].push_back(values[carried + i]);
  }
  for (std::size_t i = 0; i < gathered.size(); ++i) {
    if (out_directions[i] != 0) std::reverse(gathered[i].begin(), gathered[i].end());
    state.push_back(TRY(stacked(node.name + "/stacked", gathered[i], out_axes[i])));
  }
  return state;
}

}  // namespace gradstone::onnx_io
