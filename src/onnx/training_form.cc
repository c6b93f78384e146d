// SPDX-License-Identifier: Apache-2.0
#include "onnx/training_form.h"

#include <algorithm>
#include <set>

namespace gradstone::onnx_io {
namespace {

bool is(const Node& node, std::string_view op) { return node.domain.empty() && node.op == op; }

std::int64_t count(const Graph& graph, std::string_view op) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                       [&](const Node& node) { return is(node, op); });
}

Weight* find_weight(Graph& graph, const std::string& name) {
  for (Weight& weight : graph.weights) {
    if (weight.name == name) return &weight;
  }
  return nullptr;
}

// Names of values and nodes, to find new ones.
NameSet names_of(const Graph& graph) {
  NameSet names;
  for (const GraphInput& input : graph.inputs) names.add_exactly(input.name);
  for (const Weight& weight : graph.weights) names.add_exactly(weight.name);
  for (const Constant& constant : graph.constants) names.add_exactly(constant.name);
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) names.add_exactly(output);
  }
  return names;
}

// The weight that holds a running statistic; a constant becomes one. nullptr: it is computed.
Weight* statistic(Assembled& model, const std::string& name) {
  Graph& graph = model.graph;
  if (Weight* weight = find_weight(graph, name)) return weight;
  const auto constant = std::find_if(graph.constants.begin(), graph.constants.end(),
                                     [&](const Constant& each) { return each.name == name; });
  if (constant == graph.constants.end()) return nullptr;
  graph.weights.push_back({name, constant->value.type(), Initializer::constant(0), false});
  model.weights.emplace(name, std::move(constant->value));
  graph.constants.erase(constant);
  return &graph.weights.back();
}

bool is_training(const Node& node) {
  return attribute_or(node, "training_mode", std::int64_t{0}) != 0;
}

// Turns batch norm to the batch's statistics and lets them run.
class BatchNormTraining {
 public:
  explicit BatchNormTraining(Assembled& model) : model_(model), names_(names_of(model.graph)) {}

  // How many nodes were in inference form.
  std::int64_t run() {
    std::int64_t turned = 0;
    for (Node& node : model_.graph.nodes) {
      if (!is(node, "BatchNormalization")) continue;
      const bool was_training = is_training(node);
      if (turn(node) && !was_training) ++turned;
    }
    std::vector<StateUpdate>& updates = model_.graph.state_updates;
    updates.erase(
        std::remove_if(updates.begin(), updates.end(),
                       [&](const StateUpdate& update) { return latest_.count(update.weight) > 0; }),
        updates.end());
    for (const auto& [weight, value] : latest_) updates.push_back({weight, value});
    return turned;
  }

 private:
  bool turn(Node& node) {
    for (std::size_t i = 3; i < 5; ++i) {
      Weight* weight = statistic(model_, node.inputs[i]);
      if (weight == nullptr) return false;
    }
    node.attributes["training_mode"] = std::int64_t{1};
    node.outputs.resize(3);
    for (std::size_t i = 3; i < 5; ++i) {
      const std::string weight = node.inputs[i];
      find_weight(model_.graph, weight)->trainable = false;
      std::string& output = node.outputs[i - 2];
      if (output.empty()) output = names_.add(node.name + (i == 3 ? ".mean" : ".variance"));
      // A layer that is used twice goes on where its first use left off.
      const auto before = latest_.find(weight);
      if (before != latest_.end()) node.inputs[i] = before->second;
      latest_[weight] = output;
    }
    return true;
  }

  Assembled& model_;
  NameSet names_;
  std::map<std::string, std::string> latest_;  // value of each statistic so far
};

// Batch norm with the file's statistics; where a statistic is read, it has to stay.
std::int64_t freeze_batch_norm(Graph& graph) {
  graph.state_updates.clear();
  std::set<std::string> read(graph.outputs.begin(), graph.outputs.end());
  for (const Node& node : graph.nodes) read.insert(node.inputs.begin(), node.inputs.end());
  std::int64_t frozen = 0;
  for (Node& node : graph.nodes) {
    if (!is(node, "BatchNormalization")) continue;
    const bool is_read = std::any_of(node.outputs.begin() + 1, node.outputs.end(),
                                     [&](const std::string& name) { return read.count(name) > 0; });
    if (is_read) continue;
    node.attributes.erase("training_mode");
    node.outputs.resize(1);
    ++frozen;
  }
  return frozen;
}

std::int64_t turn_on_dropout(Graph& graph) {
  NameSet names = names_of(graph);
  std::vector<Constant> added;
  std::int64_t turned = 0;
  for (Node& node : graph.nodes) {
    if (!is(node, "Dropout")) continue;
    const bool given = node.inputs.size() > 2 && !node.inputs[2].empty();
    const Constant* mode = given ? graph.find_constant(node.inputs[2]) : nullptr;
    if (mode != nullptr && element_as_double(mode->value.ref(), 0) != 0) continue;
    node.inputs.resize(3);
    node.inputs[2] = names.add(node.name + ".training");
    added.push_back({node.inputs[2], Tensor::scalar(true)});
    ++turned;
  }
  for (Constant& constant : added) graph.constants.push_back(std::move(constant));
  return turned;
}

// Convolutions and nothing that normalizes, as a file looks after batch norm was folded into them.
bool may_have_folded_batch_norm(const Graph& graph) {
  for (const std::string_view op : {"BatchNormalization", "InstanceNormalization",
                                    "LayerNormalization", "MeanVarianceNormalization", "LRN"}) {
    if (count(graph, op) > 0) return false;
  }
  std::map<std::string, const Node*> reader;
  for (const Node& node : graph.nodes) {
    for (const std::string& input : node.inputs) reader.emplace(input, &node);
  }
  static const std::set<std::string, std::less<>> follows = {
      "Relu", "LeakyRelu", "PRelu", "Clip", "Elu", "Sigmoid", "HardSigmoid", "Tanh", "Add", "Mul"};
  std::int64_t convolutions = 0;
  for (const Node& node : graph.nodes) {
    if (!is(node, "Conv")) continue;
    ++convolutions;
    const auto next = reader.find(node.outputs[0]);
    if (next == reader.end() || follows.count(next->second->op) == 0) return false;
  }
  return convolutions >= 2;
}

}  // namespace

void mark_states(Assembled& model) {
  for (const Node& node : model.graph.nodes) {
    if (!is(node, "BatchNormalization")) continue;
    for (std::size_t i = 3; i < 5; ++i) {
      Weight* weight = find_weight(model.graph, node.inputs[i]);
      if (weight != nullptr) weight->trainable = false;
    }
  }
}

std::vector<std::string> to_training_form(Assembled& model, BatchNormMode batch_norm) {
  std::vector<std::string> notes;
  const auto nodes = [](std::int64_t n) {
    return std::to_string(n) + (n == 1 ? " node" : " nodes");
  };
  if (batch_norm == BatchNormMode::kTrain) {
    const std::int64_t turned = BatchNormTraining(model).run();
    if (turned > 0) {
      notes.push_back("batch norm: " + nodes(turned) +
                      " of the file in inference form, as exporters write it, train here with the "
                      "batch's statistics; --batch-norm frozen keeps the file's");
    }
  } else if (const std::int64_t frozen = freeze_batch_norm(model.graph); frozen > 0) {
    notes.push_back("batch norm: " + nodes(frozen) + " frozen to the file's statistics");
  }
  if (may_have_folded_batch_norm(model.graph)) {
    notes.push_back(
        "batch norm: the file has convolutions but nothing that normalizes; if the model has batch "
        "norm, the exporter folded it into them and it does not train: export it in training mode, "
        "without optimization");
  }
  const std::int64_t dropouts = turn_on_dropout(model.graph);
  if (dropouts > 0) notes.push_back("dropout: " + nodes(dropouts) + " turned on");
  if (count(model.graph, "Dropout") == 0) {
    notes.push_back(
        "dropout: the file has none; if the model has some, the exporter dropped it and it trains "
        "without: export it in training mode");
  }
  return notes;
}

}  // namespace gradstone::onnx_io
