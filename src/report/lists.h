// SPDX-License-Identifier: Apache-2.0
// What `gradstone list` and `doctor` print: one table in the formats that reports have. Not for
// records: see formats.h.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/table.h"

namespace gradstone {

// `key` names the rows in JSON: {"schema": "gradstone/1", "workloads": [...]}. Usage error for an
// unknown format.
Result<std::string> write_list(const Table& table, std::string_view key, std::string_view format,
                               const TextStyle& style);

}  // namespace gradstone
