// SPDX-License-Identifier: Apache-2.0
// One function a command; the table that names them stands in command_line.cc. Each adds its options
// to an App and returns what to do once they are parsed.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/table.h"

namespace CLI {
class App;
}

namespace gradstone {

// What a command sees of the terminal it was started from.
struct Surroundings {
  TextStyle style;  // of stdout
  bool stderr_is_terminal = false;
};

using Action = std::function<Result<int>()>;  // answers the exit code

Action define_run(CLI::App& app, const Surroundings& surroundings);
Action define_verify(CLI::App& app, const Surroundings& surroundings);
Action define_list(CLI::App& app, const Surroundings& surroundings);
Action define_report(CLI::App& app, const Surroundings& surroundings);
Action define_conformance(CLI::App& app, const Surroundings& surroundings);
Action define_doctor(CLI::App& app, const Surroundings& surroundings);
Action define_import(CLI::App& app, const Surroundings& surroundings);
Action define_export(CLI::App& app, const Surroundings& surroundings);

}  // namespace gradstone
