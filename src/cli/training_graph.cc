// SPDX-License-Identifier: Apache-2.0
#include "cli/training_graph.h"

#include "base/suggest.h"
#include "graph/passes.h"
#include "recipe/workload.h"

namespace gradstone {
namespace {

// A table of one-hot rows takes the square of this many numbers.
constexpr std::int64_t kMostOneHotClasses = 4096;

void rename(std::vector<std::string>& names, std::string_view from, std::string_view to) {
  for (std::string& name : names) {
    if (name == from) name = to;
  }
}

// Gives a value another name wherever it stands.
void rename_value(Graph& graph, std::string_view from, std::string_view to) {
  const auto rename_one = [&](std::string& name) {
    if (name == from) name = to;
  };
  for (GraphInput& input : graph.inputs) rename_one(input.name);
  for (Constant& constant : graph.constants) rename_one(constant.name);
  for (Node& node : graph.nodes) {
    rename(node.inputs, from, to);
    rename(node.outputs, from, to);
  }
  rename(graph.outputs, from, to);
  for (StateUpdate& update : graph.state_updates) rename_one(update.value);
}

bool is_taken(const ValueTypes& types, const Graph& graph, const std::string& name) {
  bool is_node = false;
  for (const Node& node : graph.nodes) is_node = is_node || node.name == name;
  return is_node || types.count(name) > 0;
}

// Frees the names that a training graph gives to its parts.
Status clear_names(Graph& graph, const ValueTypes& types) {
  for (const std::string_view name : {kImageInput, kLabelInput, kLossValue, kLogitsValue}) {
    if (graph.find_weight(name) != nullptr) {
      return unsupported("a weight is called '" + std::string(name) +
                         "', as a part of the training graph; rename it in the model");
    }
    std::string other = std::string(name) + ".model";
    while (is_taken(types, graph, other)) other += "_";
    rename_value(graph, name, other);
    for (Node& node : graph.nodes) {
      if (node.name == name) node.name = other;
    }
  }
  return {};
}

Node make_node(std::string name, std::string op, std::vector<std::string> inputs,
               std::string output) {
  Node node;
  node.name = std::move(name);
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.outputs = {std::move(output)};
  return node;
}

// The rows of an identity matrix that the labels name.
Status add_one_hot(Graph& graph, DType dtype, std::int64_t classes) {
  if (classes > kMostOneHotClasses) {
    return unsupported("one-hot labels of " + std::to_string(classes) + " classes; the most are " +
                       std::to_string(kMostOneHotClasses));
  }
  Tensor eye({DType::kFloat64, {classes, classes}});
  for (std::int64_t i = 0; i < classes; ++i) {
    eye.as<double>()[static_cast<std::size_t>(i * classes + i)] = 1;
  }
  graph.constants.push_back({"loss/rows", converted(eye.ref(), dtype)});
  graph.nodes.push_back(
      make_node("loss/one_hot", "Gather", {"loss/rows", std::string(kLabelInput)}, "loss/one_hot"));
  return {};
}

void add_loss(Graph& graph, const LossChoice& choice, DType dtype) {
  const std::string loss(kLossValue), logits(kLogitsValue), label(kLabelInput);
  const auto add = [&](const std::string& name, const std::string& op,
                       const std::vector<std::string>& inputs) {
    graph.nodes.push_back(make_node(name, op, inputs, name));
  };
  if (choice.loss == Loss::kMeanSquaredError) {
    add("loss/error", "Sub", {logits, "loss/one_hot"});
    add("loss/squares", "Mul", {"loss/error", "loss/error"});
    add(loss, "ReduceMean", {"loss/squares"});
    graph.nodes.back().attributes["keepdims"] = std::int64_t{0};
  } else if (choice.labels == Labels::kIndex) {
    const bool is_softmax = choice.loss == Loss::kSoftmaxCrossEntropy;
    add(loss, is_softmax ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss",
        {logits, label});
  } else {
    // Minus the mean over the batch of the sum over classes of target times log probability.
    std::string log_probabilities = logits;
    if (choice.loss == Loss::kSoftmaxCrossEntropy) {
      add("loss/log_probabilities", "LogSoftmax", {logits});
      log_probabilities = "loss/log_probabilities";
    }
    add("loss/chosen", "Mul", {log_probabilities, "loss/one_hot"});
    graph.constants.push_back(
        {"loss/class_axis", Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{1})});
    add("loss/sum", "ReduceSum", {"loss/chosen", "loss/class_axis"});
    add("loss/mean", "ReduceMean", {"loss/sum"});
    graph.nodes.back().attributes["keepdims"] = std::int64_t{0};
    graph.constants.push_back({"loss/minus_one", converted(Tensor::scalar(-1.0).ref(), dtype)});
    add(loss, "Mul", {"loss/mean", "loss/minus_one"});
  }
}

}  // namespace

Result<LossChoice> loss_choice(const std::string& loss, const std::string& labels) {
  LossChoice choice;
  if (loss == "nll") {
    choice.loss = Loss::kNegativeLogLikelihood;
  } else if (loss == "mse") {
    choice.loss = Loss::kMeanSquaredError;
  } else if (!loss.empty() && loss != "softmax-cross-entropy") {
    return usage_error("--loss: there is no '" + loss + "'" +
                       did_you_mean(loss, {"softmax-cross-entropy", "nll", "mse"}) +
                       "; there are softmax-cross-entropy, nll, mse");
  }
  const bool is_mse = choice.loss == Loss::kMeanSquaredError;
  if (!labels.empty() && labels != "index" && labels != "one-hot") {
    return usage_error("--labels: there is no '" + labels + "'; it is index or one-hot");
  }
  if (is_mse && labels == "index") {
    return usage_error("--loss mse compares with one-hot labels; leave --labels out");
  }
  choice.labels = is_mse || labels == "one-hot" ? Labels::kOneHot : Labels::kIndex;
  return choice;
}

Result<Graph> with_loss(const Graph& graph, const LossChoice& choice) {
  Graph made = graph;
  made.outputs.resize(1);
  const ValueTypes types = TRY(check_graph(made));
  if (made.inputs.size() != 1 || !is_floating(made.inputs[0].type.dtype)) {
    std::string list;
    for (const GraphInput& input : made.inputs) {
      list += (list.empty() ? "" : ", ") + input.name + " (" + to_string(input.type) + ")";
    }
    return unsupported("the model's inputs are " + (list.empty() ? "none" : list) +
                       "; training feeds one floating input and labels");
  }
  const TensorType logits = types.find(made.outputs[0])->second;
  const Shape& image = made.inputs[0].type.shape;
  if (logits.shape.size() != 2 || image.empty() || logits.shape[0] != image[0]) {
    return unsupported("output '" + made.outputs[0] + "' is " + to_string(logits) +
                       "; training needs [batch, classes]");
  }
  TRY(clear_names(made, types));
  rename_value(made, std::string(made.inputs[0].name), kImageInput);
  rename_value(made, std::string(made.outputs[0]), kLogitsValue);
  made.inputs.push_back({std::string(kLabelInput), {DType::kInt64, {logits.shape[0]}}});
  if (choice.labels == Labels::kOneHot) TRY(add_one_hot(made, logits.dtype, logits.shape[1]));
  add_loss(made, choice, logits.dtype);
  made.outputs = {std::string(kLossValue), std::string(kLogitsValue)};
  made = pruned(made, made.outputs, /*drop_inputs=*/false);
  TRY(check_graph(made));
  return made;
}

}  // namespace gradstone
