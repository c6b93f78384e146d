// SPDX-License-Identifier: Apache-2.0
#include "verify/reshape_case.h"

#include <algorithm>
#include <cstring>

namespace gradstone {
namespace {

void set_shape(Graph& graph, const std::string& name, const Shape& shape) {
  for (GraphInput& input : graph.inputs) {
    if (input.name == name) input.type.shape = shape;
  }
  for (Weight& weight : graph.weights) {
    if (weight.name == name) weight.type.shape = shape;
  }
}

Graph with_axes(const Case& question, const std::vector<CaseAxis>& axes, std::int64_t extent) {
  Graph graph = question.graph;
  std::map<std::string, Shape> shapes;
  for (const auto& [name, value] : question.values) shapes[name] = value.shape();
  for (const CaseAxis& axis : axes) shapes[axis.value][axis.axis] = extent;
  for (const auto& [name, shape] : shapes) set_shape(graph, name, shape);
  return graph;
}

// `axis` and the others that must be cut with it; empty: there is no such set.
std::vector<CaseAxis> agreeing_axes(const Case& question, const CaseAxis& axis,
                                    std::int64_t extent) {
  const auto fits = [&](const std::vector<CaseAxis>& axes) {
    return check_graph(with_axes(question, axes, extent)).ok();
  };
  if (fits({axis})) return {axis};
  const std::int64_t old = question.values.at(axis.value).shape()[axis.axis];
  std::vector<CaseAxis> others;
  for (const CaseAxis& other : axes_of(question)) {
    const bool same = other.value == axis.value && other.axis == axis.axis;
    if (same || question.values.at(other.value).shape()[other.axis] != old) continue;
    if (fits({axis, other})) return {axis, other};
    others.push_back(other);
  }
  std::vector<CaseAxis> all = others;
  all.push_back(axis);
  if (!fits(all)) return {};
  for (const CaseAxis& other : others) {
    std::vector<CaseAxis> fewer;
    for (const CaseAxis& kept : all) {
      if (kept.value != other.value || kept.axis != other.axis) fewer.push_back(kept);
    }
    if (fits(fewer)) all = std::move(fewer);
  }
  return all;
}

// The leading block of `shape`.
Tensor block(const Tensor& tensor, const Shape& shape) {
  Tensor result({tensor.type().dtype, shape});
  const std::size_t size = size_of(tensor.type().dtype);
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::int64_t place = 0; place < result.type().elements(); ++place) {
    std::int64_t source = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      source = source * tensor.shape()[axis] + index[axis];
    }
    std::memcpy(result.data() + static_cast<std::size_t>(place) * size,
                tensor.data() + static_cast<std::size_t>(source) * size, size);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return result;
}

// Integers that may be places in an axis of `old` elements, wrapped into one of `extent`.
Tensor wrapped_places(const Tensor& tensor, std::int64_t old, std::int64_t extent) {
  if (tensor.type().dtype != DType::kInt64 && tensor.type().dtype != DType::kInt32) return tensor;
  std::vector<double> places;
  for (std::int64_t i = 0; i < tensor.type().elements(); ++i) {
    const double place = element_as_double(tensor.ref(), i);
    if (place < 0 || place >= static_cast<double>(old)) return tensor;
    places.push_back(static_cast<double>(static_cast<std::int64_t>(place) % extent));
  }
  return converted(Tensor::of<double>(tensor.shape(), places).ref(), tensor.type().dtype);
}

}  // namespace

std::vector<CaseAxis> axes_of(const Case& question) {
  std::vector<CaseAxis> axes;
  for (const auto& [name, value] : question.values) {
    for (std::size_t axis = 0; axis < value.shape().size(); ++axis) {
      if (value.shape()[axis] > 1) axes.push_back({name, axis});
    }
  }
  return axes;
}

Result<Case> with_extent(const Case& question, const CaseAxis& axis, std::int64_t extent,
                         std::uint64_t seed) {
  const Shape& shape = question.values.at(axis.value).shape();
  if (axis.axis >= shape.size() || extent >= shape[axis.axis]) return failed("nothing to cut");
  const std::int64_t old = shape[axis.axis];
  const std::vector<CaseAxis> axes = agreeing_axes(question, axis, extent);
  if (axes.empty()) return failed("no set of axes can be cut together");
  Case cut = question;
  cut.graph = with_axes(question, axes, extent);
  const ValueTypes types = TRY(check_graph(cut.graph));
  for (auto& [name, value] : cut.values) {
    value = wrapped_places(block(value, types.find(name)->second.shape), old, extent);
  }
  for (auto& [name, cotangent] : cut.cotangents) {
    cotangent = random_normal(types.find(name)->second, seed, "cotangent/" + name);
  }
  return cut;
}

}  // namespace gradstone
