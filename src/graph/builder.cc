// SPDX-License-Identifier: Apache-2.0
#include "graph/builder.h"

#include <algorithm>

#include "graph/node_rules.h"

namespace gradstone {
namespace {

using Attributes = std::map<std::string, Attribute>;

std::string joined(std::string_view name, std::string_view part) {
  return std::string(name) + "." + std::string(part);
}

std::vector<std::int64_t> list_of(const Extent2& extent) { return {extent.height, extent.width}; }

// ONNX's pads: beginnings of all axes, then ends.
std::vector<std::int64_t> pads_of(const Extent2& pad) {
  return {pad.height, pad.width, pad.height, pad.width};
}

bool is_one(const Extent2& extent) { return extent.height == 1 && extent.width == 1; }

Attributes conv_attributes(const ConvOptions& options) {
  Attributes attributes = {{"kernel_shape", list_of(options.kernel)},
                           {"strides", list_of(options.stride)}};
  if (options.auto_pad.empty()) {
    attributes["pads"] = pads_of(options.pad);
  } else {
    attributes["auto_pad"] = options.auto_pad;
  }
  if (!is_one(options.dilation)) attributes["dilations"] = list_of(options.dilation);
  if (options.groups != 1) attributes["group"] = options.groups;
  return attributes;
}

void replace(std::string& name, const std::string& from, std::string_view to) {
  if (name == from) name = to;
}

}  // namespace

GraphBuilder::GraphBuilder(std::string graph_name) { graph_.name = std::move(graph_name); }

void GraphBuilder::fail(std::string_view node, std::string_view message) {
  if (failed()) return;
  const std::string_view separator = message.substr(0, 1) == "(" ? " " : ": ";
  status_ = unreadable("workload " + graph_.name + ": node " + std::string(node) +
                       std::string(separator) + std::string(message));
}

void GraphBuilder::add_type(const std::string& name, TensorType type) {
  if (name.empty() || failed()) return;
  if (!types_.emplace(name, std::move(type)).second) {
    fail(name, "another value has this name");
  }
}

Value GraphBuilder::input(std::string_view name, DType dtype, Shape shape) {
  graph_.inputs.push_back({std::string(name), {dtype, std::move(shape)}});
  add_type(graph_.inputs.back().name, graph_.inputs.back().type);
  return {std::string(name)};
}

Value GraphBuilder::weight(std::string_view name, Shape shape, Initializer initializer,
                           bool trainable) {
  graph_.weights.push_back(
      {std::string(name), {DType::kFloat32, std::move(shape)}, initializer, trainable});
  add_type(graph_.weights.back().name, graph_.weights.back().type);
  return {std::string(name)};
}

Value GraphBuilder::constant(std::string_view name, Tensor value) {
  graph_.constants.push_back({std::string(name), std::move(value)});
  add_type(graph_.constants.back().name, graph_.constants.back().value.type());
  return {std::string(name)};
}

Value GraphBuilder::node(std::string_view name, std::string_view op,
                         const std::vector<Value>& inputs, Attributes attributes) {
  Node node{std::string(name), std::string(op), "", {}, {std::string(name)}, std::move(attributes)};
  for (const Value& input : inputs) node.inputs.push_back(input.name);
  append(std::move(node));
  return {std::string(name)};
}

void GraphBuilder::append(Node node) {
  if (failed()) return;
  for (const std::string& input : node.inputs) {
    if (!input.empty() && types_.count(input) == 0) {
      return fail(node.name, "reads '" + input + "', which is not there yet");
    }
  }
  Result<std::vector<TensorType>> types = infer_node(node, types_, constants_of(graph_));
  if (!types.ok()) return fail(node.name, types.error().message);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) add_type(node.outputs[i], (*types)[i]);
  graph_.nodes.push_back(std::move(node));
}

bool GraphBuilder::expect_rank(std::string_view node, const Value& x, std::size_t rank) {
  const Shape extents = shape(x);
  if (!failed() && extents.size() != rank) {
    fail(node,
         "the input must have " + std::to_string(rank) + " axes, it is " + to_string(extents));
  }
  return !failed();
}

Value GraphBuilder::conv(std::string_view name, const Value& x, const ConvOptions& options) {
  if (!expect_rank(name, x, 4)) return {};
  const std::int64_t channels = extent(x, 1);
  if (options.groups < 1 || channels % options.groups != 0) {
    fail(name, std::to_string(channels) + " input channels do not divide into " +
                   std::to_string(options.groups) + " groups");
    return {};
  }
  std::vector<Value> inputs = {x, weight(joined(name, "weight"),
                                         {options.filters, channels / options.groups,
                                          options.kernel.height, options.kernel.width},
                                         options.weight_init)};
  if (options.bias) {
    inputs.push_back(weight(joined(name, "bias"), {options.filters}, options.bias_init));
  }
  return node(name, "Conv", inputs, conv_attributes(options));
}

Value GraphBuilder::dense(std::string_view name, const Value& x, const DenseOptions& options) {
  if (failed()) return {};
  const Value rows = shape(x).size() == 2 ? x : flatten(joined(name, "flatten"), x);
  std::vector<Value> inputs = {
      rows, weight(joined(name, "weight"), {options.units, extent(rows, 1)}, options.weight_init)};
  if (options.bias) {
    inputs.push_back(weight(joined(name, "bias"), {options.units}, options.bias_init));
  }
  return node(name, "Gemm", inputs, {{"transB", std::int64_t{1}}});
}

Value GraphBuilder::batch_norm(std::string_view name, const Value& x,
                               const BatchNormOptions& options) {
  if (failed()) return {};
  const Shape channels = {extent(x, 1)};
  const Value mean =
      weight(joined(name, "running_mean"), channels, Initializer::constant(0), false);
  const Value variance =
      weight(joined(name, "running_var"), channels, Initializer::constant(1), false);
  const Value new_mean{joined(name, "new_running_mean")};
  const Value new_variance{joined(name, "new_running_var")};
  append({std::string(name),
          "BatchNormalization",
          "",
          {x.name, weight(joined(name, "weight"), channels, options.weight_init).name,
           weight(joined(name, "bias"), channels, Initializer::constant(0)).name, mean.name,
           variance.name},
          {std::string(name), new_mean.name, new_variance.name},
          {{"momentum", options.momentum},
           {"epsilon", options.epsilon},
           {"training_mode", std::int64_t{1}},
           {"running_variance", options.running_variance}}});
  update_state(mean, new_mean);
  update_state(variance, new_variance);
  return {std::string(name)};
}

Value GraphBuilder::dropout(std::string_view name, const Value& x, double ratio) {
  const Value share =
      constant(joined(name, "ratio"), Tensor::scalar<float>(static_cast<float>(ratio)));
  const Value training = constant(joined(name, "training_mode"), Tensor::scalar<bool>(true));
  return node(name, "Dropout", {x, share, training});
}

Value GraphBuilder::lrn(std::string_view name, const Value& x, const LrnOptions& options) {
  return node(name, "LRN", {x},
              {{"size", options.size},
               {"alpha", options.alpha},
               {"beta", options.beta},
               {"bias", options.bias}});
}

Value GraphBuilder::pool(std::string_view name, std::string_view op, const Value& x,
                         const PoolOptions& options) {
  const bool as_kernel = options.stride.height == 0 && options.stride.width == 0;
  Attributes attributes = {{"kernel_shape", list_of(options.kernel)},
                           {"strides", list_of(as_kernel ? options.kernel : options.stride)},
                           {"pads", pads_of(options.pad)}};
  if (options.ceil_mode) attributes["ceil_mode"] = std::int64_t{1};
  if (options.count_include_pad) attributes["count_include_pad"] = std::int64_t{1};
  return node(name, op, {x}, std::move(attributes));
}

Value GraphBuilder::max_pool(std::string_view name, const Value& x, const PoolOptions& options) {
  return pool(name, "MaxPool", x, options);
}

Value GraphBuilder::average_pool(std::string_view name, const Value& x,
                                 const PoolOptions& options) {
  return pool(name, "AveragePool", x, options);
}

Value GraphBuilder::reshape(std::string_view name, const Value& x, Shape shape) {
  const std::int64_t rank = static_cast<std::int64_t>(shape.size());
  const Value target = constant(joined(name, "shape"), Tensor::of<std::int64_t>({rank}, shape));
  return node(name, "Reshape", {x, target});
}

Value GraphBuilder::flatten(std::string_view name, const Value& x, std::int64_t axis) {
  return node(name, "Flatten", {x}, {{"axis", axis}});
}

Value GraphBuilder::transpose(std::string_view name, const Value& x,
                              std::vector<std::int64_t> permutation) {
  return node(name, "Transpose", {x}, {{"perm", std::move(permutation)}});
}

Value GraphBuilder::concat(std::string_view name, const std::vector<Value>& values,
                           std::int64_t axis) {
  return node(name, "Concat", values, {{"axis", axis}});
}

Value GraphBuilder::gather(std::string_view name, const Value& x, const Value& indices,
                           std::int64_t axis) {
  return node(name, "Gather", {x, indices}, {{"axis", axis}});
}

Value GraphBuilder::reduce_mean(std::string_view name, const Value& x,
                                std::vector<std::int64_t> axes, bool keep_axes) {
  return node(name, "ReduceMean", {x},
              {{"axes", std::move(axes)}, {"keepdims", std::int64_t{keep_axes}}});
}

Value GraphBuilder::softmax(std::string_view name, const Value& x, std::int64_t axis) {
  return node(name, "Softmax", {x}, {{"axis", axis}});
}

Value GraphBuilder::log_softmax(std::string_view name, const Value& x, std::int64_t axis) {
  return node(name, "LogSoftmax", {x}, {{"axis", axis}});
}

Value GraphBuilder::softmax_cross_entropy(std::string_view name, const Value& logits,
                                          const Value& labels) {
  return node(name, "SoftmaxCrossEntropyLoss", {logits, labels});
}

Value GraphBuilder::rename(const Value& value, std::string_view name) {
  const auto found = types_.find(value.name);
  if (failed() || found == types_.end()) return {};
  const bool is_made = std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
    return std::count(node.outputs.begin(), node.outputs.end(), value.name) > 0;
  });
  if (!is_made) {
    fail(value.name, "is no node; only a node's value can be renamed");
    return {};
  }
  const TensorType type = found->second;
  types_.erase(found);
  add_type(std::string(name), type);
  for (Node& node : graph_.nodes) {
    for (std::string& input : node.inputs) replace(input, value.name, name);
    for (std::string& output : node.outputs) replace(output, value.name, name);
  }
  for (StateUpdate& update : graph_.state_updates) replace(update.value, value.name, name);
  return {std::string(name)};
}

void GraphBuilder::update_state(const Value& weight, const Value& value) {
  graph_.state_updates.push_back({weight.name, value.name});
}

Shape GraphBuilder::shape(const Value& value) const {
  const auto found = types_.find(value.name);
  return failed() || found == types_.end() ? Shape{} : found->second.shape;
}

std::int64_t GraphBuilder::extent(const Value& value, std::size_t axis) const {
  const Shape extents = shape(value);
  return axis < extents.size() ? extents[axis] : 0;
}

Result<Graph> GraphBuilder::finish(const std::vector<Value>& outputs) {
  if (failed()) return status_.error();
  for (const Value& output : outputs) graph_.outputs.push_back(output.name);
  if (Result<ValueTypes> types = check_graph(graph_); !types.ok()) return types.error();
  return std::move(graph_);
}

}  // namespace gradstone
