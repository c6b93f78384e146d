// SPDX-License-Identifier: Apache-2.0
// One record as rows of three tables: runs, metrics and series. Transactions are the caller's.
#pragma once

#include <optional>
#include <string_view>

#include "record/record.h"
#include "store/database.h"

namespace gradstone {

inline constexpr int kStoreVersion = 1;               // PRAGMA user_version
inline constexpr int kStoreApplication = 0x47525354;  // PRAGMA application_id: "GRST"

extern const char* const kCreateTables;

// Whether the tables take and give what the functions below write and read.
Status check_columns(Database& database);
Status insert_rows(Database& database, const RunRecord& record);
// nullopt where there is none of that id. Unreadable where a row cannot be what we wrote.
Result<std::optional<RunRecord>> load_rows(Database& database, std::string_view id);
// The same without context and samples, which are not read.
Result<std::optional<RunRecord>> load_figures(Database& database, std::string_view id);

}  // namespace gradstone
