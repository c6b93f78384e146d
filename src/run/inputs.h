// SPDX-License-Identifier: Apache-2.0
// What a run takes from outside, looked at before a worker starts: its data, and weights in a tensor
// file. Nothing is made from them here: job.h.
#pragma once

#include <string>
#include <vector>

#include "protocol/tensor_file.h"
#include "run/spec.h"

namespace gradstone {

// Opens a resolved spec's data. Unreadable where it is damaged or missing; a usage error where the
// network cannot take its images, classes or number of samples.
Status check_data(const RunSpec& spec, const Workload& workload);

// Whether `file` has every weight of the graph in its shape, of any floating type. Unreadable, with
// the name of the weight.
Status check_weights_fit(const Graph& graph, const TensorFile& file);
// Whether the elements of those weights are finite numbers. Unreadable, with weight and element.
Status check_weights_finite(const Graph& graph, const TensorFile& file);
// Tensors of `file` that are neither a weight of the graph nor the running average of one.
std::vector<std::string> tensors_beside(const Graph& graph, const TensorFile& file);

}  // namespace gradstone
