// SPDX-License-Identifier: Apache-2.0
#include "onnx/input_types.h"

#include <set>

#include "base/suggest.h"
#include "graph/shape_rules.h"
#include "onnx/assembler.h"
#include "onnx/tensors.h"

namespace gradstone::onnx_io {
namespace {

// "[N, 3, ?, 224]": as the file has it.
std::string to_text(const onnx::TensorShapeProto& shape) {
  std::string text;
  for (const onnx::TensorShapeProto_Dimension& dim : shape.dim()) {
    if (!text.empty()) text += ", ";
    if (dim.has_dim_value()) {
      text += std::to_string(dim.dim_value());
    } else {
      text += dim.dim_param().empty() ? "?" : printable_name(dim.dim_param());
    }
  }
  return "[" + text + "]";
}

Result<std::int64_t> extent_of(const onnx::TensorShapeProto& shape, int axis,
                               const ImportOptions& options) {
  const onnx::TensorShapeProto_Dimension& dim = shape.dim(axis);
  if (dim.has_dim_value() && dim.dim_value() > 0) return std::int64_t{dim.dim_value()};
  if (dim.has_dim_value() && dim.dim_value() < 0) {
    return unreadable("shape " + to_text(shape) + " has a negative extent");
  }
  const auto bound = options.dimensions.find(dim.dim_param());
  if (!dim.dim_param().empty() && bound != options.dimensions.end()) return bound->second;
  const std::string name = printable_name(dim.dim_param());
  return usage_error("shape " + to_text(shape) + ": the extent of axis " + std::to_string(axis) +
                     " is open; give it with " +
                     (name.empty() ? "--shape INPUT=N,..." : "--dimension '" + name + "=N'"));
}

template <class Known>
Status check_names(const Known& options, const std::set<std::string>& known,
                   std::string_view what) {
  for (const auto& [name, value] : options) {
    if (known.count(name) > 0) continue;
    const std::vector<std::string_view> names(known.begin(), known.end());
    return usage_error("the model has no " + std::string(what) + " '" + name + "'" +
                       did_you_mean(name, names));
  }
  return {};
}

}  // namespace

Result<TensorType> input_type(const onnx::ValueInfoProto& input, const ImportOptions& options) {
  if (!input.type().has_tensor_type()) {
    return unsupported("it is no tensor; graphs have no sequences, maps and optional values");
  }
  const onnx::TypeProto_Tensor& tensor = input.type().tensor_type();
  const DType dtype = TRY(dtype_from_proto(tensor.elem_type()));
  const auto given = options.shapes.find(input.name());
  Shape shape;
  if (given != options.shapes.end()) {
    shape = given->second;
  } else if (!tensor.has_shape()) {
    return usage_error("the file does not say its shape; give it with --shape '" +
                       printable_name(input.name()) + "=N,...'");
  } else {
    for (int axis = 0; axis < tensor.shape().dim_size(); ++axis) {
      shape.push_back(TRY(extent_of(tensor.shape(), axis, options)));
    }
  }
  if (TRY(checked_element_count(shape)) == 0) {
    return unreadable("shape " + to_string(shape) + " holds nothing");
  }
  return TensorType{dtype, shape};
}

Status check_options(const onnx::GraphProto& graph, const ImportOptions& options) {
  std::set<std::string> inputs, dimensions;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    inputs.insert(input.name());
    for (const onnx::TensorShapeProto_Dimension& dim : input.type().tensor_type().shape().dim()) {
      if (!dim.dim_param().empty()) dimensions.insert(dim.dim_param());
    }
  }
  for (const onnx::TensorProto& initializer : graph.initializer())
    inputs.insert(initializer.name());
  TRY(check_names(options.bound, inputs, "input"));
  TRY(check_names(options.shapes, inputs, "input"));
  return check_names(options.dimensions, dimensions, "dimension");
}

}  // namespace gradstone::onnx_io
