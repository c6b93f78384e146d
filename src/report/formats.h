// SPDX-License-Identifier: Apache-2.0
// Records as text, one function a format. Reads records and nothing else; never runs or stores.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "report/table.h"

namespace gradstone {

struct ReportFormat {
  std::string_view name;
  std::string_view help;
  std::string (*write)(const std::vector<RunRecord>& records, const TextStyle& style) = nullptr;
  bool one_by_one =
      false;  // several records are written as each alone, so they can be as they come
};

std::span<const ReportFormat> report_formats();  // the default first
// Usage error with the nearest name.
Result<const ReportFormat*> find_report_format(std::string_view name);

// "2 x AMD EPYC (KVM), 7.8 GiB, Debian GNU/Linux 12, kernel 6.1.0" of context["machine"]; "" where
// the record has none.
std::string machine_line(const Json& context);

}  // namespace gradstone
