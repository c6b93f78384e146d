// SPDX-License-Identifier: Apache-2.0
// The operators of domain "gradstone" that backward passes are made of. Each is linear in its last
// input (HeavisideStep aside), and the set is closed: the gradient of every one is made of these
// and of ONNX's operators. Rows stand in gradient_ops.cc.
//
//   ConvGradInput(W, dY; Conv's attributes, input_shape) -> [input_shape]
//   ConvGradWeight(X, dY; Conv's attributes, weight_shape) -> [weight_shape]
//   MaxPoolGrad(X, dY; MaxPool's attributes) -> as X
//       dY added at the first maximum of each window
//   MaxPoolGather(X, G; MaxPool's attributes) -> as MaxPool's Y
//       G read at those places
//   AveragePoolGrad(dY; AveragePool's attributes, input_shape) -> [input_shape]
//   ChannelWindowSum(X; size, transposed) -> as X
//       sum over the channels that LRN's window covers; transposed: its adjoint
//   GatherGrad(indices, dY; axis, input_shape) -> [input_shape]
//       dY added at the gathered places
//   NegativeLogLikelihoodGrad(labels, weight or "", dY; reduction, ignore_index, input_shape)
//       -> [input_shape]
//   RoiAlignGrad(X, rois, batch_indices, dY; RoiAlign's attributes) -> as X
//       dY added where RoiAlign reads X
//   RoiAlignGather(X, rois, batch_indices, G; RoiAlign's attributes) -> as RoiAlign's Y
//       G read at those places
//   HeavisideStep(X) -> as X
//       1 where x > 0, else 0
//   SumTo(X; shape) -> [shape]
//       adjoint of broadcasting [shape] to X's shape
//   Fill(; shape, value, dtype) -> [shape]
//       every element `value`; dtype by name
#pragma once
