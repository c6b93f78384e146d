// SPDX-License-Identifier: Apache-2.0
// What shape rules are written with: checked arithmetic on foreign extents, broadcasting, axes,
// and constants read as integers. Not for kernels, whose shapes have been checked.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "graph/op_table.h"

namespace gradstone {

using OutputTypes = Result<std::vector<TensorType>>;

// More elements than any machine here holds. Keeps every count and byte size inside int64.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

// Elements of a shape of foreign origin. An error where an extent is negative or the count is
// above kMaxElements.
Result<std::int64_t> checked_element_count(const Shape& shape);

// Arithmetic on numbers >= 0 that stops at the largest int64.
std::int64_t saturating_sum(std::int64_t a, std::int64_t b);
std::int64_t saturating_product(std::initializer_list<std::int64_t> factors);
std::int64_t saturating_product(std::int64_t factor, std::span<const std::int64_t> factors);

// NumPy's rule: aligned at the last axis, an extent of 1 stretches.
Result<Shape> broadcast_shapes(const Shape& a, const Shape& b);
bool broadcasts_to(const Shape& from, const Shape& to);

// `axis` in [-rank, rank) as one in [0, rank). With `allow_end` also rank itself (Flatten).
Result<std::size_t> resolved_axis(std::int64_t axis, std::size_t rank, bool allow_end = false);
// The same for a list; sorted, and an axis named twice is an error.
Result<std::vector<std::size_t>> resolved_axes(const std::vector<std::int64_t>& axes,
                                               std::size_t rank);

// Conditions on inputs. `what` names the input in the message: "weight must be float32 ...".
// Absent inputs pass.
Status expect_floating(const NodeContext& context, std::size_t input, std::string_view what);
Status expect_like_first(const NodeContext& context, std::size_t input, std::string_view what);
Status expect_rank(const TensorType& type, std::size_t rank, std::string_view what);
Status expect_index_type(const TensorType& type, std::string_view what);

// Input `input` as a list of integers. An error unless it is a Constant, int64 or int32, of rank 1.
Result<std::vector<std::int64_t>> constant_integers(const NodeContext& context, std::size_t input,
                                                    std::string_view what);
// Input `input` as one number. An error unless it is a Constant with one element.
Result<double> constant_number(const NodeContext& context, std::size_t input,
                               std::string_view what);

// The value of a string attribute must be one of `choices`; the error suggests the nearest.
Result<std::string> chosen(const Node& node, std::string_view attribute,
                           const std::vector<std::string_view>& choices);

// Cost rules shared by many rows: one operation for each element of the first output, or input.
std::int64_t one_per_element(const NodeContext& context, std::span<const TensorType> outputs);
std::int64_t one_per_input_element(const NodeContext& context, std::span<const TensorType> outputs);

}  // namespace gradstone
