// SPDX-License-Identifier: Apache-2.0
// Operators as opsets before 17 wrote them. What changed stands in ONNX's change log; the rows are
// in the order in which an operator changed.
#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/shape_rules.h"
#include "onnx/upgrade.h"

namespace gradstone::onnx_io {
namespace {

using Integers = std::vector<std::int64_t>;

// Takes an attribute away; nullopt where there is none.
std::optional<FileAttribute> taken(Rewriter& rewriter, const std::string& name) {
  const auto found = rewriter.node.attributes.find(name);
  if (found == rewriter.node.attributes.end()) return std::nullopt;
  FileAttribute value = std::move(found->second);
  rewriter.node.attributes.erase(found);
  return value;
}

void set_input(Rewriter& rewriter, std::size_t index, const std::string& value) {
  std::vector<std::string>& inputs = rewriter.node.inputs;
  if (inputs.size() <= index) inputs.resize(index + 1);
  inputs[index] = value;
}

// A list of integers that became an input.
Status list_to_input(Rewriter& rewriter, const std::string& attribute, std::size_t input) {
  const std::optional<FileAttribute> value = taken(rewriter, attribute);
  if (!value || rewriter.has(input)) return {};
  const auto* list = std::get_if<Integers>(&*value);
  if (list == nullptr) return unreadable("attribute '" + attribute + "' is no list of integers");
  set_input(rewriter, input, rewriter.integer_list(attribute, *list));
  return {};
}

// A number that became a scalar input of the type of input 0; left out where it is `absent`.
Status number_to_input(Rewriter& rewriter, const std::string& attribute, std::size_t input,
                       std::optional<double> absent = std::nullopt) {
  TRY(rewriter.expect_inputs(1));
  const std::optional<FileAttribute> value = taken(rewriter, attribute);
  if (!value || rewriter.has(input)) return {};
  const auto* number = std::get_if<double>(&*value);
  if (number == nullptr) return unreadable("attribute '" + attribute + "' is no number");
  if (absent && *number == *absent) return {};
  set_input(rewriter, input, rewriter.scalar(attribute, *number, rewriter.type(0).dtype));
  return {};
}

void drop(Rewriter& rewriter, std::initializer_list<const char*> attributes) {
  for (const char* name : attributes) rewriter.node.attributes.erase(name);
}

// Before opset 7 an operand was broadcast only if asked to, and aligned at `axis`.
Status aligned_operand(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(2));
  const std::int64_t rank = static_cast<std::int64_t>(rewriter.rank(0));
  const Shape second = rewriter.type(1).shape;
  const auto own = static_cast<std::int64_t>(second.size());
  const std::int64_t axis = TRY(integer_or(rewriter.node.attributes, "axis", rank - own));
  drop(rewriter, {"axis", "broadcast", "consumed_inputs"});
  const std::int64_t first = axis < 0 ? axis + rank : axis;
  if (own == 0 || first + own >= rank) return {};
  if (first < 0) return unreadable("axis = " + std::to_string(axis) + " is outside the input");
  Shape aligned = second;
  aligned.resize(static_cast<std::size_t>(rank - first), 1);
  const std::string shape = rewriter.integer_list("shape", aligned);
  rewriter.node.inputs[1] =
      TRY(rewriter.append("aligned", "Reshape", {rewriter.node.inputs[1], shape}));
  return {};
}

Status drop_first_attributes(Rewriter& rewriter) {
  drop(rewriter, {"consumed_inputs", "broadcast", "output_sequence"});
  return {};
}

Status concat_1(Rewriter& rewriter) {
  rewriter.node.attributes.emplace("axis", std::int64_t{1});
  return {};
}

Status reshape_1(Rewriter& rewriter) { return list_to_input(rewriter, "shape", 1); }

// With more than one output it was in training; outputs 3 and 4 were scratch space.
Status batch_normalization_13(Rewriter& rewriter) {
  drop(rewriter, {"consumed_inputs", "is_test", "spatial"});
  std::vector<std::string>& outputs = rewriter.node.outputs;
  if (outputs.size() > 3) outputs.resize(3);
  const bool training =
      std::any_of(outputs.begin() + std::min<std::ptrdiff_t>(1, outputs.end() - outputs.begin()),
                  outputs.end(), [](const std::string& name) { return !name.empty(); });
  if (training) rewriter.node.attributes["training_mode"] = std::int64_t{1};
  return {};
}

// Ratio and mode became inputs; in between, a Dropout did nothing.
Status dropout_11(Rewriter& rewriter) {
  drop(rewriter, {"consumed_inputs", "is_test"});
  return number_to_input(rewriter, "ratio", 1);
}

Status slice_9(Rewriter& rewriter) {
  TRY(list_to_input(rewriter, "starts", 1));
  TRY(list_to_input(rewriter, "ends", 2));
  return list_to_input(rewriter, "axes", 3);
}

Status pad_10(Rewriter& rewriter) {
  TRY(list_to_input(rewriter, "paddings", 1));
  TRY(list_to_input(rewriter, "pads", 1));
  return number_to_input(rewriter, "value", 2, 0.0);
}

Status clip_10(Rewriter& rewriter) {
  drop(rewriter, {"consumed_inputs"});
  TRY(number_to_input(rewriter, "min", 1, as_written(std::numeric_limits<float>::lowest())));
  return number_to_input(rewriter, "max", 2, as_written(std::numeric_limits<float>::max()));
}

Status top_k_9(Rewriter& rewriter) {
  const std::optional<FileAttribute> k = taken(rewriter, "k");
  if (!k) return {};
  const auto* count = std::get_if<std::int64_t>(&*k);
  if (count == nullptr) return unreadable("attribute 'k' is no integer");
  set_input(rewriter, 1, rewriter.integer_list("k", {*count}));
  return {};
}

Status axes_12(Rewriter& rewriter) { return list_to_input(rewriter, "axes", 1); }
Status split_12(Rewriter& rewriter) { return list_to_input(rewriter, "split", 1); }

// The axes from `axis` on counted as one.
Status softmax_12(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(1));
  const Shape shape = rewriter.type(0).shape;
  const std::int64_t requested = TRY(integer_or(rewriter.node.attributes, "axis", 1));
  const std::size_t axis = TRY(resolved_axis(requested, shape.size(), /*allow_end=*/true));
  if (axis + 1 == shape.size()) {
    rewriter.node.attributes["axis"] = std::int64_t{-1};
    return {};
  }
  const std::string flat = TRY(rewriter.append("flat", "Flatten", {rewriter.node.inputs[0]},
                                               {{"axis", static_cast<std::int64_t>(axis)}}));
  const std::string result =
      TRY(rewriter.append("rows", rewriter.node.op, {flat}, {{"axis", std::int64_t{-1}}}));
  const std::string extents = rewriter.integer_list("shape", shape);
  const std::string whole = TRY(rewriter.append("whole", "Reshape", {result, extents}));
  rewriter.set_output(0, whole);
  return {};
}

// Upsample and the first Resize: place i of the output is place i / scale of the input, downwards.
Status resize_10(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(1));
  rewriter.node.op = "Resize";
  const std::optional<FileAttribute> scales = taken(rewriter, "scales");
  std::string given = rewriter.has(1) ? rewriter.node.inputs[1] : "";
  if (scales) {
    const auto* list = std::get_if<std::vector<double>>(&*scales);
    if (list == nullptr) return unreadable("attribute 'scales' is no list of numbers");
    const Tensor wide = Tensor::of<double>({static_cast<std::int64_t>(list->size())},
                                           std::span<const double>(*list));
    given = rewriter.constant("scales", converted(wide.ref(), DType::kFloat32));
  }
  rewriter.node.inputs = {rewriter.node.inputs[0], "", given};
  const std::string mode = TRY(text_or(rewriter.node.attributes, "mode", std::string("nearest")));
  if (mode == "bilinear") rewriter.node.attributes["mode"] = std::string("linear");
  rewriter.node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  rewriter.node.attributes["nearest_mode"] = std::string("floor");
  return {};
}

Status scatter_10(Rewriter& rewriter) {
  rewriter.node.op = "ScatterElements";
  return {};
}

Status roi_align_15(Rewriter& rewriter) {
  rewriter.node.attributes.emplace("coordinate_transformation_mode",
                                   std::string("output_half_pixel"));
  return {};
}

Status scan_8(Rewriter&) {
  return unsupported("the Scan of opset 8 has a batch axis; export with opset 9 or later");
}

}  // namespace

std::vector<UpgradeRule> old_opset_rules() {
  std::vector<UpgradeRule> rules = {
      {"BatchNormalization", 1, 13, batch_normalization_13},
      {"Clip", 1, 10, clip_10},
      {"Concat", 1, 3, concat_1},
      {"Dropout", 1, 11, dropout_11},
      {"Hardmax", 1, 12, softmax_12},
      {"LogSoftmax", 1, 12, softmax_12},
      {"Pad", 1, 10, pad_10},
      {"ReduceSum", 1, 12, axes_12},
      {"Reshape", 1, 4, reshape_1},
      {"Upsample", 1, 9, resize_10},
      {"Resize", 10, 10, resize_10},
      {"RoiAlign", 1, 15, roi_align_15},
      {"Scan", 1, 8, scan_8},
      {"Scatter", 1, 17, scatter_10},
      {"Slice", 1, 9, slice_9},
      {"Softmax", 1, 12, softmax_12},
      {"Split", 1, 12, split_12},
      {"Squeeze", 1, 12, axes_12},
      {"TopK", 1, 9, top_k_9},
      {"Unsqueeze", 1, 12, axes_12},
  };
  for (const std::string_view op : {"Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or",
                                    "Pow", "PRelu", "Sub", "Xor"}) {
    rules.push_back({op, 1, 6, aligned_operand});
  }
  for (const std::string_view op :
       {"Abs",        "Ceil",      "Elu",  "Exp",     "Floor", "GRU", "Gemm", "HardSigmoid",
        "LSTM",       "LeakyRelu", "Log",  "Max",     "Mean",  "Min", "Neg",  "RNN",
        "Reciprocal", "Relu",      "Selu", "Sigmoid", "Sqrt",  "Sum", "Tanh"}) {
    rules.push_back({op, 1, 6, drop_first_attributes});
  }
  return rules;
}

}  // namespace gradstone::onnx_io
