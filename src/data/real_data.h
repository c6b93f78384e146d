// SPDX-License-Identifier: Apache-2.0
// Data sets from published files: finds them in a folder, has them parsed and keeps them in memory.
#pragma once

#include <memory>

#include "data/data_set.h"

namespace gradstone {

// Where Debian's package dataset-fashion-mnist puts its files.
inline constexpr std::string_view kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

// The four IDX files of MNIST's layout, each plain or with ".gz". `remedy` ends every message.
Result<std::unique_ptr<DataSet>> open_idx_folder(const std::string& folder,
                                                 std::string_view remedy);
Result<std::unique_ptr<DataSet>> open_cifar10_folder(const std::string& folder,
                                                     std::string_view remedy);

}  // namespace gradstone
