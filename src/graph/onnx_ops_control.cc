// SPDX-License-Identifier: Apache-2.0
// Scan: a graph run over slices of its inputs, with a number of steps that the shapes give. It is
// unrolled where an engine has no loops, and to be differentiated.
#include <algorithm>

#include "graph/expansion.h"
#include "graph/onnx_ops.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using enum AttributeKind;

struct Scan {
  const Graph* body = nullptr;
  ValueTypes body_types;
  std::size_t states = 0;
  std::size_t scanned = 0;    // inputs read slice by slice, after the states
  std::size_t captured = 0;   // inputs that are the same in every step, after those
  std::size_t collected = 0;  // outputs that are stacked, after the final states
  std::vector<std::size_t> input_axes, output_axes;
  std::vector<bool> input_backwards, output_backwards;
  std::int64_t steps = 0;
};

Shape without_axis(Shape shape, std::size_t axis) {
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return shape;
}

// Directions 0 and 1, one an item; 0 where the attribute is absent.
Result<std::vector<bool>> directions_of(const Node& node, std::string_view name,
                                        std::size_t count) {
  const auto given = attribute_or(node, name, std::vector<std::int64_t>(count, 0));
  const auto valid = [](std::int64_t value) { return value == 0 || value == 1; };
  if (given.size() != count || !std::all_of(given.begin(), given.end(), valid)) {
    return unreadable("attribute '" + std::string(name) + "' must hold " + std::to_string(count) +
                      " numbers, each 0 or 1");
  }
  return std::vector<bool>(given.begin(), given.end());
}

// Axes for tensors of the given ranks.
Result<std::vector<std::size_t>> axes_of(const Node& node, std::string_view name,
                                         const std::vector<std::size_t>& ranks) {
  const auto given = attribute_or(node, name, std::vector<std::int64_t>(ranks.size(), 0));
  if (given.size() != ranks.size()) {
    return unreadable("attribute '" + std::string(name) + "' has " + std::to_string(given.size()) +
                      " axes; expected " + std::to_string(ranks.size()));
  }
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    axes.push_back(TRY(resolved_axis(given[i], ranks[i]).within(name)));
  }
  return axes;
}

Status count_inputs(const NodeContext& context, Scan& scan) {
  const std::int64_t scanned = attribute_or(context.node, "num_scan_inputs", std::int64_t{0});
  const std::int64_t captured = attribute_or(context.node, "captured_inputs", std::int64_t{0});
  const auto inputs = static_cast<std::int64_t>(context.inputs.size());
  if (scanned < 1 || scanned > inputs || captured < 0 || captured > inputs - scanned) {
    return unreadable("num_scan_inputs " + std::to_string(scanned) + " and captured_inputs " +
                      std::to_string(captured) + " do not fit " + std::to_string(inputs) +
                      " inputs");
  }
  scan.scanned = static_cast<std::size_t>(scanned);
  scan.captured = static_cast<std::size_t>(captured);
  scan.states = context.inputs.size() - scan.scanned - scan.captured;
  return {};
}

Status read_scanned_inputs(const NodeContext& context, Scan& scan) {
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < scan.scanned; ++i) {
    ranks.push_back(context.inputs[scan.states + i]->shape.size());
  }
  scan.input_axes = TRY(axes_of(context.node, "scan_input_axes", ranks));
  scan.input_backwards = TRY(directions_of(context.node, "scan_input_directions", scan.scanned));
  for (std::size_t i = 0; i < scan.scanned; ++i) {
    const Shape& shape = context.inputs[scan.states + i]->shape;
    const std::int64_t steps = shape[scan.input_axes[i]];
    if (i > 0 && steps != scan.steps) {
      return unreadable("scan input " + std::to_string(i) + " has " + std::to_string(steps) +
                        " steps, the first has " + std::to_string(scan.steps));
    }
    scan.steps = steps;
  }
  return {};
}

// What input `index` of the body must be.
TensorType body_input(const NodeContext& context, const Scan& scan, std::size_t index) {
  TensorType type = *context.inputs[index];
  if (index >= scan.states && index < scan.states + scan.scanned) {
    type.shape = without_axis(type.shape, scan.input_axes[index - scan.states]);
  }
  return type;
}

// share_dropout (passes.h) could not hand it a mask for each step.
Status refuse_dropout(const Graph& body) {
  for (const Node& node : body.nodes) {
    if (node.op == "Dropout" && node.inputs.size() > 2 && !node.inputs[2].empty()) {
      return unsupported("the body's node " + node.name +
                         " is a Dropout in training; draw its mask outside and scan over it");
    }
  }
  return {};
}

Status check_body(const NodeContext& context, Scan& scan) {
  const Graph& body = *scan.body;
  TRY(refuse_dropout(body));
  if (body.inputs.size() != context.inputs.size()) {
    return unreadable("the body has " + std::to_string(body.inputs.size()) + " inputs, the node " +
                      std::to_string(context.inputs.size()));
  }
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    const TensorType expected = body_input(context, scan, i);
    if (body.inputs[i].type == expected) continue;
    return unreadable("the body's input " + body.inputs[i].name + " is " +
                      to_string(body.inputs[i].type) + ", given " + to_string(expected));
  }
  scan.body_types = TRY(check_subgraph(body).within("body"));
  if (body.outputs.size() < scan.states) {
    return unreadable("the body has " + std::to_string(body.outputs.size()) + " outputs for " +
                      std::to_string(scan.states) + " states");
  }
  for (std::size_t i = 0; i < scan.states; ++i) {
    const TensorType& after = scan.body_types.find(body.outputs[i])->second;
    if (after == body.inputs[i].type) continue;
    return unreadable("state " + std::to_string(i) + " is " + to_string(body.inputs[i].type) +
                      " before a step and " + to_string(after) + " after it");
  }
  return {};
}

Result<Scan> scan_of(const NodeContext& context) {
  Scan scan;
  const Subgraph body = subgraph_of(context.node, "body");
  scan.body = body.get();
  TRY(count_inputs(context, scan));
  TRY(read_scanned_inputs(context, scan));
  TRY(check_body(context, scan));
  scan.collected = body->outputs.size() - scan.states;
  std::vector<std::size_t> ranks;
  for (std::size_t i = scan.states; i < body->outputs.size(); ++i) {
    ranks.push_back(scan.body_types.find(body->outputs[i])->second.shape.size() + 1);
  }
  scan.output_axes = TRY(axes_of(context.node, "scan_output_axes", ranks));
  scan.output_backwards =
      TRY(directions_of(context.node, "scan_output_directions", scan.collected));
  return scan;
}

OutputTypes infer_scan(const NodeContext& context) {
  const Scan scan = TRY(scan_of(context));
  std::vector<TensorType> outputs;
  for (const std::string& value : scan.body->outputs) {
    outputs.push_back(scan.body_types.find(value)->second);
    if (outputs.size() <= scan.states) continue;
    Shape& shape = outputs.back().shape;
    const std::size_t axis = scan.output_axes[outputs.size() - 1 - scan.states];
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), scan.steps);
  }
  if (context.node.outputs.size() > outputs.size()) {
    return unreadable("has " + std::to_string(context.node.outputs.size()) +
                      " outputs, its body makes " + std::to_string(outputs.size()));
  }
  return outputs;
}

// Of all steps: the multiply-adds of the body's matrix products as operations, or the rest.
std::int64_t scan_cost(const NodeContext& context, bool of_products) {
  const Scan scan = scan_of(context).value();
  std::int64_t step = 0;
  for (const NodeCost& cost : node_costs(*scan.body, scan.body_types)) {
    const std::int64_t products = saturating_product({2, cost.multiply_adds});
    step = saturating_sum(step, of_products ? products : cost.flops - products);
  }
  return saturating_product({step, scan.steps});
}

std::int64_t scan_flops(const NodeContext& context, std::span<const TensorType>) {
  return scan_cost(context, true);
}
std::int64_t scan_other_flops(const NodeContext& context, std::span<const TensorType>) {
  return scan_cost(context, false);
}

// Element `index` of `axis`, without that axis.
std::string element(ExpansionBuilder& b, const std::string& value, std::size_t axis,
                    std::int64_t index) {
  Shape begin(axis + 1, 0), end = b.shape_of(value);
  end.resize(axis + 1);
  begin[axis] = index;
  end[axis] = index + 1;
  const std::string piece = b.slice(value, begin, end);
  return b.reshape(piece, without_axis(b.shape_of(piece), axis));
}

// The values of all steps along a new axis.
std::string stacked(ExpansionBuilder& b, std::vector<std::string> values, std::size_t axis,
                    bool backwards) {
  for (std::string& value : values) {
    Shape shape = b.shape_of(value);
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    value = b.reshape(value, shape);
  }
  if (backwards) std::reverse(values.begin(), values.end());
  if (values.size() == 1) return values[0];
  return b.append("stack", "Concat", values, {{"axis", static_cast<std::int64_t>(axis)}});
}

Status expand_scan(ExpansionBuilder& b) {
  const Scan scan = TRY(scan_of(b.node_inputs().context()));
  const auto body_nodes = static_cast<std::int64_t>(scan.body->nodes.size());
  TRY(check_unrolled(saturating_product({scan.steps, std::max<std::int64_t>(body_nodes / 16, 1)})));
  std::vector<std::string> values = b.node().inputs;  // of the body, in this step
  std::vector<std::vector<std::string>> collected(scan.collected);
  for (std::int64_t step = 0; step < scan.steps; ++step) {
    for (std::size_t i = 0; i < scan.scanned; ++i) {
      const std::int64_t index = scan.input_backwards[i] ? scan.steps - 1 - step : step;
      const std::size_t input = scan.states + i;
      values[input] = element(b, b.input(input), scan.input_axes[i], index);
    }
    const std::vector<std::string> made =
        b.append_graph("step" + std::to_string(step), *scan.body, values);
    std::copy_n(made.begin(), scan.states, values.begin());
    for (std::size_t i = 0; i < scan.collected; ++i) {
      collected[i].push_back(made[scan.states + i]);
    }
  }
  for (std::size_t i = 0; i < scan.states; ++i) b.set_output(i, values[i]);
  for (std::size_t i = 0; i < scan.collected; ++i) {
    if (!b.wants(scan.states + i)) continue;
    b.set_output(scan.states + i,
                 stacked(b, collected[i], scan.output_axes[i], scan.output_backwards[i]));
  }
  return {};
}

}  // namespace

std::vector<OpDef> control_rows() {
  return {
      {.name = "Scan",
       .max_inputs = kVariadic,
       .max_outputs = kVariadic,
       .attributes = {{"body", kGraph, true},
                      {"num_scan_inputs", kInt, true},
                      {"captured_inputs", kInt},
                      {"scan_input_axes", kInts},
                      {"scan_input_directions", kInts},
                      {"scan_output_axes", kInts},
                      {"scan_output_directions", kInts}},
       .infer = infer_scan,
       .flops = scan_flops,
       .multiply_adds = true,
       .other_flops = scan_other_flops,
       .expand = expand_scan,
       .summary =
           "A graph run over slices of its inputs; inputs are the states, the scanned tensors and "
           "captured_inputs values that are the same in every step (which ONNX's body would take "
           "from around it); outputs the final states, then what every step made, stacked"},
  };
}

}  // namespace gradstone
