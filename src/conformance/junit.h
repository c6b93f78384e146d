// SPDX-License-Identifier: Apache-2.0
// Results as JUnit XML, which most CI systems show. One test suite; unsupported cases are skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/result.h"

namespace gradstone {

// `engine` as chosen; `command_of` gives the command that repeats a case.
std::string junit_xml(const std::vector<CaseResult>& results, std::string_view engine,
                      std::string (*command_of)(std::string_view engine, std::string_view name));

}  // namespace gradstone
