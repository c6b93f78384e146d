// SPDX-License-Identifier: Apache-2.0
// Gradient cases of convolutions, pooling, normalizations and losses.
#pragma once

#include "graph/testing/gradient_case.h"

namespace gradstone::testing {

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

}  // namespace gradstone::testing
