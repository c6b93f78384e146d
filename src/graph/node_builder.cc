// SPDX-License-Identifier: Apache-2.0
#include "graph/node_builder.h"

#include <numeric>

#include "graph/onnx_dtype.h"
#include "graph/op_table.h"

namespace gradstone {
namespace {

std::string_view domain_of(std::string_view op) {
  if (find_op("", op)) return "";
  CHECK(find_op(kGradstoneDomain, op), "a rule appends an unknown operator");
  return kGradstoneDomain;
}

std::vector<std::int64_t> counting(std::size_t count) {
  std::vector<std::int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

NodeBuilder::NodeBuilder(Graph graph, ValueTypes types, std::string prefix)
    : graph_(std::move(graph)), prefix_(std::move(prefix)), types_(std::move(types)) {
  constant_values_ = constants_of(graph_);
  for (const auto& [name, type] : types_) names_.insert(name);
  for (const Node& node : graph_.nodes) names_.insert(node.name);
}

std::string NodeBuilder::input(std::size_t index) const {
  return index < node_.inputs.size() ? node_.inputs[index] : std::string();
}

NodeInputs NodeBuilder::node_inputs() const {
  return NodeInputs(node_, *find_op(node_.domain, node_.op), types_, constant_values_);
}

std::vector<TensorType> NodeBuilder::output_types(const Node& node) const {
  return infer_node(node, types_, constant_values_).within(node.name).value();
}

const TensorType& NodeBuilder::type_of(const std::string& value) const {
  const auto found = types_.find(value);
  CHECK(found != types_.end(), "a rule asks for the type of an unknown value");
  return found->second;
}

const Tensor* NodeBuilder::constant(std::size_t index) const {
  const auto found = constant_values_.find(input(index));
  return found == constant_values_.end() ? nullptr : found->second;
}

std::string NodeBuilder::append(std::string_view label, std::string_view op,
                                std::vector<std::string> inputs, Attributes attributes) {
  return append_many(label, op, std::move(inputs), 1, std::move(attributes)).front();
}

std::vector<std::string> NodeBuilder::append_many(std::string_view label, std::string_view op,
                                                  std::vector<std::string> inputs,
                                                  std::size_t outputs, Attributes attributes) {
  Node node;
  node.name = unique_name(place() + std::string(label));
  node.op = op;
  node.domain = domain_of(op);
  node.inputs = std::move(inputs);
  node.outputs = {node.name};
  for (std::size_t i = 1; i < outputs; ++i) {
    node.outputs.push_back(unique_name(node.name + "/output" + std::to_string(i)));
  }
  node.attributes = std::move(attributes);
  append_node(std::move(node));
  return graph_.nodes.back().outputs;
}

std::string NodeBuilder::place() const {
  return node_.name.empty() ? prefix_ : prefix_ + node_.name + "/";
}

void NodeBuilder::append_node(Node node) {
  const std::vector<TensorType> types = output_types(node);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].empty()) declare(node.outputs[i], types[i]);
  }
  graph_.nodes.push_back(std::move(node));
}

std::vector<std::string> NodeBuilder::append_graph(std::string_view label, const Graph& body,
                                                   const std::vector<std::string>& inputs) {
  std::map<std::string, std::string> outer = {{"", ""}};  // names by those in the body
  for (std::size_t i = 0; i < inputs.size(); ++i) outer[body.inputs[i].name] = inputs[i];
  for (const Constant& constant : body.constants) {
    outer[constant.name] = constant_value(constant.value);
  }
  const std::string prefix = place() + std::string(label) + "/";
  for (Node node : body.nodes) {
    node.name = unique_name(prefix + node.name);
    for (std::string& input : node.inputs) input = outer.at(input);
    for (std::string& output : node.outputs) {
      if (!output.empty()) output = outer[output] = unique_name(prefix + output);
    }
    append_node(std::move(node));
  }
  std::vector<std::string> outputs;
  for (const std::string& output : body.outputs) outputs.push_back(outer.at(output));
  return outputs;
}

std::string NodeBuilder::add(const std::string& a, const std::string& b) {
  return append("add", "Add", {a, b});
}
std::string NodeBuilder::sub(const std::string& a, const std::string& b) {
  return append("sub", "Sub", {a, b});
}
std::string NodeBuilder::mul(const std::string& a, const std::string& b) {
  return append("mul", "Mul", {a, b});
}
std::string NodeBuilder::div(const std::string& a, const std::string& b) {
  return append("div", "Div", {a, b});
}
std::string NodeBuilder::neg(const std::string& a) { return append("neg", "Neg", {a}); }
std::string NodeBuilder::matmul(const std::string& a, const std::string& b) {
  return append("matmul", "MatMul", {a, b});
}

std::string NodeBuilder::scale(const std::string& a, double factor) {
  return factor == 1 ? a : mul(a, scalar(factor, type_of(a).dtype));
}

std::string NodeBuilder::offset(const std::string& a, double summand) {
  return summand == 0 ? a : add(a, scalar(summand, type_of(a).dtype));
}

std::string NodeBuilder::sum(const std::string& a, const std::vector<std::int64_t>& axes,
                             bool keep_axes) {
  if (axes.empty()) return a;
  return append("sum", "ReduceSum", {a, integers(axes)},
                {{"keepdims", static_cast<std::int64_t>(keep_axes)}});
}

std::string NodeBuilder::mean(const std::string& a, const std::vector<std::int64_t>& axes) {
  return append("mean", "ReduceMean", {a}, {{"axes", axes}, {"keepdims", std::int64_t{1}}});
}

std::string NodeBuilder::reshape(const std::string& a, const Shape& shape) {
  if (shape_of(a) == shape) return a;
  return append("reshape", "Reshape", {a, integers(shape)});
}

std::string NodeBuilder::expand(const std::string& a, const Shape& shape) {
  if (shape_of(a) == shape) return a;
  return append("expand", "Expand", {a, integers(shape)});
}

std::string NodeBuilder::sum_to(const std::string& a, const Shape& shape) {
  if (shape_of(a) == shape) return a;
  return append("sum_to", "SumTo", {a}, {{"shape", shape}});
}

std::string NodeBuilder::swap_last_axes(const std::string& a) {
  std::vector<std::int64_t> order = counting(shape_of(a).size());
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return append("transpose", "Transpose", {a}, {{"perm", order}});
}

std::string NodeBuilder::slice(const std::string& a, const Shape& begin, const Shape& end) {
  return append("slice", "Slice",
                {a, integers(begin), integers(end), integers(counting(begin.size()))});
}

std::string NodeBuilder::cast(const std::string& a, DType dtype) {
  if (type_of(a).dtype == dtype) return a;
  return append("cast", "Cast", {a}, {{"to", onnx_code(dtype)}});
}

std::string NodeBuilder::scalar(double value, DType dtype) {
  return constant_named(prefix_ + "scalar", converted(Tensor::scalar(value).ref(), dtype));
}

std::string NodeBuilder::integers(const std::vector<std::int64_t>& values) {
  return constant_named(
      prefix_ + "integers",
      Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

std::string NodeBuilder::constant_value(const Tensor& value) {
  return constant_named(prefix_ + "constant", value);
}

std::string NodeBuilder::constant_named(const std::string& wish, Tensor value) {
  const std::string content =
      to_string(value.type()) +
      std::string(reinterpret_cast<const char*>(value.data()), value.type().bytes());
  std::string& name = constants_[content];
  if (name.empty()) {
    name = unique_name(wish);
    declare(name, value.type());
    added_constants_.push_back({name, std::move(value)});
    constant_values_[added_constants_.back().name] = &added_constants_.back().value;
  }
  return name;
}

std::string NodeBuilder::unique_name(const std::string& wish) {
  int& last = last_number_[wish];  // unrolled loops wish for one name thousands of times
  std::string name = wish;
  while (!names_.insert(name).second) name = wish + "_" + std::to_string(++last + 1);
  return name;
}

void NodeBuilder::declare(const std::string& value, TensorType type) {
  types_.insert_or_assign(value, std::move(type));
}

}  // namespace gradstone
