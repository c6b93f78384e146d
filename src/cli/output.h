// SPDX-License-Identifier: Apache-2.0
// Where text goes, and the options that several commands have in common.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/commands.h"
#include "run/engine_catalogue.h"

namespace gradstone {

// To stdout ("" or "-") or a file, whole or not at all. Failed if it could not be written.
Status emit(std::string_view text, const std::string& file);

// To stderr. Where that cannot be written nobody could be told so: it is passed over.
void say(std::string_view text);
// Descriptors 0 to 2 that the program was started without; else a file would be opened under their
// numbers and written to.
void fill_standard_descriptors();

// A line for each engine of the catalogue that cannot be used.
void say_problems(const EngineCatalogue& engines);

// Whether `emit` to that file can succeed, before work is done for it: the folder is there and lets
// a file be made, and the file is not the store itself, nor one that SQLite keeps beside it. ""
// where there is no store.
Status check_output(const std::string& file, const std::string& store);

// Width and colours that the environment allows (terminal, COLUMNS, NO_COLOR, TERM=dumb).
Surroundings surroundings_of_process();

// Add an option that several commands have, with the same words everywhere.
void add_store_option(CLI::App& app, std::string& store);
void add_format_option(CLI::App& app, std::string& format);
void add_output_option(CLI::App& app, std::string& file);

// store_path for this process's environment.
Result<std::string> chosen_store(std::string_view option);

}  // namespace gradstone
