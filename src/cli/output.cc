// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "base/files.h"
#include "report/formats.h"
#include "store/store.h"

namespace gradstone {
namespace {

constexpr int kDefaultWidth = 100;

int terminal_width() {
  const std::string columns = environment_or("COLUMNS", "");
  int width = 0;
  std::from_chars(columns.data(), columns.data() + columns.size(), width);
  winsize size{};
  if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width > 0 ? width : kDefaultWidth;
}

}  // namespace

Status emit(std::string_view text, const std::string& file) {
  if (!file.empty() && file != "-") {
    // A device or pipe must be written to, not replaced.
    std::error_code code;
    const bool special =
        std::filesystem::exists(file, code) && !std::filesystem::is_regular_file(file, code);
    return special ? write_file(file, text) : write_file_atomically(file, text);
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return file_error("write", "standard output");
  }
  return {};
}

Surroundings surroundings_of_process() {
  Surroundings surroundings;
  surroundings.style.width = terminal_width();
  surroundings.style.color = isatty(STDOUT_FILENO) == 1 && environment_or("NO_COLOR", "").empty() &&
                             environment_or("TERM", "") != "dumb";
  surroundings.stderr_is_terminal = isatty(STDERR_FILENO) == 1;
  return surroundings;
}

void add_store_option(CLI::App& app, std::string& store) {
  app.add_option("--store", store,
                 "file that holds the records (default: $GRADSTONE_STORE, or "
                 "gradstone/records.db in the XDG data folder)")
      ->type_name("FILE");
}

void add_format_option(CLI::App& app, std::string& format) {
  std::string names;
  for (const ReportFormat& each : report_formats()) {
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  app.add_option("--format", format, names + " (default table)")->type_name("NAME");
}

void add_output_option(CLI::App& app, std::string& file) {
  app.add_option("-o,--output", file, "write there and not to stdout")->type_name("FILE");
}

Result<std::string> chosen_store(std::string_view option) {
  return store_path(option, [](const char* name) { return environment_or(name, ""); });
}

}  // namespace gradstone
