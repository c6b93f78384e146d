// SPDX-License-Identifier: Apache-2.0
// RoiAlign with the operators of its gradient, and NonMaxSuppression.
#include <algorithm>

#include "graph/gradients.h"
#include "graph/onnx_ops.h"
#include "graph/region_pooling.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using enum AttributeKind;

const std::vector<AttributeDef> kRoiAlignAttributes = {{"coordinate_transformation_mode", kString},
                                                       {"mode", kString},
                                                       {"output_height", kInt},
                                                       {"output_width", kInt},
                                                       {"sampling_ratio", kInt},
                                                       {"spatial_scale", kFloat}};

// Of RoiAlign and the operators of its gradient: X, rois and batch_indices come first.
Result<TensorType> pooled_regions(const NodeContext& context) {
  const TensorType& input = *context.inputs[0];
  const TensorType& rois = *context.inputs[1];
  const TensorType& batch = *context.inputs[2];
  TRY(expect_floating(context, 0, "the input"));
  TRY(expect_rank(input, 4, "the input"));
  TRY(expect_like_first(context, 1, "rois"));
  if (rois.shape.size() != 2 || rois.shape[1] != 4) {
    return unreadable("rois has shape " + to_string(rois.shape) + "; expected [regions, 4]");
  }
  if (batch.dtype != DType::kInt64 || batch.shape != Shape{rois.shape[0]}) {
    return unreadable("batch_indices is " + to_string(batch) + "; expected int64 " +
                      to_string(Shape{rois.shape[0]}));
  }
  const RegionPooling pooling = TRY(region_pooling_of(context.node));
  return TensorType{input.dtype,
                    {rois.shape[0], input.shape[1], pooling.output_height, pooling.output_width}};
}

OutputTypes infer_roi_align(const NodeContext& context) {
  return std::vector<TensorType>{TRY(pooled_regions(context))};
}

OutputTypes infer_roi_align_grad(const NodeContext& context) {
  const TensorType expected = TRY(pooled_regions(context));
  if (*context.inputs[3] == expected) return std::vector<TensorType>{*context.inputs[0]};
  return unreadable("the cotangent is " + to_string(*context.inputs[3]) +
                    ", the forward output is " + to_string(expected));
}

OutputTypes infer_roi_align_gather(const NodeContext& context) {
  const TensorType pooled = TRY(pooled_regions(context));
  if (*context.inputs[3] == *context.inputs[0]) return std::vector<TensorType>{pooled};
  return unreadable("gathers from " + to_string(*context.inputs[3]) + " at places of " +
                    to_string(*context.inputs[0]));
}

// Four multiply-adds a sample and one operation that joins it with the others; how many samples
// sampling_ratio 0 takes depends on the regions, and is counted as one a bin.
std::int64_t region_samples(const NodeContext& context, std::int64_t bins) {
  const std::int64_t ratio =
      std::max<std::int64_t>(attribute_or(context.node, "sampling_ratio", std::int64_t{0}), 1);
  return saturating_product({9, bins, ratio, ratio});
}

std::int64_t roi_align_flops(const NodeContext& context, std::span<const TensorType> outputs) {
  return region_samples(context, outputs[0].elements());
}

std::int64_t roi_align_grad_flops(const NodeContext& context, std::span<const TensorType>) {
  return region_samples(context, context.inputs[3]->elements());
}

// Regions are constants of the gradient, as in every framework.
Status gradient_of_roi_align(GradientBuilder& b) {
  if (!b.wants(0)) return {};
  b.give(0, b.append("input", "RoiAlignGrad", {b.input(0), b.input(1), b.input(2), b.cotangent()},
                     b.node().attributes));
  return {};
}

// Which sample is the maximum does not change with X, so X gets nothing.
Status gradient_of_roi_align_grad(GradientBuilder& b) {
  if (!b.wants(3)) return {};
  b.give(3, b.append("gather", "RoiAlignGather",
                     {b.input(0), b.input(1), b.input(2), b.cotangent()}, b.node().attributes));
  return {};
}

Status gradient_of_roi_align_gather(GradientBuilder& b) {
  if (!b.wants(3)) return {};
  b.give(3, b.append("input", "RoiAlignGrad", {b.input(0), b.input(1), b.input(2), b.cotangent()},
                     b.node().attributes));
  return {};
}

Status check_one_number(const NodeContext& context, std::size_t input, std::string_view what) {
  const TensorType* type = context.inputs[input];
  if (type == nullptr || (is_floating(type->dtype) && type->elements() == 1)) return {};
  return unreadable(std::string(what) + " is " + to_string(*type) + "; expected one number");
}

OutputTypes infer_non_max_suppression(const NodeContext& context) {
  const TensorType& boxes = *context.inputs[0];
  const TensorType& scores = *context.inputs[1];
  TRY(expect_floating(context, 0, "boxes"));
  TRY(expect_like_first(context, 1, "scores"));
  TRY(expect_rank(boxes, 3, "boxes"));
  TRY(expect_rank(scores, 3, "scores"));
  if (boxes.shape[2] != 4 || scores.shape[0] != boxes.shape[0] ||
      scores.shape[2] != boxes.shape[1]) {
    return unreadable("boxes " + to_string(boxes.shape) + " and scores " + to_string(scores.shape) +
                      "; expected [batch, boxes, 4] and [batch, classes, boxes]");
  }
  TRY(check_one_number(context, 3, "iou_threshold"));
  TRY(check_one_number(context, 4, "score_threshold"));
  const std::int64_t center = attribute_or(context.node, "center_point_box", std::int64_t{0});
  if (center != 0 && center != 1) {
    return unreadable("center_point_box = " + std::to_string(center) + "; expected 0 or 1");
  }
  double most = 0;
  if (context.inputs[2] != nullptr) {
    most = TRY(constant_number(context, 2, "max_output_boxes_per_class"));
  }
  if (!(most >= 1)) {
    return unsupported("max_output_boxes_per_class = " + std::to_string(most) +
                       " (its default is 0) selects nothing");
  }
  const double boxes_kept = std::min(most, static_cast<double>(boxes.shape[1]));
  const std::int64_t rows =
      saturating_product({scores.shape[0], scores.shape[1], static_cast<std::int64_t>(boxes_kept)});
  return std::vector<TensorType>{{DType::kInt64, {rows, 3}}};
}

}  // namespace

Result<RegionPooling> region_pooling_of(const Node& node) {
  RegionPooling pooling;
  pooling.maximum = TRY(chosen(node, "mode", {"avg", "max"})) == "max";
  pooling.half_pixel = TRY(chosen(node, "coordinate_transformation_mode",
                                  {"half_pixel", "output_half_pixel"})) == "half_pixel";
  pooling.output_height = attribute_or(node, "output_height", std::int64_t{1});
  pooling.output_width = attribute_or(node, "output_width", std::int64_t{1});
  pooling.sampling_ratio = attribute_or(node, "sampling_ratio", std::int64_t{0});
  pooling.spatial_scale = attribute_or(node, "spatial_scale", 1.0);
  const std::int64_t least = std::min(pooling.output_height, pooling.output_width);
  const std::int64_t most = std::max(pooling.output_height, pooling.output_width);
  if (least < 1 || most > kMaxElements || pooling.sampling_ratio < 0 ||
      pooling.sampling_ratio > (std::int64_t{1} << 15)) {
    return unreadable("output_height, output_width or sampling_ratio is out of range");
  }
  return pooling;
}

std::vector<OpDef> detection_rows() {
  return {
      {.name = "RoiAlign",
       .min_inputs = 3,
       .max_inputs = 3,
       .attributes = kRoiAlignAttributes,
       .infer = infer_roi_align,
       .flops = roi_align_flops,
       .gradient = gradient_of_roi_align,
       .summary = "Average or maximum of bilinear samples in each bin of each region; no gradient "
                  "flows to the regions"},
      {.name = "NonMaxSuppression",
       .min_inputs = 2,
       .max_inputs = 5,
       .attributes = {{"center_point_box", kInt}},
       .infer = infer_non_max_suppression,
       .summary = "Rows (batch, class, box) of the boxes kept; as shapes are static, as many rows "
                  "as there can be, unused ones -1 at the end; max_output_boxes_per_class is a "
                  "constant"},
  };
}

std::vector<OpDef> detection_gradient_rows() {
  return {
      {.name = "RoiAlignGrad",
       .min_inputs = 4,
       .max_inputs = 4,
       .attributes = kRoiAlignAttributes,
       .infer = infer_roi_align_grad,
       .flops = roi_align_grad_flops,
       .gradient = gradient_of_roi_align_grad,
       .summary = "(X, rois, batch_indices, dY): gradient of RoiAlign with respect to X"},
      {.name = "RoiAlignGather",
       .min_inputs = 4,
       .max_inputs = 4,
       .attributes = kRoiAlignAttributes,
       .infer = infer_roi_align_gather,
       .flops = roi_align_flops,
       .gradient = gradient_of_roi_align_gather,
       .summary = "(X, rois, batch_indices, G): G read where RoiAlign reads X"},
  };
}

}  // namespace gradstone
