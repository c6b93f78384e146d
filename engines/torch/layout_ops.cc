// SPDX-License-Identifier: Apache-2.0
// Operators that move elements and do not compute: shapes, axes, boxes; gathering and scattering; and
// values made from shapes and numbers.
#include <algorithm>
#include <numeric>

#include "engines/torch/lowering_forms.h"
#include "engines/torch/support.h"
#include "graph/slicing.h"
#include "graph/splitting.h"

namespace gradstone::torch_engine {
namespace {

// --- Shapes and axes

Result<Step> lower_reshape(const LoweringContext& context) {
  const Shape shape = context.output_shape();
  return unary(context, [=](const at::Tensor& x) { return x.reshape(shape); });
}
Result<Step> lower_transpose(const LoweringContext& context) {
  Shape reversed;
  for (std::int64_t i = rank_of(context); i-- > 0;) reversed.push_back(i);
  const Shape order = attribute_or(context.node(), "perm", reversed);
  return unary(context, [=](const at::Tensor& x) { return x.permute(order); });
}
Result<Step> lower_expand(const LoweringContext& context) {
  const Shape shape = context.output_shape();
  return unary(context, [=](const at::Tensor& x) { return x.expand(shape); });
}
Result<Step> lower_tile(const LoweringContext& context) {
  Shape repeats = context.output_shape();
  for (std::size_t i = 0; i < repeats.size(); ++i) repeats[i] /= context.input_shape(0)[i];
  return unary(context, [=](const at::Tensor& x) { return x.repeat(repeats); });
}
Result<Step> lower_concat(const LoweringContext& context) {
  const std::int64_t axis = attribute_or(context.node(), "axis", std::int64_t{0});
  const std::vector<Slot> inputs = context.inputs;
  const Slot y = context.output(0);
  return Step([=](at::Tensor* v) {
    std::vector<at::Tensor> parts;
    parts.reserve(inputs.size());
    for (const Slot input : inputs) parts.push_back(v[input]);
    v[y] = at::cat(parts, axis);
  });
}
Result<Step> lower_split(const LoweringContext& context) {
  const Splitting splitting = TRY(splitting_of(context.rules));
  const auto axis = static_cast<std::int64_t>(splitting.axis);
  const std::vector<Slot> outputs = context.outputs;
  const Slot x = context.input(0);
  return Step([=](at::Tensor* v) {
    const std::vector<at::Tensor> parts = at::split_with_sizes(v[x], splitting.extents, axis);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (outputs[i] != kAbsent) v[outputs[i]] = parts[i];
    }
  });
}

// ATen's pixel_shuffle is mode CRD, its pixel_unshuffle is no operator of ONNX.
Step regrouped(const LoweringContext& context, const Shape& apart, const Shape& order) {
  const Shape shape = context.output_shape();
  return unary(context,
               [=](const at::Tensor& x) { return x.reshape(apart).permute(order).reshape(shape); });
}
Result<Step> lower_depth_to_space(const LoweringContext& context) {
  const std::int64_t block = attribute_or(context.node(), "blocksize", std::int64_t{1});
  const Shape &from = context.input_shape(0), &to = context.output_shape();
  if (attribute_or(context.node(), "mode", "DCR") == "CRD") {
    return unary(context, [=](const at::Tensor& x) { return at::pixel_shuffle(x, block); });
  }
  return regrouped(context, {from[0], block, block, to[1], from[2], from[3]}, {0, 3, 4, 1, 5, 2});
}
Result<Step> lower_space_to_depth(const LoweringContext& context) {
  const std::int64_t block = attribute_or(context.node(), "blocksize", std::int64_t{1});
  const Shape &from = context.input_shape(0), &to = context.output_shape();
  return regrouped(context, {from[0], from[1], to[2], block, to[3], block}, {0, 3, 5, 1, 2, 4});
}

Result<Step> lower_trilu(const LoweringContext& context) {
  const bool upper = has_flag(context.node(), "upper", true);
  return binary(context, [=](const at::Tensor& x, const at::Tensor& k) {
    const std::int64_t diagonal = k.defined() ? k.item<std::int64_t>() : 0;
    return upper ? at::triu(x, diagonal) : at::tril(x, diagonal);
  });
}

// --- Boxes

Result<Step> lower_slice(const LoweringContext& context) {
  const Slicing slicing = TRY(slicing_of(context.rules));
  return unary(context, [=](at::Tensor x) {
    for (std::size_t i = 0; i < slicing.starts.size(); ++i) {
      const auto axis = static_cast<std::int64_t>(i);
      const std::int64_t start = slicing.starts[i], step = slicing.steps[i];
      const std::int64_t last = start + (slicing.extents[i] - 1) * step;
      // ATen has no negative steps: the same elements are taken forwards and turned round.
      x = step > 0 ? x.slice(axis, start, last + 1, step)
                   : x.slice(axis, last, start + 1, -step).flip(axis);
    }
    return x;
  });
}

at::Tensor long_tensor(const std::vector<std::int64_t>& values) {
  return at::tensor(values, at::TensorOptions().dtype(at::kLong));
}

// ATen's own pads of modes reflect and edge: positive ones of all axes behind the second, reflected
// once at most.
bool has_native_pads(const LoweringContext& context, const Pads& pads) {
  const Shape& shape = context.input_shape(0);
  if (!is_floating(context.input_type(0).dtype) || shape.size() < 3 || shape.size() > 5) {
    return false;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto [least, most] = std::minmax(pads.begin[i], pads.end[i]);
    if (least < 0 || (i < 2 && most > 0)) return false;
    if (pads.mode == PadMode::kReflect && most >= shape[i]) return false;
  }
  return true;
}

Result<Step> native_pad(const LoweringContext& context, const Pads& pads) {
  const Shape all = aten_pads(pads.begin, pads.end);
  const Shape spatial(all.begin(), all.end() - 4);
  using Function = at::Tensor (*)(const at::Tensor&, at::IntArrayRef);
  constexpr Function kReflect[] = {at::reflection_pad1d, at::reflection_pad2d,
                                   at::reflection_pad3d};
  constexpr Function kEdge[] = {at::replication_pad1d, at::replication_pad2d,
                                at::replication_pad3d};
  const std::size_t axes = spatial.size() / 2;
  const Function pad = (pads.mode == PadMode::kReflect ? kReflect : kEdge)[axes - 1];
  return unary(context, [=](const at::Tensor& x) { return pad(x, spatial); });
}

Result<Step> lower_pad(const LoweringContext& context) {
  const Pads given = TRY(pads_of(context.rules));
  if (given.mode == PadMode::kConstant) {
    const Padding padding = TRY(padding_of(context.rules));
    const Shape pads = aten_pads(padding.begin, padding.end);
    const double value = padding.value;
    return unary(context, [=](const at::Tensor& x) { return at::constant_pad_nd(x, pads, value); });
  }
  if (has_native_pads(context, given)) return native_pad(context, given);
  std::vector<std::pair<std::int64_t, at::Tensor>> places;
  for (std::size_t axis = 0; axis < given.begin.size(); ++axis) {
    if (given.begin[axis] == 0 && given.end[axis] == 0) continue;
    const auto taken = padded_places(given, axis, context.input_shape(0)[axis]);
    places.emplace_back(static_cast<std::int64_t>(axis), long_tensor(taken));
  }
  return unary(context, [=](at::Tensor x) {
    for (const auto& [axis, taken] : places) x = at::index_select(x, axis, taken);
    return x;
  });
}

// --- Gathering and scattering

std::int64_t extent_of(const LoweringContext& context, std::int64_t axis) {
  return context.input_shape(0)[static_cast<std::size_t>(axis)];
}

Result<Step> lower_gather(const LoweringContext& context) {
  const std::int64_t axis = axis_of(context.node(), 0, rank_of(context));
  const std::int64_t extent = extent_of(context, axis);
  const bool rows = axis == 0 && rank_of(context) == 2;
  const Shape shape = context.output_shape();
  return binary(context, [=](const at::Tensor& data, const at::Tensor& indices) {
    const at::Tensor places = from_start(indices, extent);
    if (rows) return at::embedding(data, places);
    return at::index_select(data, axis, places.flatten()).reshape(shape);
  });
}

Result<Step> lower_gather_elements(const LoweringContext& context) {
  const std::int64_t axis = axis_of(context.node(), 0, rank_of(context));
  const std::int64_t extent = extent_of(context, axis);
  return binary(context, [=](const at::Tensor& data, const at::Tensor& indices) {
    return at::gather(data, axis, from_start(indices, extent));
  });
}

at::Tensor scattered(const std::string& reduction, std::int64_t axis, const at::Tensor& data,
                     const at::Tensor& places, const at::Tensor& updates) {
  if (reduction == "none") return at::scatter(data, axis, places, updates);
  if (reduction == "add") return at::scatter_add(data, axis, places, updates);
  return at::scatter_reduce(data, axis, places, updates, reduction, /*include_self=*/true);
}

// ONNX's names of reductions as ATen has them.
Result<std::string> scatter_reduction(const Node& node) {
  const std::string name = attribute_or(node, "reduction", "none");
  if (name == "none" || name == "add") return name;
  if (name == "mul") return std::string("prod");
  if (name == "max" || name == "min") return "a" + name;
  return unsupported("reduction '" + name + "'");
}

Result<Step> lower_scatter_elements(const LoweringContext& context) {
  const std::string reduction = TRY(scatter_reduction(context.node()));
  const std::int64_t axis = axis_of(context.node(), 0, rank_of(context));
  const std::int64_t extent = extent_of(context, axis);
  return ternary(context,
                 [=](const at::Tensor& data, const at::Tensor& indices, const at::Tensor& updates) {
                   return scattered(reduction, axis, data, from_start(indices, extent), updates);
                 });
}

// Indices [..., k] name slices of data [batch..., d1, ..., dk, rest...]. Both are seen as flat: rows
// of what is behind dk, and one number a row.
struct RowPlaces {
  Shape extents;        // d1, ..., dk
  std::int64_t rows;    // of the data
  at::Tensor of_batch;  // first row of each element of the batch; undefined without a batch

  at::Tensor operator()(const at::Tensor& indices) const {
    at::Tensor places = of_batch;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const at::Tensor along = indices.select(-1, static_cast<std::int64_t>(i));
      const std::int64_t stride =
          std::accumulate(extents.begin() + static_cast<std::ptrdiff_t>(i) + 1, extents.end(),
                          std::int64_t{1}, std::multiplies<>());
      const at::Tensor part = from_start(along, extents[i]) * stride;
      places = places.defined() ? places + part : part;
    }
    return places.flatten();
  }
};

RowPlaces row_places(const LoweringContext& context, std::int64_t batch_axes) {
  const Shape &data = context.input_shape(0), &indices = context.input_shape(1);
  const auto first = data.begin() + batch_axes, last = first + indices.back();
  RowPlaces places{Shape(first, last), element_count(Shape(data.begin(), last)), {}};
  if (batch_axes > 0) {
    Shape shape(data.begin(), first);
    const std::int64_t batch = element_count(shape);
    shape.resize(indices.size() - 1, 1);
    places.of_batch = at::arange(batch, at::TensorOptions().dtype(at::kLong))
                          .mul(places.rows / batch)
                          .reshape(shape);
  }
  return places;
}

Result<Step> lower_gather_nd(const LoweringContext& context) {
  const std::int64_t batch = attribute_or(context.node(), "batch_dims", std::int64_t{0});
  const RowPlaces places = row_places(context, batch);
  const Shape shape = context.output_shape();
  return binary(context, [=](const at::Tensor& data, const at::Tensor& indices) {
    return data.reshape({places.rows, -1}).index_select(0, places(indices)).reshape(shape);
  });
}

Result<Step> lower_scatter_nd(const LoweringContext& context) {
  const std::string reduction = TRY(scatter_reduction(context.node()));
  const RowPlaces places = row_places(context, 0);
  return ternary(context,
                 [=](const at::Tensor& data, const at::Tensor& indices, const at::Tensor& updates) {
                   const at::Tensor flat = data.reshape({places.rows, -1});
                   const at::Tensor rows = updates.reshape({-1, flat.size(1)});
                   const at::Tensor wide = places(indices).unsqueeze(1).expand(rows.sizes());
                   return scattered(reduction, 0, flat, wide, rows).reshape(data.sizes());
                 });
}

Result<Step> lower_one_hot(const LoweringContext& context) {
  const std::int64_t axis = axis_of(context.node(), -1, rank_of(context) + 1);
  const std::int64_t depth = context.output_shape()[static_cast<std::size_t>(axis)];
  Shape along(context.output_shape().size(), 1);
  along[static_cast<std::size_t>(axis)] = depth;
  const at::Tensor classes = at::arange(depth, at::TensorOptions().dtype(at::kLong)).reshape(along);
  const Slot indices = context.input(0), values = context.input(2), y = context.output(0);
  return Step([=](at::Tensor* v) {
    const at::Tensor hot = from_start(v[indices], depth).unsqueeze(axis).eq(classes);
    v[y] = at::where(hot, v[values].select(0, 1), v[values].select(0, 0));
  });
}

// --- Made from shapes and numbers: once, when the program is loaded

Step always(const LoweringContext& context, const at::Tensor& value) {
  const Slot y = context.output(0);
  return [=](at::Tensor* v) { v[y] = value; };
}
at::TensorOptions output_options(const LoweringContext& context) {
  return at::TensorOptions().dtype(scalar_type(context.output_types[0].dtype));
}

Result<Step> lower_shape(const LoweringContext& context) {
  const Shape& shape = context.input_shape(0);
  const std::int64_t rank = rank_of(context);
  const std::int64_t start = attribute_or(context.node(), "start", std::int64_t{0});
  const auto first =
      shape.begin() + std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
  return always(context, long_tensor(Shape(first, first + context.output_shape()[0])));
}
Result<Step> lower_size(const LoweringContext& context) {
  return always(context,
                at::scalar_tensor(context.input_type(0).elements(), output_options(context)));
}
Result<Step> lower_constant_of_shape(const LoweringContext& context) {
  return always(context,
                at::full(context.output_shape(), attribute_or(context.node(), "value", 0.0),
                         output_options(context)));
}
Result<Step> lower_range(const LoweringContext& context) {
  const double start = element_as_double(context.rules.constants[0]->ref(), 0);
  const double delta = element_as_double(context.rules.constants[2]->ref(), 0);
  const at::Tensor numbers = at::arange(context.output_shape()[0], at::kDouble);
  return always(context, (numbers * delta + start).to(output_options(context).dtype()));
}
Result<Step> lower_eye_like(const LoweringContext& context) {
  const std::int64_t k = attribute_or(context.node(), "k", std::int64_t{0});
  const Shape& shape = context.output_shape();
  at::Tensor eye = at::zeros(shape, output_options(context));
  if (-shape[0] < k && k < shape[1]) eye.diagonal(k).fill_(1);
  return always(context, eye);
}

}  // namespace

const std::vector<Lowering>& layout_lowerings() {
  static const std::vector<Lowering> rows = {
      {"Reshape", lower_reshape},
      {"Flatten", lower_reshape},
      {"Squeeze", lower_reshape},
      {"Unsqueeze", lower_reshape},
      {"Transpose", lower_transpose},
      {"Expand", lower_expand},
      {"Tile", lower_tile},
      {"Concat", lower_concat},
      {"Split", lower_split},
      {"DepthToSpace", lower_depth_to_space},
      {"SpaceToDepth", lower_space_to_depth},
      {"Trilu", lower_trilu},
      {"Slice", lower_slice},
      {"Pad", lower_pad},
      {"Gather", lower_gather},
      {"GatherElements", lower_gather_elements},
      {"GatherND", lower_gather_nd},
      {"ScatterElements", lower_scatter_elements},
      {"ScatterND", lower_scatter_nd},
      {"OneHot", lower_one_hot},
      {"Shape", lower_shape},
      {"Size", lower_size},
      {"ConstantOfShape", lower_constant_of_shape},
      {"Range", lower_range},
      {"EyeLike", lower_eye_like},
  };
  return rows;
}

}  // namespace gradstone::torch_engine
