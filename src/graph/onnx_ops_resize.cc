// SPDX-License-Identifier: Apache-2.0
// Resize, written as Gather along each axis with weights, by the formulas of ONNX's documentation;
// the cubic coefficients are Keys' (1981), with coefficient a = cubic_coeff_a.
#include <algorithm>
#include <cmath>

#include "graph/expansion.h"
#include "graph/onnx_ops.h"
#include "graph/resizing.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using enum AttributeKind;

// An input that is left out may also be an empty constant.
bool is_given(const NodeContext& context, std::size_t input) {
  return context.inputs[input] != nullptr && context.inputs[input]->elements() > 0;
}

Status set_from_scales(const NodeContext& context, Resizing& resizing) {
  const Tensor* scales = context.constants[2];
  if (scales == nullptr) return unsupported("scales is not a constant; make it one");
  const Shape& shape = context.inputs[0]->shape;
  if (scales->shape() != Shape{static_cast<std::int64_t>(shape.size())}) {
    return unreadable("scales has shape " + to_string(scales->shape()) + "; expected one an axis");
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const double scale = element_as_double(scales->ref(), static_cast<std::int64_t>(i));
    const double extent = std::floor(static_cast<double>(shape[i]) * scale);
    if (!(scale > 0) || !(extent < static_cast<double>(kMaxElements))) {
      return unreadable("scale " + std::to_string(scale) + " of axis " + std::to_string(i) +
                        " is no usable number");
    }
    resizing.scales.push_back(scale);
    resizing.extents.push_back(static_cast<std::int64_t>(extent));
  }
  return {};
}

Status set_from_sizes(const NodeContext& context, Resizing& resizing) {
  const Shape& shape = context.inputs[0]->shape;
  resizing.extents = TRY(constant_integers(context, 3, "sizes"));
  if (resizing.extents.size() != shape.size()) {
    return unreadable("sizes has " + std::to_string(resizing.extents.size()) + " items; expected " +
                      std::to_string(shape.size()));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    resizing.scales.push_back(static_cast<double>(resizing.extents[i]) /
                              static_cast<double>(shape[i]));
  }
  return {};
}

// Where output element `i` lies in the input. align_corners measures the output by its extent before
// rounding down, as ONNX's reference does.
double source_of(const Resizing& resizing, std::size_t axis, std::int64_t i, std::int64_t extent) {
  const double x = static_cast<double>(i), scale = resizing.scales[axis];
  const double resized = scale * static_cast<double>(extent);
  const std::string& mode = resizing.coordinate;
  if (mode == "asymmetric") return x / scale;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / scale;
  if (mode == "align_corners") {
    if (resizing.extents[axis] == 1) return 0;
    return x * static_cast<double>(extent - 1) / (resized - 1);
  }
  if (mode == "pytorch_half_pixel" && resizing.extents[axis] == 1) return 0;
  return (x + 0.5) / scale - 0.5;
}

double rounded(double x, const std::string& mode) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

// Weights of the elements around a place `r` behind one of them, in [0, 1).
std::vector<double> tap_weights(const Node& node, const std::string& mode, double r) {
  if (mode == "linear") return {1 - r, r};
  const double a = attribute_or(node, "cubic_coeff_a", -0.75);
  const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + r), near(r), near(1 - r), far(2 - r)};
}

AxisTaps nearest_taps(const Node& node, const Resizing& resizing, std::size_t axis,
                      std::int64_t extent) {
  const std::string rounding =
      attribute_or(node, "nearest_mode", std::string_view("round_prefer_floor"));
  AxisTaps taps;
  taps.places.resize(1);
  for (std::int64_t i = 0; i < resizing.extents[axis]; ++i) {
    const double place = rounded(source_of(resizing, axis, i, extent), rounding);
    taps.places[0].push_back(
        static_cast<std::int64_t>(std::clamp(place, 0.0, static_cast<double>(extent - 1))));
  }
  return taps;
}

AxisTaps weighted_taps(const Node& node, const Resizing& resizing, std::size_t axis,
                       std::int64_t extent) {
  const bool exclude = attribute_or(node, "exclude_outside", std::int64_t{0}) != 0;
  const std::int64_t count = resizing.mode == "linear" ? 2 : 4;
  AxisTaps taps;
  taps.places.resize(static_cast<std::size_t>(count));
  taps.weights.resize(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < resizing.extents[axis]; ++i) {
    const double source = source_of(resizing, axis, i, extent);
    const double floor = std::floor(source);
    std::vector<double> weights = tap_weights(node, resizing.mode, source - floor);
    const std::int64_t first = static_cast<std::int64_t>(floor) - (count / 2 - 1);
    double sum = 0;
    for (std::int64_t t = 0; t < count; ++t) {
      double& weight = weights[static_cast<std::size_t>(t)];
      if (exclude && (first + t < 0 || first + t >= extent)) weight = 0;
      sum += weight;
    }
    for (std::size_t t = 0; t < weights.size(); ++t) {
      taps.places[t].push_back(
          std::clamp<std::int64_t>(first + static_cast<std::int64_t>(t), 0, extent - 1));
      taps.weights[t].push_back(exclude ? weights[t] / sum : weights[t]);
    }
  }
  return taps;
}

OutputTypes infer_resize(const NodeContext& context) {
  const Resizing resizing = TRY(resizing_of(context));
  return std::vector<TensorType>{{context.inputs[0]->dtype, resizing.extents}};
}

// A product for each tap and a sum between them, for each element of each axis's result.
std::int64_t resize_flops(const NodeContext& context, std::span<const TensorType>) {
  const Resizing resizing = resizing_of(context).value();
  Shape shape = context.inputs[0]->shape;
  std::int64_t flops = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool same = resizing.scales[axis] == 1;
    shape[axis] = resizing.extents[axis];
    const std::int64_t taps = resizing.mode == "linear" ? 2 : resizing.mode == "cubic" ? 4 : 0;
    if (!same && taps > 0) {
      flops = saturating_sum(flops, saturating_product(2 * taps - 1, shape));
    }
  }
  return flops;
}

std::string resized_axis(ExpansionBuilder& b, const std::string& value, std::size_t axis,
                         const AxisTaps& taps) {
  const Shape shape = b.shape_of(value);
  const DType dtype = b.type_of(value).dtype;
  std::string sum;
  for (std::size_t t = 0; t < taps.places.size(); ++t) {
    std::string part = b.append("gather", "Gather", {value, b.integers(taps.places[t])},
                                {{"axis", static_cast<std::int64_t>(axis)}});
    if (!taps.weights.empty()) {
      Shape along(shape.size(), 1);
      along[axis] = static_cast<std::int64_t>(taps.weights[t].size());
      const Tensor weights = Tensor::of<double>(along, taps.weights[t]);
      part = b.mul(part, b.constant_value(converted(weights.ref(), dtype)));
    }
    sum = sum.empty() ? part : b.add(sum, part);
  }
  return sum;
}

Status expand_resize(ExpansionBuilder& b) {
  const NodeInputs inputs = b.node_inputs();
  const Resizing resizing = TRY(resizing_of(inputs.context()));
  const Shape shape = b.shape_of(b.input(0));
  std::string value = b.input(0);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const AxisTaps taps = axis_taps(b.node(), resizing, axis, shape[axis]);
    if (!taps.places.empty()) value = resized_axis(b, value, axis, taps);
  }
  b.set_output(0, value);
  return {};
}

}  // namespace

Result<Resizing> resizing_of(const NodeContext& context) {
  Resizing resizing;
  resizing.mode = TRY(chosen(context.node, "mode", {"nearest", "linear", "cubic"}));
  resizing.coordinate = TRY(chosen(context.node, "coordinate_transformation_mode",
                                   {"half_pixel", "pytorch_half_pixel", "align_corners",
                                    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"}));
  TRY(chosen(context.node, "nearest_mode",
             {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  if (resizing.coordinate == "tf_crop_and_resize") {
    return unsupported(
        "coordinate_transformation_mode tf_crop_and_resize, which crops by a region "
        "of interest; use RoiAlign, or Slice and Resize");
  }
  if (resizing.mode != "nearest" && !is_floating(context.inputs[0]->dtype)) {
    return unsupported("mode " + resizing.mode + " of " +
                       std::string(name_of(context.inputs[0]->dtype)) + "; cast to float32 first");
  }
  const bool scaled = is_given(context, 2), sized = is_given(context, 3);
  if (scaled == sized) return unreadable("needs either scales or sizes, a constant");
  TRY(scaled ? set_from_scales(context, resizing) : set_from_sizes(context, resizing));
  return resizing;
}

AxisTaps axis_taps(const Node& node, const Resizing& resizing, std::size_t axis,
                   std::int64_t extent) {
  if (resizing.scales[axis] == 1) return {};
  return resizing.mode == "nearest" ? nearest_taps(node, resizing, axis, extent)
                                    : weighted_taps(node, resizing, axis, extent);
}

std::vector<OpDef> resize_rows() {
  return {{.name = "Resize",
           .max_inputs = 4,
           .attributes = {{"coordinate_transformation_mode", kString},
                          {"cubic_coeff_a", kFloat},
                          {"exclude_outside", kInt},
                          {"extrapolation_value", kFloat},
                          {"mode", kString},
                          {"nearest_mode", kString}},
           .infer = infer_resize,
           .flops = resize_flops,
           .expand = expand_resize,
           .summary = "The input sampled at other extents, nearest, linear or cubic; inputs X, roi "
                      "(unused), scales or sizes, constants; without tf_crop_and_resize"}};
}

}  // namespace gradstone
