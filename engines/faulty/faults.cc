// SPDX-License-Identifier: Apache-2.0
#include "engines/faulty/faults.h"

#include <numeric>

#include "base/suggest.h"

namespace gradstone::faulty {
namespace {

using Integers = std::vector<std::int64_t>;

bool is(const Node& node, std::string_view op, std::string_view domain = "") {
  return node.op == op && node.domain == domain;
}

std::string add_constant(Graph& graph, const std::string& name, const Integers& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  graph.constants.push_back({name, Tensor::of<std::int64_t>({count}, values)});
  return name;
}

Node node_before(const Node& node, const std::string& label, std::string op,
                 std::vector<std::string> inputs) {
  Node added;
  added.name = "fault/" + node.name + "/" + label;
  added.op = std::move(op);
  added.inputs = std::move(inputs);
  added.outputs = {added.name};
  return added;
}

// Appends `node` behind what it needs to read input `index` as `before` leaves it.
void replace_input(std::vector<Node>& nodes, Node& node, std::size_t index, const Node& before) {
  node.inputs[index] = before.outputs[0];
  nodes.push_back(before);
}

// The weight gradient as if dilations were 1: with the far end of x cut off, as many windows fit.
void drop_dilations(reference::Lowered& lowered, const Graph&) {
  Graph& graph = lowered.graph;
  const Result<ValueTypes> types = check_graph(graph);
  CHECK(types.ok(), "the reference's own lowering is not accepted");
  std::vector<Node> nodes;
  std::vector<std::string> origin;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node node = graph.nodes[i];
    const Integers dilations = attribute_or(node, "dilations", Integers{});
    if (is(node, "ConvGradWeight", kGradstoneDomain) && !dilations.empty()) {
      const Shape x = types->find(node.inputs[0])->second.shape;
      const Shape kernel = attribute_or(node, "weight_shape", Integers{});
      Integers ends, axes;
      for (std::size_t axis = 0; axis < dilations.size(); ++axis) {
        ends.push_back(x[axis + 2] - (kernel[axis + 2] - 1) * (dilations[axis] - 1));
        axes.push_back(static_cast<std::int64_t>(axis + 2));
      }
      const std::string name = "fault/" + node.name;
      const Integers starts(dilations.size(), 0);
      Node cut = node_before(
          node, "cut", "Slice",
          {node.inputs[0], add_constant(graph, name + "/starts", starts),
           add_constant(graph, name + "/ends", ends), add_constant(graph, name + "/axes", axes)});
      replace_input(nodes, node, 0, cut);
      origin.push_back(lowered.origin[i]);
      node.attributes.erase("dilations");
    }
    nodes.push_back(std::move(node));
    origin.push_back(lowered.origin[i]);
  }
  graph.nodes = std::move(nodes);
  lowered.origin = std::move(origin);
}

void forget_lrn_attributes(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (!is(node, "LRN")) continue;
    for (const char* name : {"alpha", "beta", "bias"}) node.attributes.erase(name);
  }
}

// The forward pass keeps what only the gradient has forgotten.
void recall_lrn_attributes(reference::Lowered& lowered, const Graph& given) {
  for (Node& node : lowered.graph.nodes) {
    if (!is(node, "LRN")) continue;
    for (const Node& original : given.nodes) {
      if (original.name == node.name) node.attributes = original.attributes;
    }
  }
}

// Alpha multiplied by gamma once too often.
void confuse_selu_constants(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (is(node, "Selu")) node.attributes["alpha"] = 1.7580993408473766;
  }
}

void invert_momentum(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (!is(node, "BatchNormalization")) continue;
    node.attributes["momentum"] = 1 - attribute_or(node, "momentum", 0.9);
  }
}

void take_sample_variance(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (is(node, "BatchNormalization")) node.attributes["running_variance"] = std::string("sample");
  }
}

// Rows of W, R and B for another order of the gates: the first two change places.
Integers swapped_gates(std::int64_t rows, std::int64_t size) {
  Integers order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = 0; i < size; ++i) {
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(size + i)]);
  }
  return order;
}

void reorder_gates(Graph& graph) {
  const Result<ValueTypes> types = check_graph(graph);
  if (!types.ok()) return;  // the reference will say why
  std::vector<Node> nodes;
  for (Node node : graph.nodes) {
    if (is(node, "LSTM") || is(node, "GRU")) {
      const std::int64_t size = attribute_or(node, "hidden_size", std::int64_t{1});
      for (std::size_t input = 1; input < 4 && input < node.inputs.size(); ++input) {
        if (node.inputs[input].empty()) continue;
        const std::int64_t rows = types->find(node.inputs[input])->second.shape[1];
        const std::string label = "order" + std::to_string(input);
        // B holds the biases of W, then those of R.
        Integers order = swapped_gates(input == 3 ? rows / 2 : rows, size);
        if (input == 3) {
          for (std::int64_t i = 0; i < rows / 2; ++i) {
            order.push_back(rows / 2 + order[static_cast<std::size_t>(i)]);
          }
        }
        const std::string places = "fault/" + node.name + "/" + label + "/places";
        Node gather = node_before(node, label, "Gather",
                                  {node.inputs[input], add_constant(graph, places, order)});
        gather.attributes["axis"] = std::int64_t{1};
        replace_input(nodes, node, input, gather);
      }
    }
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

void sum_over_batch(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (!is(node, "SoftmaxCrossEntropyLoss") && !is(node, "NegativeLogLikelihoodLoss")) continue;
    if (attribute_or(node, "reduction", std::string_view("mean")) == "mean") {
      node.attributes["reduction"] = std::string("sum");
    }
  }
}

// The product of a dense layer's weight gradient is the one whose left operand is transposed.
void scale_dense_gradient(reference::Lowered& lowered, const Graph&) {
  for (std::size_t i = lowered.forward_nodes; i < lowered.graph.nodes.size(); ++i) {
    Node& node = lowered.graph.nodes[i];
    if (!is(node, "Gemm") || attribute_or(node, "transA", std::int64_t{0}) == 0) continue;
    node.attributes["alpha"] = attribute_or(node, "alpha", 1.0) * 1.001;
  }
}

constexpr Fault kFaults[] = {
    {"conv-dilations", "the weight gradient of a convolution ignores dilations", nullptr,
     drop_dilations},
    {"lrn-attributes", "the gradient of LRN uses the default attributes", forget_lrn_attributes,
     recall_lrn_attributes},
    {"selu-constant", "Selu's alpha is multiplied by its gamma", confuse_selu_constants, nullptr},
    {"batch-norm-momentum", "running statistics use 1 - momentum", invert_momentum, nullptr},
    {"batch-norm-variance", "the running variance is the sample's, not the population's",
     take_sample_variance, nullptr},
    {"recurrent-gates", "LSTM and GRU read the first two gates in another order", reorder_gates,
     nullptr},
    {"batch-sum", "losses are summed over the batch, not averaged", sum_over_batch, nullptr},
    {"gradient-scale", "the weight gradient of Gemm is 1.001 times what it should be", nullptr,
     scale_dense_gradient},
};

Error refused(const std::string& why) {
  std::string text = "engine faulty: " + why + "; faults:";
  for (const Fault& fault : kFaults) {
    text += (&fault == kFaults ? " " : ", ") + std::string(fault.name) + " (" +
            std::string(fault.help) + ")";
  }
  return usage_error(text);
}

}  // namespace

std::span<const Fault> faults() { return kFaults; }

Result<const Fault*> find_fault(std::string_view argument) {
  if (argument.empty()) return static_cast<const Fault*>(nullptr);
  if (argument == "help") return refused("without a fault it is the reference");
  std::vector<std::string_view> names;
  for (const Fault& fault : kFaults) {
    if (fault.name == argument) return &fault;
    names.push_back(fault.name);
  }
  return refused("unknown fault '" + std::string(argument) + "'" + did_you_mean(argument, names));
}

Result<reference::Lowered> lower_with(const Fault& fault, const ProgramSpec& spec) {
  ProgramSpec changed = spec;
  if (fault.forward != nullptr) fault.forward(changed.graph);
  reference::Lowered lowered = TRY(reference::lower(changed));
  if (fault.lowered != nullptr) fault.lowered(lowered, spec.graph);
  return lowered;
}

}  // namespace gradstone::faulty
