// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "graph/gradients.h"
#include "graph/onnx_dtype.h"
#include "graph/op_table.h"

namespace gradstone {
namespace {

std::string_view domain_of(std::string_view op) {
  if (find_op("", op)) return "";
  CHECK(find_op(kGradstoneDomain, op), "a gradient rule appends an unknown operator");
  return kGradstoneDomain;
}

std::vector<std::int64_t> counting(std::size_t count) {
  std::vector<std::int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

GradientBuilder::GradientBuilder(Graph graph, ValueTypes types, std::set<std::string> active)
    : graph_(std::move(graph)), types_(std::move(types)), active_(std::move(active)) {
  constant_values_ = constants_of(graph_);
  for (const auto& [name, type] : types_) names_.insert(name);
  for (const Node& node : graph_.nodes) names_.insert(node.name);
}

std::string GradientBuilder::input(std::size_t index) const {
  return index < node_.inputs.size() ? node_.inputs[index] : std::string();
}

NodeInputs GradientBuilder::node_inputs() const {
  return NodeInputs(node_, *find_op(node_.domain, node_.op), types_, constant_values_);
}

std::vector<TensorType> GradientBuilder::output_types(const Node& node) const {
  return infer_node(node, types_, constant_values_).within(node.name).value();
}

std::string GradientBuilder::output(std::size_t index) {
  if (node_.outputs.size() <= index) node_.outputs.resize(index + 1);
  std::string& name = node_.outputs[index];
  if (name.empty()) {
    name = unique_name(node_.name + "/output" + std::to_string(index));
    graph_.nodes[node_index_].outputs = node_.outputs;
    declare(name, output_types(node_)[index]);
  }
  return name;
}

const TensorType& GradientBuilder::type_of(const std::string& value) const {
  const auto found = types_.find(value);
  CHECK(found != types_.end(), "a gradient rule asks for the type of an unknown value");
  return found->second;
}

const Tensor* GradientBuilder::constant(std::size_t index) const {
  const auto found = constant_values_.find(input(index));
  return found == constant_values_.end() ? nullptr : found->second;
}

std::string GradientBuilder::cotangent(std::size_t index) const {
  return index < node_.outputs.size() ? cotangent_of(node_.outputs[index]) : std::string();
}

bool GradientBuilder::wants(std::size_t index) const { return active_.count(input(index)) > 0; }

void GradientBuilder::give(std::size_t index, const std::string& value) {
  if (wants(index)) add_cotangent(input(index), value);
}

std::string GradientBuilder::append(std::string_view label, std::string_view op,
                                    std::vector<std::string> inputs, Attributes attributes) {
  Node node;
  const std::string place = node_.name.empty() ? "grad/" : "grad/" + node_.name + "/";
  node.name = unique_name(place + std::string(label));
  node.op = op;
  node.domain = domain_of(op);
  node.inputs = std::move(inputs);
  node.outputs = {node.name};
  node.attributes = std::move(attributes);
  declare(node.name, output_types(node).front());
  graph_.nodes.push_back(std::move(node));
  origins_.push_back(node_.name);
  return graph_.nodes.back().name;
}

std::string GradientBuilder::add(const std::string& a, const std::string& b) {
  return append("add", "Add", {a, b});
}
std::string GradientBuilder::sub(const std::string& a, const std::string& b) {
  return append("sub", "Sub", {a, b});
}
std::string GradientBuilder::mul(const std::string& a, const std::string& b) {
  return append("mul", "Mul", {a, b});
}
std::string GradientBuilder::div(const std::string& a, const std::string& b) {
  return append("div", "Div", {a, b});
}
std::string GradientBuilder::neg(const std::string& a) { return append("neg", "Neg", {a}); }
std::string GradientBuilder::matmul(const std::string& a, const std::string& b) {
  return append("matmul", "MatMul", {a, b});
}

std::string GradientBuilder::scale(const std::string& a, double factor) {
  return factor == 1 ? a : mul(a, scalar(factor, type_of(a).dtype));
}

std::string GradientBuilder::offset(const std::string& a, double summand) {
  return summand == 0 ? a : add(a, scalar(summand, type_of(a).dtype));
}

std::string GradientBuilder::sum(const std::string& a, const std::vector<std::int64_t>& axes,
                                 bool keep_axes) {
  if (axes.empty()) return a;
  return append("sum", "ReduceSum", {a, integers(axes)},
                {{"keepdims", static_cast<std::int64_t>(keep_axes)}});
}

std::string GradientBuilder::mean(const std::string& a, const std::vector<std::int64_t>& axes) {
  return append("mean", "ReduceMean", {a}, {{"axes", axes}, {"keepdims", std::int64_t{1}}});
}

std::string GradientBuilder::reshape(const std::string& a, const Shape& shape) {
  if (shape_of(a) == shape) return a;
  return append("reshape", "Reshape", {a, integers(shape)});
}

std::string GradientBuilder::expand(const std::string& a, const Shape& shape) {
  if (shape_of(a) == shape) return a;
  return append("expand", "Expand", {a, integers(shape)});
}

std::string GradientBuilder::sum_to(const std::string& a, const Shape& shape) {
  if (shape_of(a) == shape) return a;
  return append("sum_to", "SumTo", {a}, {{"shape", shape}});
}

std::string GradientBuilder::swap_last_axes(const std::string& a) {
  std::vector<std::int64_t> order = counting(shape_of(a).size());
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return append("transpose", "Transpose", {a}, {{"perm", order}});
}

std::string GradientBuilder::slice(const std::string& a, const Shape& begin, const Shape& end) {
  return append("slice", "Slice",
                {a, integers(begin), integers(end), integers(counting(begin.size()))});
}

std::string GradientBuilder::cast(const std::string& a, DType dtype) {
  if (type_of(a).dtype == dtype) return a;
  return append("cast", "Cast", {a}, {{"to", onnx_code(dtype)}});
}

std::string GradientBuilder::scalar(double value, DType dtype) {
  return constant_named("grad/scalar", converted(Tensor::scalar(value).ref(), dtype));
}

std::string GradientBuilder::integers(const std::vector<std::int64_t>& values) {
  return constant_named("grad/integers", Tensor::of<std::int64_t>(
                                             {static_cast<std::int64_t>(values.size())}, values));
}

std::string GradientBuilder::constant_named(const std::string& wish, Tensor value) {
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

void GradientBuilder::add_cotangent(const std::string& value, const std::string& cotangent) {
  CHECK(type_of(cotangent) == type_of(value), "a cotangent differs in type from its value");
  std::string& sum = cotangents_[value];
  sum = sum.empty() ? cotangent : append("accumulate", "Add", {sum, cotangent});
}

std::string GradientBuilder::cotangent_of(const std::string& value) const {
  const auto found = cotangents_.find(value);
  return found == cotangents_.end() ? std::string() : found->second;
}

std::string GradientBuilder::unique_name(const std::string& wish) {
  std::string name = wish;
  for (int i = 2; names_.count(name) > 0; ++i) name = wish + "_" + std::to_string(i);
  names_.insert(name);
  return name;
}

void GradientBuilder::declare(const std::string& value, TensorType type) {
  types_.insert_or_assign(value, std::move(type));
}

std::string GradientBuilder::add_input(const std::string& wish, const TensorType& type) {
  const std::string name = unique_name(wish);
  declare(name, type);
  graph_.inputs.push_back({name, type});
  return name;
}

Status GradientBuilder::differentiate_node(std::size_t index) {
  node_index_ = index;
  node_ = graph_.nodes[index];
  const OpDef* row = find_op(node_.domain, node_.op);
  const std::string place = "node " + node_.name + " (" + node_.op + ")";
  if (!row->gradient) return unsupported(place + ": the operator has no gradient");
  const Status status = row->gradient(*this).within(place);
  node_ = {};
  return status;
}

std::vector<std::int64_t> axes_but_channels(std::size_t rank) {
  std::vector<std::int64_t> axes = counting(rank);
  axes.erase(axes.begin() + 1);
  return axes;
}

}  // namespace gradstone
