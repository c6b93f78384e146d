// SPDX-License-Identifier: Apache-2.0
// Nodes with attribute settings and inputs on which gradient rules are tested: their shapes in
// src/graph, their values by finite differences in engines/reference. At least one for every rule.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "graph/graph.h"
#include "graph/node_rules.h"

namespace gradstone::testing {

using Attributes = std::map<std::string, Attribute>;
using Integers = std::vector<std::int64_t>;

// Values of a floating input, chosen so that no kink is near.
enum class Values {
  kAny,           // uniform in [-1, 1)
  kPositive,      // uniform in [0.5, 1.5)
  kAwayFromZero,  // magnitude in [0.3, 1.3), either sign
  kDistinct,      // a shuffled grid around 0: any two differ by 0.1 or more, none is near 0
  kWithZeros,     // every second one 0, the others in [0.5, 1.5)
};

struct CaseInput {
  TensorType type;
  Values values = Values::kAny;
  std::optional<Tensor> constant;  // not differentiated
};

struct GradientCase {
  std::string name;  // "Conv: groups"
  std::string op;
  std::vector<std::optional<CaseInput>> inputs;  // nullopt: absent
  Attributes attributes;
  std::vector<std::size_t> from = {0};  // outputs that are differentiated
  std::size_t outputs = 1;
};

inline CaseInput real(Shape shape, Values values = Values::kAny) {
  return {{DType::kFloat64, std::move(shape)}, values, std::nullopt};
}

inline CaseInput fixed(Tensor value) { return {value.type(), Values::kAny, value}; }
inline CaseInput integers(const Shape& shape, const Integers& values) {
  return fixed(Tensor::of<std::int64_t>(shape, values));
}
inline CaseInput integers(const Integers& values) {
  return integers({static_cast<std::int64_t>(values.size())}, values);
}
inline CaseInput reals(const Shape& shape, const std::vector<double>& values) {
  return fixed(Tensor::of<double>(shape, values));
}

// Input i of a case is graph input (or constant) `x<i>`, output i is value `y<i>` of node `node`.
inline Graph graph_of(const GradientCase& test) {
  Graph graph;
  graph.name = test.name;
  Node node{"node", test.op, "", {}, {}, test.attributes};
  if (find_op("", test.op) == nullptr) node.domain = kGradstoneDomain;
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    const std::string name = test.inputs[i] ? "x" + std::to_string(i) : "";
    node.inputs.push_back(name);
    if (!test.inputs[i]) continue;
    if (test.inputs[i]->constant) {
      graph.constants.push_back({name, *test.inputs[i]->constant});
    } else {
      graph.inputs.push_back({name, test.inputs[i]->type});
    }
  }
  for (std::size_t i = 0; i < test.outputs; ++i) node.outputs.push_back("y" + std::to_string(i));
  graph.outputs = node.outputs;
  graph.nodes.push_back(std::move(node));
  return graph;
}

inline std::vector<std::string> from_of(const GradientCase& test) {
  std::vector<std::string> names;
  for (const std::size_t output : test.from) names.push_back("y" + std::to_string(output));
  return names;
}

inline std::vector<std::string> wrt_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphInput& input : graph.inputs) names.push_back(input.name);
  return names;
}

inline double case_value(Values values, const CounterRandom& random, std::int64_t index,
                         std::uint32_t place) {
  const auto i = static_cast<std::uint64_t>(index);
  const double uniform = random.uniform(i);
  switch (values) {
    case Values::kPositive:
      return 0.5 + uniform;
    case Values::kAwayFromZero:
      return (random.bits(i + 1000000) % 2 == 0 ? 1 : -1) * (0.3 + uniform);
    case Values::kDistinct:
      return (place % 2 == 0 ? 1 : -1) * (0.15 + 0.1 * place);
    case Values::kWithZeros:
      return index % 2 == 0 ? 0 : 0.5 + uniform;
    case Values::kAny:
      break;
  }
  return 2 * uniform - 1;
}

// float64 values of a shape; the stream tells inputs apart.
inline Tensor case_tensor(const Shape& shape, Values values, std::string_view stream) {
  const CounterRandom random(1, stream_of(stream));
  Tensor tensor({DType::kFloat64, shape});
  const std::span<double> elements = tensor.as<double>();
  const std::vector<std::uint32_t> places = permutation(random, elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] = case_value(values, random, static_cast<std::int64_t>(i), places[i]);
  }
  return tensor;
}

inline std::vector<GradientCase> broadcasting_cases() {
  std::vector<GradientCase> cases;
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{3}, {2, 3}},       {{3, 1}, {1, 4}},
      {{2, 3}, {}},     {{}, {2, 2}},  {{2, 1, 3}, {4, 1}}, {{1}, {}}};
  for (const auto& [a, b] : shapes) {
    const std::string name = ": " + to_string(a) + " with " + to_string(b);
    cases.push_back({"Add" + name, "Add", {real(a), real(b)}, {}});
    cases.push_back({"Sub" + name, "Sub", {real(a), real(b)}, {}});
    cases.push_back({"Mul" + name, "Mul", {real(a), real(b)}, {}});
    cases.push_back({"Div" + name, "Div", {real(a), real(b, Values::kAwayFromZero)}, {}});
    cases.push_back({"Pow" + name, "Pow", {real(a, Values::kPositive), real(b)}, {}});
  }
  return cases;
}

inline std::vector<GradientCase> power_cases() {
  std::vector<GradientCase> cases;
  for (const double power : {-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0}) {
    cases.push_back({"Pow: constant " + std::to_string(power),
                     "Pow",
                     {real({5}, Values::kPositive), reals({}, {power})},
                     {}});
  }
  for (const double power : {0.0, 1.0, 2.0, 3.0}) {
    cases.push_back({"Pow: constant " + std::to_string(power) + " of zeros",
                     "Pow",
                     {real({4}, Values::kWithZeros), reals({}, {power})},
                     {}});
  }
  cases.push_back({"Pow: negative base",
                   "Pow",
                   {real({2, 2}, Values::kAwayFromZero), reals({2, 2}, {3, 3, 3, 3})},
                   {}});
  cases.push_back({"Pow: constant broadcasts the base",
                   "Pow",
                   {real({1, 2}, Values::kPositive), reals({3, 1}, {2, 2, 2})},
                   {}});
  cases.push_back({"Pow: several constants",
                   "Pow",
                   {real({3}, Values::kPositive), reals({3}, {-1, 2, 0.5})},
                   {}});
  cases.push_back({"Pow: constant base", "Pow", {reals({3}, {0.5, 1, 2}), real({2, 3})}, {}});
  return cases;
}

inline std::vector<GradientCase> unary_cases() {
  std::vector<GradientCase> cases;
  for (const std::string op : {"Neg", "Exp", "Tanh", "Sigmoid", "Identity"}) {
    cases.push_back({op, op, {real({2, 3})}, {}});
    cases.push_back({op + ": a scalar", op, {real({})}, {}});
  }
  for (const std::string op : {"Log", "Sqrt", "Reciprocal"}) {
    cases.push_back({op, op, {real({2, 3}, Values::kPositive)}, {}});
  }
  for (const std::string op : {"Relu", "HeavisideStep"}) {
    cases.push_back({op, op, {real({3, 4}, Values::kAwayFromZero)}, {}});
  }
  cases.push_back({"Cast: to the same type", "Cast", {real({3})}, {{"to", std::int64_t{11}}}});
  const CaseInput no = fixed(Tensor::scalar(false)), ratio = reals({}, {0.25});
  cases.push_back({"Dropout: inference", "Dropout", {real({2, 3}), ratio, no}, {}});
  cases.push_back({"Dropout: no mode", "Dropout", {real({2, 3})}, {}});
  return cases;
}

inline std::vector<GradientCase> reduction_cases() {
  std::vector<GradientCase> cases;
  const std::vector<Integers> axes_lists = {{0}, {1}, {-1}, {0, 2}, {1, -1}, {0, 1, 2}};
  for (const std::int64_t keep : {0, 1}) {
    for (const Integers& axes : axes_lists) {
      const std::string name = ": axes " + to_string(axes) + ", keepdims " + std::to_string(keep);
      cases.push_back({"ReduceSum" + name,
                       "ReduceSum",
                       {real({2, 3, 4}), integers(axes)},
                       {{"keepdims", keep}}});
      cases.push_back({"ReduceMean" + name,
                       "ReduceMean",
                       {real({2, 3, 4})},
                       {{"axes", axes}, {"keepdims", keep}}});
    }
    const std::string all = ": all axes, keepdims " + std::to_string(keep);
    cases.push_back({"ReduceSum" + all, "ReduceSum", {real({2, 3})}, {{"keepdims", keep}}});
    cases.push_back({"ReduceMean" + all, "ReduceMean", {real({2, 3})}, {{"keepdims", keep}}});
  }
  cases.push_back({"ReduceSum: no axes, no operation",
                   "ReduceSum",
                   {real({2, 3})},
                   {{"noop_with_empty_axes", std::int64_t{1}}}});
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 1}, Shape{1, 3}, Shape{4, 1, 1}}) {
    const Shape to = {4, 2, 3};
    cases.push_back({"SumTo: " + to_string(shape), "SumTo", {real(to)}, {{"shape", shape}}});
    cases.push_back({"Expand: " + to_string(shape), "Expand", {real(shape), integers(to)}, {}});
  }
  cases.push_back({"Expand: both ways", "Expand", {real({3, 1}), integers({2, 1, 4})}, {}});
  return cases;
}

inline std::vector<GradientCase> layout_cases() {
  std::vector<GradientCase> cases = {
      {"Reshape", "Reshape", {real({2, 3, 4}), integers({0, -1})}, {}},
      {"Reshape: to a scalar", "Reshape", {real({1, 1}), integers(Integers{})}, {}},
      {"Reshape: the same", "Reshape", {real({2, 3}), integers({2, 3})}, {}},
      {"Transpose: reversed", "Transpose", {real({2, 3, 4})}, {}},
      {"Transpose: a cycle", "Transpose", {real({2, 3, 4})}, {{"perm", Integers{1, 2, 0}}}},
      {"Transpose: a swap", "Transpose", {real({2, 3, 4})}, {{"perm", Integers{0, 2, 1}}}},
      {"Concat: rows", "Concat", {real({2, 3}), real({1, 3})}, {{"axis", std::int64_t{0}}}},
      {"Concat: three, the last axis",
       "Concat",
       {real({2, 1, 3}), real({2, 1, 1}), real({2, 1, 2})},
       {{"axis", std::int64_t{-1}}}},
      {"Concat: with a constant",
       "Concat",
       {real({2, 1}), reals({2, 1}, {5, 6}), real({2, 2})},
       {{"axis", std::int64_t{1}}}},
      {"Concat: of one", "Concat", {real({2, 2})}, {{"axis", std::int64_t{1}}}}};
  for (const std::int64_t axis : {0, 1, 2, 3, -1}) {
    cases.push_back(
        {"Flatten: axis " + std::to_string(axis), "Flatten", {real({2, 3, 2})}, {{"axis", axis}}});
  }
  cases.push_back({"Flatten", "Flatten", {real({2, 3, 2})}, {}});
  return cases;
}

inline std::vector<GradientCase> slicing_cases() {
  return {
      {"Slice", "Slice", {real({4, 5}), integers({1, 2}), integers({3, 5})}, {}},
      {"Slice: one axis", "Slice", {real({4, 5}), integers({1}), integers({4}), integers({1})}, {}},
      {"Slice: from the end",
       "Slice",
       {real({4, 5}), integers({-3}), integers({-1}), integers({-1})},
       {}},
      {"Slice: beyond the end",
       "Slice",
       {real({4, 5}), integers({-9, 2}), integers({99, 99}), integers({1, 0})},
       {}},
      {"Slice: whole", "Slice", {real({2, 2}), integers({0}), integers({2})}, {}},
      {"Slice: steps of 2",
       "Slice",
       {real({5, 4}), integers({0, 1}), integers({5, 4}), integers({0, 1}), integers({2, 2})},
       {}},
      {"Slice: backwards",
       "Slice",
       {real({5, 3}), integers({-1}), integers({-99}), integers({0}), integers({-2})},
       {}},
      {"Slice: steps on one axis only",
       "Slice",
       {real({4, 6}), integers({1, 1}), integers({3, 6}), integers({0, 1}), integers({1, 3})},
       {}},
      {"Pad", "Pad", {real({2, 3}), integers({1, 0, 0, 2})}, {}},
      {"Pad: with a value", "Pad", {real({2, 3}), integers({0, 1, 2, 0}), reals({}, {3.5})}, {}},
      {"Pad: nothing", "Pad", {real({2, 2}), integers({0, 0, 0, 0})}, {}},
      {"Gather: rows, one twice",
       "Gather",
       {real({3, 2}), integers({2, 2}, {0, 2, 2, 1})},
       {{"axis", std::int64_t{0}}}},
      {"Gather: the last axis, from the end",
       "Gather",
       {real({2, 3, 4}), integers({-1, 0, -4})},
       {{"axis", std::int64_t{-1}}}},
      {"Gather: a scalar index",
       "Gather",
       {real({2, 3, 2}), integers({}, {1})},
       {{"axis", std::int64_t{1}}}},
      {"GatherGrad: rows, one twice",
       "GatherGrad",
       {integers({2, 2}, {0, 2, 2, 1}), real({2, 2, 2})},
       {{"axis", std::int64_t{0}}, {"input_shape", Shape{3, 2}}}},
      {"GatherGrad: the last axis",
       "GatherGrad",
       {integers({-1, 0, -4}), real({2, 3, 3})},
       {{"axis", std::int64_t{-1}}, {"input_shape", Shape{2, 3, 4}}}},
  };
}

inline std::vector<GradientCase> matrix_cases() {
  std::vector<GradientCase> cases;
  for (const std::int64_t turn_a : {0, 1}) {
    for (const std::int64_t turn_b : {0, 1}) {
      const Shape a = turn_a == 1 ? Shape{3, 2} : Shape{2, 3};
      const Shape b = turn_b == 1 ? Shape{4, 3} : Shape{3, 4};
      const Attributes turns = {{"transA", turn_a}, {"transB", turn_b}};
      const std::string name =
          ": transposed " + std::to_string(turn_a) + " " + std::to_string(turn_b);
      cases.push_back({"Gemm" + name, "Gemm", {real(a), real(b)}, turns});
      Attributes scaled = turns;
      scaled["alpha"] = 0.5;
      scaled["beta"] = -2.0;
      for (const Shape& c : {Shape{2, 4}, Shape{4}, Shape{2, 1}, Shape{1}, Shape{}}) {
        cases.push_back({"Gemm" + name + ", scaled, C " + to_string(c),
                         "Gemm",
                         {real(a), real(b), real(c)},
                         scaled});
      }
    }
  }
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{2, 3}, {3, 4}},       {{3}, {3}},          {{3}, {3, 2}},       {{2, 3}, {3}},
      {{2, 2, 3}, {2, 3, 1}}, {{2, 2, 3}, {3, 2}}, {{2, 3}, {2, 3, 2}}, {{2, 1, 2, 3}, {3, 3, 2}},
      {{3}, {2, 3, 2}},       {{2, 2, 3}, {3}}};
  for (const auto& [a, b] : shapes) {
    cases.push_back(
        {"MatMul: " + to_string(a) + " by " + to_string(b), "MatMul", {real(a), real(b)}, {}});
  }
  return cases;
}

// Type of what `op` makes of the inputs.
inline TensorType output_type(const std::string& op, const std::vector<Shape>& inputs,
                              const Attributes& attributes) {
  Node node{"node", op, "", {}, {"y"}, attributes};
  ValueTypes types;
  for (const Shape& shape : inputs) {
    node.inputs.push_back("x" + std::to_string(types.size()));
    types[node.inputs.back()] = {DType::kFloat64, shape};
  }
  return infer_node(node, types, {}).within(op).value().front();
}

// Conv with and without bias, and the two operators of its gradient, of one setting.
inline void add_conv_cases(std::vector<GradientCase>& cases, const std::string& name,
                           const std::pair<Shape, Shape>& shapes, const Attributes& attributes) {
  const auto& [x, w] = shapes;
  const Shape y = output_type("Conv", {x, w}, attributes).shape;
  cases.push_back({"Conv: " + name, "Conv", {real(x), real(w)}, attributes});
  cases.push_back({"Conv: bias, " + name, "Conv", {real(x), real(w), real({w[0]})}, attributes});
  Attributes of_input = attributes, of_weight = attributes;
  of_input["input_shape"] = x;
  of_weight["weight_shape"] = w;
  cases.push_back({"ConvGradInput: " + name, "ConvGradInput", {real(w), real(y)}, of_input});
  cases.push_back({"ConvGradWeight: " + name, "ConvGradWeight", {real(x), real(y)}, of_weight});
}

inline std::vector<GradientCase> conv_cases() {
  std::vector<GradientCase> cases;
  const std::pair<Shape, Shape> image = {{1, 2, 4, 5}, {2, 2, 2, 3}};
  add_conv_cases(cases, "plain", image, {});
  add_conv_cases(cases, "one by one", {{2, 2, 2, 3}, {3, 2, 1, 1}}, {});
  add_conv_cases(cases, "pads", image, {{"pads", Integers{1, 2, 0, 1}}});
  add_conv_cases(cases, "strides, a rest left over", {{1, 1, 6, 6}, {2, 1, 3, 3}},
                 {{"strides", Integers{2, 2}}});
  add_conv_cases(cases, "strides and pads", {{1, 2, 5, 4}, {1, 2, 3, 2}},
                 {{"strides", Integers{2, 3}}, {"pads", Integers{1, 1, 1, 1}}});
  add_conv_cases(cases, "stride beyond the kernel", {{1, 1, 5, 5}, {1, 1, 1, 2}},
                 {{"strides", Integers{2, 3}}});
  add_conv_cases(cases, "dilations", {{1, 2, 5, 6}, {1, 2, 2, 3}},
                 {{"dilations", Integers{2, 2}}, {"pads", Integers{1, 0, 1, 1}}});
  add_conv_cases(cases, "dilations and strides", {{1, 1, 7, 6}, {1, 1, 3, 2}},
                 {{"dilations", Integers{2, 3}}, {"strides", Integers{2, 1}}});
  add_conv_cases(cases, "groups", {{1, 4, 3, 3}, {6, 2, 2, 2}}, {{"group", std::int64_t{2}}});
  add_conv_cases(
      cases, "depthwise, strides, dilations", {{2, 3, 5, 4}, {3, 1, 2, 2}},
      {{"group", std::int64_t{3}}, {"strides", Integers{2, 1}}, {"dilations", Integers{1, 2}}});
  for (const std::string pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    add_conv_cases(cases, pad, {{1, 1, 5, 4}, {2, 1, 2, 3}},
                   {{"auto_pad", pad}, {"strides", Integers{2, 1}}});
  }
  add_conv_cases(cases, "one axis", {{2, 2, 6}, {3, 2, 3}},
                 {{"strides", Integers{2}}, {"pads", Integers{1, 0}}});
  add_conv_cases(cases, "three axes", {{1, 1, 3, 3, 4}, {2, 1, 2, 2, 2}},
                 {{"strides", Integers{1, 1, 2}}, {"pads", Integers{0, 1, 0, 0, 0, 1}}});
  return cases;
}

// A pooling operator and those of its gradient, of one setting.
inline void add_pool_cases(std::vector<GradientCase>& cases, const std::string& name,
                           const Shape& x, const Attributes& attributes) {
  const Shape y = output_type("AveragePool", {x}, attributes).shape;
  Attributes of_max = attributes, of_input = attributes;
  of_max.erase("count_include_pad");
  of_input["input_shape"] = x;
  const CaseInput distinct = real(x, Values::kDistinct);
  cases.push_back({"AveragePool: " + name, "AveragePool", {real(x)}, attributes});
  cases.push_back({"AveragePoolGrad: " + name, "AveragePoolGrad", {real(y)}, of_input});
  cases.push_back({"MaxPool: " + name, "MaxPool", {distinct}, of_max});
  cases.push_back({"MaxPoolGrad: " + name, "MaxPoolGrad", {distinct, real(y)}, of_max});
  cases.push_back({"MaxPoolGather: " + name, "MaxPoolGather", {distinct, real(x)}, of_max});
}

inline std::vector<GradientCase> pooling_cases() {
  std::vector<GradientCase> cases;
  const Integers two = {2, 2}, three = {3, 3};
  const std::int64_t yes = 1;
  add_pool_cases(cases, "strides", {1, 2, 4, 4}, {{"kernel_shape", two}, {"strides", two}});
  add_pool_cases(cases, "overlapping", {1, 1, 5, 4}, {{"kernel_shape", three}});
  add_pool_cases(cases, "a rest left over", {1, 1, 5, 5},
                 {{"kernel_shape", two}, {"strides", two}});
  const Attributes padded = {
      {"kernel_shape", three}, {"strides", two}, {"pads", Integers{1, 1, 0, 1}}};
  Attributes setting = padded;
  add_pool_cases(cases, "pads", {1, 1, 5, 6}, setting);
  setting["count_include_pad"] = yes;
  add_pool_cases(cases, "pads counted", {1, 1, 5, 6}, setting);
  setting["ceil_mode"] = yes;
  add_pool_cases(cases, "pads counted, ceil mode", {1, 1, 5, 6}, setting);
  setting.erase("count_include_pad");
  add_pool_cases(cases, "pads, ceil mode", {1, 1, 5, 6}, setting);
  add_pool_cases(cases, "ceil mode", {1, 1, 5, 6},
                 {{"kernel_shape", two}, {"strides", Integers{3, 2}}, {"ceil_mode", yes}});
  for (const std::string pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    setting = {{"kernel_shape", Integers{2, 3}}, {"strides", two}, {"auto_pad", pad}};
    add_pool_cases(cases, pad, {1, 1, 5, 4}, setting);
    setting["count_include_pad"] = yes;
    add_pool_cases(cases, pad + ", pads counted", {1, 1, 5, 4}, setting);
  }
  add_pool_cases(cases, "one axis", {2, 1, 6},
                 {{"kernel_shape", Integers{3}}, {"strides", Integers{2}}});
  add_pool_cases(cases, "three axes", {1, 1, 3, 2, 4},
                 {{"kernel_shape", Integers{2, 1, 2}}, {"strides", Integers{1, 1, 2}}});
  cases.push_back({"MaxPool: dilations",
                   "MaxPool",
                   {real({1, 1, 5, 5}, Values::kDistinct)},
                   {{"kernel_shape", two}, {"dilations", Integers{2, 3}}}});
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{1, 2, 3, 2}, Shape{1, 2, 1, 1}}) {
    cases.push_back(
        {"GlobalAveragePool: " + to_string(shape), "GlobalAveragePool", {real(shape)}, {}});
  }
  return cases;
}

inline std::vector<GradientCase> batch_normalization_cases() {
  std::vector<GradientCase> cases;
  for (const Shape& shape : {Shape{3, 2}, Shape{2, 2, 3}, Shape{2, 2, 2, 2}}) {
    const Shape channels = {shape[1]};
    const CaseInput mean = real(channels), variance = real(channels, Values::kPositive);
    const std::vector<std::optional<CaseInput>> inputs = {real(shape), real(channels),
                                                          real(channels), mean, variance};
    const std::string name = "BatchNormalization: " + to_string(shape);
    cases.push_back({name + ", inference", "BatchNormalization", inputs, {{"epsilon", 0.1}}});
    cases.push_back({name + ", training",
                     "BatchNormalization",
                     inputs,
                     {{"training_mode", std::int64_t{1}}},
                     {0},
                     3});
    cases.push_back(
        {name + ", training, sample variance, epsilon",
         "BatchNormalization",
         inputs,
         {{"training_mode", std::int64_t{1}}, {"running_variance", "sample"}, {"epsilon", 0.1}}});
  }
  return cases;
}

inline std::vector<GradientCase> normalization_cases() {
  std::vector<GradientCase> cases = batch_normalization_cases();
  for (const std::int64_t size : {1, 2, 3, 4, 5}) {
    cases.push_back({"LRN: size " + std::to_string(size),
                     "LRN",
                     {real({1, 5, 2})},
                     {{"size", size}, {"alpha", 0.5}, {"beta", 0.75}, {"bias", 2.0}}});
    for (const std::int64_t transposed : {0, 1}) {
      cases.push_back({"ChannelWindowSum: size " + std::to_string(size) + ", transposed " +
                           std::to_string(transposed),
                       "ChannelWindowSum",
                       {real({2, 4, 2})},
                       {{"size", size}, {"transposed", transposed}}});
    }
  }
  cases.push_back({"LRN: defaults", "LRN", {real({1, 4, 2, 2})}, {{"size", std::int64_t{3}}}});
  for (const std::string op : {"Softmax", "LogSoftmax"}) {
    for (const std::int64_t axis : {0, 1, 2, -1, -2}) {
      cases.push_back(
          {op + ": axis " + std::to_string(axis), op, {real({2, 3, 2})}, {{"axis", axis}}});
    }
    cases.push_back({op, op, {real({2, 4})}, {}});
  }
  return cases;
}

// One loss setting: the fused loss, the loss of logarithms, and the latter's gradient.
inline void add_loss_cases(std::vector<GradientCase>& cases, const std::string& name,
                           const std::pair<Shape, std::optional<CaseInput>>& scores_and_weights,
                           const Attributes& attributes) {
  const auto& [shape, weights] = scores_and_weights;
  Shape label_shape = shape;
  label_shape.erase(label_shape.begin() + 1);
  Integers labels(static_cast<std::size_t>(element_count(label_shape)));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<std::int64_t>(i * 7 % 5) % shape[1];
  }
  const CaseInput label = integers(label_shape, labels);
  std::vector<std::optional<CaseInput>> inputs = {real(shape), label};
  if (weights) inputs.push_back(weights);
  const std::string fused = "SoftmaxCrossEntropyLoss", plain = "NegativeLogLikelihoodLoss";
  cases.push_back({fused + ": " + name, fused, inputs, attributes});
  cases.push_back({fused + ": both outputs, " + name, fused, inputs, attributes, {0, 1}, 2});
  cases.push_back({fused + ": logarithms, " + name, fused, inputs, attributes, {1}, 2});
  cases.push_back({plain + ": " + name, plain, inputs, attributes});
  const bool reduced = attributes.count("reduction") == 0 ||
                       std::get<std::string>(attributes.at("reduction")) != "none";
  Attributes of_input = attributes;
  of_input["input_shape"] = shape;
  cases.push_back({"NegativeLogLikelihoodGrad: " + name,
                   "NegativeLogLikelihoodGrad",
                   {label, weights, real(reduced ? Shape{} : label_shape)},
                   of_input});
}

inline std::vector<GradientCase> loss_cases() {
  std::vector<GradientCase> cases;
  const CaseInput weights = reals({3}, {0.5, 2, 1.5});
  const std::vector<Shape> shapes = {{4, 3}, {2, 3, 2}, {1, 3, 2, 2}};
  add_loss_cases(cases, "defaults", {{4, 3}, std::nullopt}, {});
  for (const Shape& shape : shapes) {
    for (const std::string reduction : {"mean", "sum", "none"}) {
      const std::string name = reduction + " " + to_string(shape);
      const std::int64_t ignored = 1;
      add_loss_cases(cases, name, {shape, std::nullopt}, {{"reduction", reduction}});
      add_loss_cases(cases, name + ", weights", {shape, weights}, {{"reduction", reduction}});
      add_loss_cases(cases, name + ", one ignored", {shape, std::nullopt},
                     {{"reduction", reduction}, {"ignore_index", ignored}});
      add_loss_cases(cases, name + ", weights, one ignored", {shape, weights},
                     {{"reduction", reduction}, {"ignore_index", ignored}});
    }
  }
  return cases;
}

inline std::vector<GradientCase> gradient_cases() {
  std::vector<GradientCase> all;
  for (const auto& family :
       {broadcasting_cases, power_cases, unary_cases, reduction_cases, layout_cases, slicing_cases,
        matrix_cases, conv_cases, pooling_cases, normalization_cases, loss_cases}) {
    for (GradientCase& test : family()) all.push_back(std::move(test));
  }
  return all;
}

}  // namespace gradstone::testing
