// SPDX-License-Identifier: Apache-2.0
// Results as JUnit XML, which most CI systems show. One test suite; unsupported cases are skipped.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/result.h"

namespace gradstone {

// `engine` as chosen; `command_of` gives the command that repeats the case of a name.
std::string junit_xml(const std::vector<CaseResult>& results, std::string_view engine,
                      const std::function<std::string(const std::string&)>& command_of);

}  // namespace gradstone
