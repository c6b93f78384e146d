// SPDX-License-Identifier: Apache-2.0
// Operators that need no kernel here, since shapes and types are known when a file is read.
#include "graph/shape_rules.h"

#include <algorithm>

#include "graph/onnx_dtype.h"
#include "onnx/model_file.h"
#include "onnx/upgrade.h"

namespace gradstone::onnx_io {
namespace {

// More than this and a filled tensor stays an Expand.
constexpr std::int64_t kMostFilled = std::int64_t{1} << 20;

std::int64_t bounded(std::int64_t place, std::int64_t rank) {
  return std::clamp<std::int64_t>(place < 0 ? place + rank : place, 0, rank);
}

Status shape(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(1));
  const Shape& extents = rewriter.type(0).shape;
  const auto rank = static_cast<std::int64_t>(extents.size());
  const FileAttributes& attributes = rewriter.node.attributes;
  const std::int64_t start = bounded(TRY(integer_or(attributes, "start", 0)), rank);
  const std::int64_t end = bounded(TRY(integer_or(attributes, "end", rank)), rank);
  const Shape part(extents.begin() + start, extents.begin() + std::max(start, end));
  rewriter.set_constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(part.size())},
                                                 std::span<const std::int64_t>(part)));
  return {};
}

Status size(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(1));
  rewriter.set_constant(Tensor::scalar(rewriter.type(0).elements()));
  return {};
}

template <class T>
Tensor tensor_of_list(const std::vector<T>& values) {
  return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, std::span<const T>(values));
}

Result<Tensor> constant_value(const FileAttributes& attributes) {
  if (attributes.size() != 1) return unreadable("expected one attribute, the value");
  const auto& [name, attribute] = *attributes.begin();
  const auto floats = [](const Tensor& value) { return converted(value.ref(), DType::kFloat32); };
  if (name == "value") {
    if (const auto* value = std::get_if<Tensor>(&attribute)) return *value;
  } else if (name == "value_int") {
    if (const auto* value = std::get_if<std::int64_t>(&attribute)) return Tensor::scalar(*value);
  } else if (name == "value_float") {
    if (const auto* value = std::get_if<double>(&attribute)) return floats(Tensor::scalar(*value));
  } else if (name == "value_ints") {
    if (const auto* value = std::get_if<std::vector<std::int64_t>>(&attribute)) {
      return tensor_of_list(*value);
    }
  } else if (name == "value_floats") {
    if (const auto* value = std::get_if<std::vector<double>>(&attribute)) {
      return floats(tensor_of_list(*value));
    }
  }
  return unsupported("attribute '" + name + "' is no value that a graph can hold");
}

Status constant(Rewriter& rewriter) {
  Tensor value = TRY(constant_value(rewriter.node.attributes));
  rewriter.set_constant(std::move(value));
  return {};
}

// A constant where it is small, else one number and an Expand.
Status constant_of_shape(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(1));
  const Shape extents = TRY(rewriter.integers(0, "the shape"));
  const std::int64_t elements = TRY(checked_element_count(extents));
  Tensor value = Tensor::of<float>({1}, std::vector<float>{0});
  const auto given = rewriter.node.attributes.find("value");
  if (given != rewriter.node.attributes.end()) {
    const auto* tensor = std::get_if<Tensor>(&given->second);
    if (tensor == nullptr || tensor->type().elements() != 1) {
      return unreadable("attribute 'value' is no tensor of one element");
    }
    value = *tensor;
  }
  if (elements > kMostFilled) {
    const std::string one = rewriter.constant("value", std::move(value));
    const std::string filled =
        TRY(rewriter.append("filled", "Expand", {one, rewriter.node.inputs[0]}));
    rewriter.set_output(0, filled);
    return {};
  }
  Tensor filled({value.type().dtype, extents});
  const std::size_t bytes = size_of(value.type().dtype);
  for (std::size_t at = 0; at < filled.type().bytes(); at += bytes) {
    std::copy_n(value.data(), bytes, filled.data() + at);
  }
  rewriter.set_constant(std::move(filled));
  return {};
}

Status eye_like(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(1));
  const TensorType& like = rewriter.type(0);
  if (like.shape.size() != 2) return unreadable("the input is " + to_string(like) + ", no matrix");
  if (like.elements() > kMostFilled)
    return unsupported("a matrix of shape " + to_string(like.shape));
  const FileAttributes& attributes = rewriter.node.attributes;
  const std::int64_t code = TRY(integer_or(attributes, "dtype", onnx_code(like.dtype)));
  const std::optional<DType> dtype = dtype_from_onnx_code(code);
  if (!dtype) return unsupported("dtype = " + std::to_string(code));
  const std::int64_t offset = TRY(integer_or(attributes, "k", 0));
  Tensor eye({DType::kFloat64, like.shape});
  for (std::int64_t row = 0; row < like.shape[0]; ++row) {
    // row + offset could overflow.
    if (offset < -row || offset >= like.shape[1] - row) continue;
    eye.as<double>()[static_cast<std::size_t>(row * like.shape[1] + row + offset)] = 1;
  }
  rewriter.set_constant(converted(eye.ref(), *dtype));
  return {};
}

Status cast_like(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(2));
  const DType dtype = rewriter.type(1).dtype;
  rewriter.node.op = "Cast";
  rewriter.node.inputs.resize(1);
  rewriter.node.attributes = {{"to", FileAttribute(onnx_code(dtype))}};
  return {};
}

// Nothing happens to the value.
Status identity(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(1));
  rewriter.set_output(0, rewriter.node.inputs[0]);
  return {};
}

Status cast(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(1));
  const std::int64_t code = TRY(integer_or(rewriter.node.attributes, "to", 0));
  if (dtype_from_onnx_code(code) == rewriter.type(0).dtype) return identity(rewriter);
  return {};
}

// ONNX lets the exponent be of another type; the result has the base's.
Status pow(Rewriter& rewriter) {
  TRY(rewriter.expect_inputs(2));
  const DType base = rewriter.type(0).dtype;
  if (!is_floating(base) || rewriter.type(1).dtype == base) return {};
  rewriter.node.inputs[1] = TRY(
      rewriter.append("exponent", "Cast", {rewriter.node.inputs[1]}, {{"to", onnx_code(base)}}));
  return {};
}

}  // namespace

std::vector<UpgradeRule> shape_rules() {
  std::vector<UpgradeRule> rules = {{"Shape", 1, 0, shape},
                                    {"Size", 1, 0, size},
                                    {"Constant", 1, 0, constant},
                                    {"ConstantOfShape", 1, 0, constant_of_shape},
                                    {"EyeLike", 1, 0, eye_like},
                                    {"CastLike", 1, 0, cast_like},
                                    {"Cast", 1, 0, cast},
                                    {"Identity", 1, 0, identity},
                                    {"Pow", 1, 0, pow}};
  for (UpgradeRule& rule : rules) rule.to = kNewestOpset;
  return rules;
}

}  // namespace gradstone::onnx_io
