// SPDX-License-Identifier: Apache-2.0
// An Einsum equation read and matched with its operands. Shared by the shape rule, the kernel, the
// expansion and engines.
#pragma once

#include <vector>

#include "graph/op_table.h"

namespace gradstone {

// Labels are numbered from 0: letters, and one for each axis that an ellipsis stands for.
struct EinsumEquation {
  std::vector<std::vector<std::size_t>> operands;  // the label of each axis
  std::vector<std::size_t> output;                 // distinct labels
  std::vector<std::size_t> summed;                 // the others
  Shape extents;                                   // of each label
};
// Of an Einsum node. Without "->" the output has the ellipsis and then the letters that occur once,
// in order of the alphabet. Axes of an ellipsis are aligned at the last and broadcast; one that the
// output leaves out is summed. Unreadable: other characters, and ranks or extents that do not fit.
Result<EinsumEquation> einsum_of(const NodeContext& context);

}  // namespace gradstone
