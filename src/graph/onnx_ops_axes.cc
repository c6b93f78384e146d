// SPDX-License-Identifier: Apache-2.0
// Axes dropped, added, repeated, cut apart, or exchanged for others.
#include <algorithm>

#include "graph/expansion.h"
#include "graph/gradients.h"
#include "graph/onnx_ops.h"
#include "graph/shape_rules.h"
#include "graph/splitting.h"
#include "graph/zeros.h"

namespace gradstone {
namespace {

using enum AttributeKind;
using Integers = std::vector<std::int64_t>;

OutputTypes infer_squeeze(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  std::vector<bool> dropped(input.shape.size(), false);
  if (context.inputs[1] != nullptr) {
    const Integers axes = TRY(constant_integers(context, 1, "axes"));
    for (const std::size_t axis : TRY(resolved_axes(axes, input.shape.size()))) {
      if (input.shape[axis] != 1) {
        return unreadable("axis " + std::to_string(axis) + " of input " + to_string(input.shape) +
                          " has not extent 1");
      }
      dropped[axis] = true;
    }
  } else {
    for (std::size_t i = 0; i < dropped.size(); ++i) dropped[i] = input.shape[i] == 1;
  }
  Shape shape;
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    if (!dropped[i]) shape.push_back(input.shape[i]);
  }
  return std::vector<TensorType>{{input.dtype, shape}};
}

OutputTypes infer_unsqueeze(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  const Integers axes = TRY(constant_integers(context, 1, "axes"));
  Shape shape = input.shape;
  for (const std::size_t axis : TRY(resolved_axes(axes, input.shape.size() + axes.size()))) {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);  // ascending
  }
  return std::vector<TensorType>{{input.dtype, shape}};
}

OutputTypes infer_tile(const NodeContext& context) {
  TensorType type = *context.inputs[0];
  const Integers repeats = TRY(constant_integers(context, 1, "repeats"));
  if (repeats.size() != type.shape.size()) {
    return unreadable("repeats has " + std::to_string(repeats.size()) + " items; expected " +
                      std::to_string(type.shape.size()));
  }
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] < 0) return unreadable("repeats " + to_string(repeats) + " has a negative item");
    type.shape[i] = saturating_product({type.shape[i], repeats[i]});
  }
  return std::vector<TensorType>{type};
}

// Seen as [repeats, extent] for each axis, every repeat of an element adds to it.
Status gradient_of_tile(GradientBuilder& b) {
  const Shape shape = b.shape_of(b.input(0)), tiled = b.shape_of(b.output(0));
  Shape split;
  Integers repeats;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    repeats.push_back(static_cast<std::int64_t>(split.size()));
    split.push_back(tiled[i] / shape[i]);
    split.push_back(shape[i]);
  }
  b.give(0, b.sum(b.reshape(b.cotangent(), split), repeats, false));
  return {};
}

OutputTypes infer_split(const NodeContext& context) {
  const Splitting splitting = TRY(splitting_of(context));
  std::vector<TensorType> types;
  for (const std::int64_t extent : splitting.extents) {
    types.push_back(*context.inputs[0]);
    types.back().shape[splitting.axis] = extent;
  }
  return types;
}

Status gradient_of_split(GradientBuilder& b) {
  const std::int64_t axis = attribute_or(b.node(), "axis", std::int64_t{0});
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < b.node().outputs.size(); ++i) {
    const std::string g = b.cotangent(i);
    parts.push_back(g.empty() ? zeros(b, b.type_of(b.output(i))) : g);
  }
  b.give(0, b.append("concat", "Concat", parts, {{"axis", axis}}));
  return {};
}

Result<std::int64_t> block_size(const NodeContext& context) {
  TRY(expect_rank(*context.inputs[0], 4, "the input"));
  const std::int64_t block = attribute_or(context.node, "blocksize", std::int64_t{0});
  if (block >= 1 && block <= (std::int64_t{1} << 20)) return block;
  return unreadable("blocksize = " + std::to_string(block) + "; expected 1 to 2^20");
}

OutputTypes infer_depth_to_space(const NodeContext& context) {
  const std::int64_t block = TRY(block_size(context));
  TRY(chosen(context.node, "mode", {"DCR", "CRD"}));
  TensorType type = *context.inputs[0];
  if (type.shape[1] % (block * block) != 0) {
    return unreadable("blocksize " + std::to_string(block) + " squared does not divide " +
                      std::to_string(type.shape[1]) + " channels");
  }
  type.shape = {type.shape[0], type.shape[1] / (block * block),
                saturating_product({type.shape[2], block}),
                saturating_product({type.shape[3], block})};
  return std::vector<TensorType>{type};
}

std::string transposed(NodeBuilder& b, const std::string& value, const Integers& order) {
  return b.append("transpose", "Transpose", {value}, {{"perm", order}});
}

// DCR: the depth is [block row, block column, channel]; CRD: [channel, block row, block column].
Status expand_depth_to_space(ExpansionBuilder& b) {
  const Shape from = b.shape_of(b.input(0)), to = b.shape_of(b.node().outputs[0]);
  const std::int64_t block = attribute_or(b.node(), "blocksize", std::int64_t{1});
  const bool depth_first = attribute_or(b.node(), "mode", std::string_view("DCR")) == "DCR";
  const Shape apart = depth_first ? Shape{from[0], block, block, to[1], from[2], from[3]}
                                  : Shape{from[0], to[1], block, block, from[2], from[3]};
  const Integers order = depth_first ? Integers{0, 3, 4, 1, 5, 2} : Integers{0, 1, 4, 2, 5, 3};
  b.set_output(0, b.reshape(transposed(b, b.reshape(b.input(0), apart), order), to));
  return {};
}

OutputTypes infer_space_to_depth(const NodeContext& context) {
  const std::int64_t block = TRY(block_size(context));
  TensorType type = *context.inputs[0];
  if (type.shape[2] % block != 0 || type.shape[3] % block != 0) {
    return unreadable("blocksize " + std::to_string(block) + " does not divide the image " +
                      to_string(type.shape));
  }
  type.shape = {type.shape[0], saturating_product({type.shape[1], block, block}),
                type.shape[2] / block, type.shape[3] / block};
  return std::vector<TensorType>{type};
}

Status expand_space_to_depth(ExpansionBuilder& b) {
  const Shape from = b.shape_of(b.input(0)), to = b.shape_of(b.node().outputs[0]);
  const std::int64_t block = attribute_or(b.node(), "blocksize", std::int64_t{1});
  const Shape apart = {from[0], from[1], to[2], block, to[3], block};
  b.set_output(0, b.reshape(transposed(b, b.reshape(b.input(0), apart), {0, 3, 5, 1, 2, 4}), to));
  return {};
}

OutputTypes infer_trilu(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  if (input.shape.size() < 2) {
    return unreadable("the input has shape " + to_string(input.shape) + "; expected matrices");
  }
  const TensorType* k = context.inputs[1];
  if (k != nullptr && (k->dtype != DType::kInt64 || k->elements() != 1)) {
    return unreadable("k is " + to_string(*k) + "; expected one int64");
  }
  return std::vector<TensorType>{input};
}

Status gradient_of_trilu(GradientBuilder& b) {
  std::vector<std::string> inputs = b.node().inputs;
  inputs[0] = b.cotangent();
  b.give(0, b.append("trilu", "Trilu", inputs, b.node().attributes));
  return {};
}

std::vector<OpDef> reshaping_rows() {
  return {
      {.name = "Squeeze",
       .max_inputs = 2,
       .infer = infer_squeeze,
       .gradient = gradient_of_reshape,
       .summary = "Without the axes of the second input, a constant; by default all of extent 1"},
      {.name = "Unsqueeze",
       .min_inputs = 2,
       .max_inputs = 2,
       .infer = infer_unsqueeze,
       .gradient = gradient_of_reshape,
       .summary = "With new axes of extent 1 at the places of the second input, a constant"},
      {.name = "Tile",
       .min_inputs = 2,
       .max_inputs = 2,
       .infer = infer_tile,
       .gradient = gradient_of_tile,
       .summary = "The input repeated along each axis; repeats is a constant"},
      {.name = "Split",
       .max_inputs = 2,
       .max_outputs = kVariadic,
       .attributes = {{"axis", kInt}},
       .infer = infer_split,
       .gradient = gradient_of_split,
       .summary = "The input cut along `axis` into parts of the extents in the second input, a "
                  "constant; by default equal ones"},
  };
}

}  // namespace

Result<Splitting> splitting_of(const NodeContext& context) {
  const Shape& shape = context.inputs[0]->shape;
  Splitting splitting;
  splitting.axis =
      TRY(resolved_axis(attribute_or(context.node, "axis", std::int64_t{0}), shape.size()));
  const auto parts = static_cast<std::int64_t>(context.node.outputs.size());
  const std::int64_t extent = shape[splitting.axis];
  if (context.inputs[1] == nullptr) {
    if (extent % parts != 0) {
      return unreadable("an extent of " + std::to_string(extent) + " does not split into " +
                        std::to_string(parts) + " equal parts; give their extents in input split");
    }
    splitting.extents.assign(static_cast<std::size_t>(parts), extent / parts);
    return splitting;
  }
  splitting.extents = TRY(constant_integers(context, 1, "split"));
  std::int64_t sum = 0;
  for (const std::int64_t part : splitting.extents) {
    if (part < 0) return unreadable("split holds " + std::to_string(part));
    sum = saturating_sum(sum, part);
  }
  if (static_cast<std::int64_t>(splitting.extents.size()) != parts || sum != extent) {
    return unreadable("split " + to_string(splitting.extents) + " does not give " +
                      std::to_string(parts) + " outputs that sum to " + std::to_string(extent));
  }
  return splitting;
}

std::vector<OpDef> axes_rows() {
  std::vector<OpDef> rows = reshaping_rows();
  rows.push_back({.name = "DepthToSpace",
                  .attributes = {{"blocksize", kInt, true}, {"mode", kString}},
                  .infer = infer_depth_to_space,
                  .expand = expand_depth_to_space,
                  .summary = "Channels laid out as blocks of pixels; mode DCR or CRD"});
  rows.push_back({.name = "SpaceToDepth",
                  .attributes = {{"blocksize", kInt, true}},
                  .infer = infer_space_to_depth,
                  .expand = expand_space_to_depth,
                  .summary = "Blocks of pixels stacked as channels"});
  rows.push_back({.name = "Trilu",
                  .max_inputs = 2,
                  .attributes = {{"upper", kInt}},
                  .infer = infer_trilu,
                  .gradient = gradient_of_trilu,
                  .summary = "The upper (or lower) triangle of matrices from diagonal k on, zero "
                             "elsewhere"});
  return rows;
}

}  // namespace gradstone
