// SPDX-License-Identifier: Apache-2.0
// Operators as opsets 18 to 23 write them, in terms of opset 17. Formulas are ONNX's own.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "graph/op_table.h"
#include "graph/shape_rules.h"
#include "onnx/model_file.h"
#include "onnx/upgrade.h"

namespace gradstone::onnx_io {
namespace {

using Integers = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;

// Axes went from an attribute to an input.
Status reduction_18(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(1));
  FileNode& node = rewriter.node;
  const std::int64_t noop = TRY(integer_or(node.attributes, "noop_with_empty_axes", 0));
  node.attributes.erase("noop_with_empty_axes");
  const Integers axes = rewriter.has(1) ? TRY(rewriter.integers(1, "axes")) : Integers{};
  node.inputs.resize(1);
  if (!axes.empty()) {
    node.attributes["axes"] = axes;
  } else if (noop != 0) {
    rewriter.set_output(0, node.inputs[0]);
  }
  return {};
}

// `num_outputs` pieces of equal length, the last one shorter where they do not divide the axis.
Status split_18(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(1));
  FileNode& node = rewriter.node;
  const std::int64_t pieces = TRY(integer_or(node.attributes, "num_outputs", 0));
  if (node.attributes.erase("num_outputs") == 0 || rewriter.has(1)) return {};
  const Shape& shape = rewriter.type(0).shape;
  const std::int64_t requested = TRY(integer_or(node.attributes, "axis", 0));
  const std::size_t axis = TRY(resolved_axis(requested, shape.size()));
  if (pieces < 1 || pieces != static_cast<std::int64_t>(node.outputs.size())) {
    return unreadable("num_outputs = " + std::to_string(pieces) + ", but it has " +
                      std::to_string(node.outputs.size()) + " outputs");
  }
  const std::int64_t most = (shape[axis] + pieces - 1) / pieces;
  Integers lengths(static_cast<std::size_t>(pieces), most);
  lengths.back() = shape[axis] - most * (pieces - 1);
  if (lengths.back() < 0) {
    return unreadable("axis of extent " + std::to_string(shape[axis]) + " has no " +
                      std::to_string(pieces) + " pieces");
  }
  node.inputs = {node.inputs[0], rewriter.integer_list("split", lengths)};
  return {};
}

// Of some axes only: the others are not padded.
Status pad_18(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(2));
  FileNode& node = rewriter.node;
  if (!rewriter.has(3)) return {};
  const std::size_t rank = rewriter.rank(0);
  const Integers pads = TRY(rewriter.integers(1, "pads"));
  const Integers axes = TRY(rewriter.integers(3, "axes"));
  if (pads.size() != 2 * axes.size()) {
    return unreadable("pads has " + std::to_string(pads.size()) + " items; expected " +
                      std::to_string(2 * axes.size()));
  }
  Integers whole(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = TRY(resolved_axis(axes[i], rank));
    whole[axis] = pads[i];
    whole[rank + axis] = pads[axes.size() + i];
  }
  node.inputs.resize(3);
  node.inputs[1] = rewriter.integer_list("pads", whole);
  return {};
}

// Scales or sizes of some axes only: the others keep their extent.
Status all_axes(Rewriter& rewriter, const Integers& axes) {
  FileNode& node = rewriter.node;
  const Shape& shape = rewriter.type(0).shape;
  if (rewriter.has(3)) {
    const Integers sizes = TRY(rewriter.integers(3, "sizes"));
    if (sizes.size() != axes.size()) return unreadable("sizes and axes differ in length");
    Integers whole = shape;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      whole[TRY(resolved_axis(axes[i], shape.size()))] = sizes[i];
    }
    node.inputs[3] = rewriter.integer_list("sizes", whole);
    return {};
  }
  const std::vector<double> scales = TRY(rewriter.numbers(2, "scales"));
  if (scales.size() != axes.size()) return unreadable("scales and axes differ in length");
  std::vector<float> whole(shape.size(), 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    whole[TRY(resolved_axis(axes[i], shape.size()))] = static_cast<float>(scales[i]);
  }
  node.inputs[2] = rewriter.constant(
      "scales",
      Tensor::of<float>({static_cast<std::int64_t>(whole.size())}, std::span<const float>(whole)));
  return {};
}

// Sizes of which the smallest (or largest) factor holds for all axes.
Status keep_aspect_ratio(Rewriter& rewriter, bool smallest) {
  FileNode& node = rewriter.node;
  if (!rewriter.has(3)) return {};
  const Shape& shape = rewriter.type(0).shape;
  Integers sizes = TRY(rewriter.integers(3, "sizes"));
  const Integers axes = TRY(integers_or(node.attributes, "axes", [&] {
    Integers every(shape.size());
    std::iota(every.begin(), every.end(), 0);
    return every;
  }()));
  if (sizes.size() != axes.size()) return unreadable("sizes and axes differ in length");
  std::optional<double> factor;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = TRY(resolved_axis(axes[i], shape.size()));
    if (shape[axis] < 1 || sizes[i] < 1 || sizes[i] > kMaxElements) {
      return unreadable("sizes " + to_string(sizes));
    }
    const double own = static_cast<double>(sizes[i]) / static_cast<double>(shape[axis]);
    if (!factor || (smallest ? own < *factor : own > *factor)) factor = own;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = TRY(resolved_axis(axes[i], shape.size()));
    const double size = std::floor(static_cast<double>(shape[axis]) * factor.value_or(1) + 0.5);
    if (size > static_cast<double>(kMaxElements)) return unreadable("sizes " + to_string(sizes));
    sizes[i] = static_cast<std::int64_t>(size);
  }
  node.inputs[3] = rewriter.integer_list("sizes", sizes);
  return {};
}

Status resize_18(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(1));
  FileNode& node = rewriter.node;
  if (TRY(integer_or(node.attributes, "antialias", 0)) != 0) {
    return unsupported("antialias = 1; export without it");
  }
  const std::string policy =
      TRY(text_or(node.attributes, "keep_aspect_ratio_policy", std::string("stretch")));
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
    return unreadable("keep_aspect_ratio_policy '" + policy + "'");
  }
  if (policy != "stretch") TRY(keep_aspect_ratio(rewriter, policy == "not_larger"));
  const Integers axes = TRY(integers_or(node.attributes, "axes", Integers{}));
  for (const char* name : {"antialias", "keep_aspect_ratio_policy", "axes"}) {
    node.attributes.erase(name);
  }
  if (axes.empty()) return {};
  if (rewriter.has(1) && rewriter.type(1).elements() > 0) {
    return unsupported("roi together with axes; export without them");
  }
  return all_axes(rewriter, axes);
}

// Optional inputs that are there but hold nothing are the same as absent ones.
Status resize(Rewriter& rewriter) {
  for (std::size_t i = 1; i < rewriter.node.inputs.size(); ++i) {
    if (rewriter.has(i) && rewriter.type(i).elements() == 0) rewriter.node.inputs[i].clear();
  }
  return {};
}

Status saturate_19(Rewriter& rewriter) {
  rewriter.node.attributes.erase("saturate");  // of eight-bit floats only
  return {};
}

Status average_pool_19(Rewriter& rewriter) {
  const Integers dilations = TRY(integers_or(rewriter.node.attributes, "dilations", Integers{}));
  if (std::all_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d == 1; })) {
    rewriter.node.attributes.erase("dilations");
    return {};
  }
  return unsupported("average pooling with dilations " + to_string(dilations));
}

// (x - mean) / sqrt(variance + epsilon) over the last axis, which is kept.
Result<std::string> normalized(Rewriter& rewriter, const std::string& x, double epsilon) {
  const Attributes last = {{"axes", Integers{-1}}};
  const DType dtype = rewriter.type_of(x).dtype;
  const std::string mean = TRY(rewriter.append("mean", "ReduceMean", {x}, last));
  const std::string centred = TRY(rewriter.append("centred", "Sub", {x, mean}));
  const std::string squares = TRY(rewriter.append("squares", "Mul", {centred, centred}));
  const std::string variance = TRY(rewriter.append("variance", "ReduceMean", {squares}, last));
  const std::string small = rewriter.scalar("epsilon", epsilon, dtype);
  const std::string sum = TRY(rewriter.append("sum", "Add", {variance, small}));
  const std::string deviation = TRY(rewriter.append("deviation", "Sqrt", {sum}));
  return rewriter.append("normalized", "Div", {centred, deviation});
}

// Channels in `num_groups` groups, normalized each for itself. Opset 18 scales groups, 21 channels.
Status group_normalization_18(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(3));
  const Shape shape = rewriter.type(0).shape;
  const std::int64_t groups = TRY(integer_or(rewriter.node.attributes, "num_groups", 0));
  const double epsilon = TRY(number_or(rewriter.node.attributes, "epsilon", 1e-5));
  if (shape.size() < 3 || groups < 1 || shape[1] % groups != 0) {
    return unreadable("num_groups = " + std::to_string(groups) + " with an input of shape " +
                      to_string(shape));
  }
  const std::string grouped_shape = rewriter.integer_list("grouped_shape", {0, groups, -1});
  const std::string whole_shape = rewriter.integer_list("whole_shape", shape);
  const std::string grouped =
      TRY(rewriter.append("grouped", "Reshape", {rewriter.node.inputs[0], grouped_shape}));
  std::string result = TRY(normalized(rewriter, grouped, epsilon));
  const bool by_group = rewriter.type(1).elements() == groups && groups != shape[1];
  if (!by_group) result = TRY(rewriter.append("whole", "Reshape", {result, whole_shape}));
  Shape factor_shape(by_group ? 3 : shape.size(), 1);
  factor_shape[1] = by_group ? groups : shape[1];
  const std::string factor = rewriter.integer_list("factor_shape", factor_shape);
  const std::string scale =
      TRY(rewriter.append("scale", "Reshape", {rewriter.node.inputs[1], factor}));
  const std::string bias =
      TRY(rewriter.append("bias", "Reshape", {rewriter.node.inputs[2], factor}));
  result = TRY(rewriter.append("scaled", "Mul", {result, scale}));
  result = TRY(rewriter.append("shifted", "Add", {result, bias}));
  if (by_group) result = TRY(rewriter.append("whole", "Reshape", {result, whole_shape}));
  rewriter.set_output(0, result);
  return {};
}

// x / sqrt(mean of squares + epsilon) * scale.
Status rms_normalization_23(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(2));
  const std::string x = rewriter.node.inputs[0];
  const DType dtype = rewriter.type(0).dtype;
  const std::size_t rank = rewriter.rank(0);
  const std::int64_t requested = TRY(integer_or(rewriter.node.attributes, "axis", -1));
  const std::size_t axis = TRY(resolved_axis(requested, rank));
  const double epsilon = TRY(number_or(rewriter.node.attributes, "epsilon", 1e-5));
  Integers axes(rank - axis);
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(axis));
  const std::string squares = TRY(rewriter.append("squares", "Mul", {x, x}));
  const std::string mean = TRY(rewriter.append("mean", "ReduceMean", {squares}, {{"axes", axes}}));
  const std::string small = rewriter.scalar("epsilon", epsilon, dtype);
  const std::string sum = TRY(rewriter.append("sum", "Add", {mean, small}));
  const std::string root = TRY(rewriter.append("root", "Sqrt", {sum}));
  const std::string normal = TRY(rewriter.append("normalized", "Div", {x, root}));
  const std::string scaled =
      TRY(rewriter.append("scaled", "Mul", {normal, rewriter.node.inputs[1]}));
  rewriter.set_output(0, scaled);
  return {};
}

// 0.5 x (1 + erf(x / sqrt 2)), or with tanh(sqrt(2 / pi) (x + 0.044715 x^3)) for erf.
Status gelu_20(Rewriter& rewriter) {
  if (find_op("", "Gelu") != nullptr) return {};
  TRY(rewriter.expect_inputs(1));
  const std::string x = rewriter.node.inputs[0];
  const DType dtype = rewriter.type(0).dtype;
  const std::string kind =
      TRY(text_or(rewriter.node.attributes, "approximate", std::string("none")));
  const auto number = [&](std::string_view label, double value) {
    return rewriter.scalar(label, value, dtype);
  };
  std::string inner;
  if (kind == "none") {
    const std::string root = number("root", std::numbers::sqrt2);
    const std::string scaled = TRY(rewriter.append("scaled", "Div", {x, root}));
    inner = TRY(rewriter.append("inner", "Erf", {scaled}));
  } else {
    const std::string square = TRY(rewriter.append("square", "Mul", {x, x}));
    const std::string cube = TRY(rewriter.append("cube", "Mul", {square, x}));
    const std::string small = TRY(rewriter.append("small", "Mul", {cube, number("c", 0.044715)}));
    const std::string sum = TRY(rewriter.append("sum", "Add", {x, small}));
    const std::string factor = number("factor", std::sqrt(2 / std::numbers::pi));
    const std::string scaled = TRY(rewriter.append("scaled", "Mul", {sum, factor}));
    inner = TRY(rewriter.append("inner", "Tanh", {scaled}));
  }
  const std::string one = TRY(rewriter.append("one_more", "Add", {inner, number("one", 1)}));
  const std::string half = TRY(rewriter.append("half", "Mul", {x, number("half", 0.5)}));
  const std::string result = TRY(rewriter.append("result", "Mul", {half, one}));
  rewriter.set_output(0, result);
  return {};
}

// x tanh(softplus(x)).
Status mish_18(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(1));
  const std::string x = rewriter.node.inputs[0];
  const std::string soft = TRY(rewriter.append("softplus", "Softplus", {x}));
  const std::string bounded = TRY(rewriter.append("tanh", "Tanh", {soft}));
  const std::string result = TRY(rewriter.append("result", "Mul", {x, bounded}));
  rewriter.set_output(0, result);
  return {};
}

}  // namespace

std::vector<UpgradeRule> new_opset_rules() {
  std::vector<UpgradeRule> rules = {
      {"AveragePool", 19, 0, average_pool_19},
      {"Cast", 19, 0, saturate_19},
      {"CastLike", 19, 0, saturate_19},
      {"Gelu", 20, 0, gelu_20},
      {"GroupNormalization", 18, 0, group_normalization_18},
      {"Mish", 18, 0, mish_18},
      {"Pad", 18, 0, pad_18},
      {"RMSNormalization", 23, 0, rms_normalization_23},
      {"Resize", 18, 0, resize_18},
      {"Resize", 11, 0, resize},
      {"Split", 18, 0, split_18},
  };
  for (const std::string_view op :
       {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
        "ReduceMin", "ReduceProd", "ReduceSumSquare"}) {
    rules.push_back({op, 18, 0, reduction_18});
  }
  for (UpgradeRule& rule : rules) rule.to = kNewestOpset;
  return rules;
}

}  // namespace gradstone::onnx_io
