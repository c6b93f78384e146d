// SPDX-License-Identifier: Apache-2.0
// Where text goes, and the options that several commands have in common.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/commands.h"

namespace gradstone {

// To stdout ("" or "-") or a file, whole or not at all. Failed if it could not be written.
Status emit(std::string_view text, const std::string& file);

// Width and colours that the environment allows (terminal, COLUMNS, NO_COLOR, TERM=dumb).
Surroundings surroundings_of_process();

// Add an option that several commands have, with the same words everywhere.
void add_store_option(CLI::App& app, std::string& store);
void add_format_option(CLI::App& app, std::string& format);
void add_output_option(CLI::App& app, std::string& file);

// store_path for this process's environment.
Result<std::string> chosen_store(std::string_view option);

}  // namespace gradstone
