// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <fcntl.h>
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

bool is_stdout(const std::string& file) { return file.empty() || file == "-"; }

// A device or pipe must be written to, not replaced.
bool is_special(const std::string& file) {
  std::error_code code;
  return std::filesystem::exists(file, code) && !std::filesystem::is_regular_file(file, code);
}

// The file that a symbolic link stands for, also one that is not there yet: the link is to stay.
std::string behind_links(const std::string& file) {
  constexpr int kMostLinks = 40;  // as in Linux
  std::filesystem::path path(file);
  std::error_code code;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, code); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, code);
    if (code) break;
    path = path.parent_path() / target;
  }
  return path.string();
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code code;
  if (std::filesystem::equivalent(a, b, code)) return true;
  // One that is not there yet.
  const std::filesystem::path whole = std::filesystem::weakly_canonical(a, code);
  return !code && whole == std::filesystem::weakly_canonical(b, code) && !code;
}

// Leaves nothing behind.
Status check_writable(const std::string& file) {
  std::error_code code;
  if (std::filesystem::is_directory(file, code)) return failed("'" + file + "' is a folder");
  if (!is_special(file)) {
    TRY(AtomicFile::create(behind_links(file)));
    return {};
  }
  if (::access(file.c_str(), W_OK) != 0) return file_error("write", file);
  return {};
}

}  // namespace

Status emit(std::string_view text, const std::string& file) {
  if (!is_stdout(file)) {
    const std::string target = behind_links(file);
    return is_special(target) ? write_file(target, text) : write_file_atomically(target, text);
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return file_error("write", "standard output");
  }
  return {};
}

void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void fill_standard_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Read-only: a report that goes nowhere is still an error.
    if (::fcntl(number, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);
  }
}

void say_problems(const EngineCatalogue& engines) {
  for (const std::string& problem : engines.problems()) {
    say("gradstone: unusable: " + printable(problem) + "\n");
  }
}

Status check_output(const std::string& file, const std::string& store) {
  if (is_stdout(file)) return {};
  for (const char* end : {"", "-wal", "-shm", "-journal"}) {
    if (!store.empty() && same_file(file, store + end)) {
      return usage_error("--output: '" + file + "' is " + (*end == '\0' ? "" : "a part of ") +
                         "the store; name another file");
    }
  }
  const Status writable = check_writable(file).within("--output");
  if (writable.ok()) return {};
  return failed(writable.error().message + "; name another file");
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
