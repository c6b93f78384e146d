// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <array>
#include <exception>
#include <new>
#include <sstream>

#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/version.h"
#include "workloads/registry.h"

namespace gradstone {
namespace {

struct CommandDef {
  const char* name;
  const char* summary;
  const char* examples;
  Action (*define)(CLI::App& app, const Surroundings& surroundings);
};

// The order in which help shows them. FIRST and LAST in examples stand for workloads of this build.
constexpr std::array<CommandDef, 8> kCommands = {{
    {"run", "train workloads on engines, measure, store and report",
     "  gradstone run --workload FIRST --engine all --data fashion-mnist --epochs 2\n"
     "  gradstone run --workload LAST --size tiny --engine reference --steps 5\n"
     "  gradstone run -w FIRST,LAST --engine all --batch 32,64 --threads 1,2\n"
     "  gradstone run -w FIRST --engine all --label before --format json -o before.json\n"
     "  gradstone run -w LAST --engine all --dry-run",
     define_run},
    {"verify", "prove that engines train the same network, and name the node that does not",
     "  gradstone verify --workload FIRST,LAST --engine all\n"
     "  gradstone verify --workload LAST --engine all --seeds 20\n"
     "  gradstone verify --model my.onnx --engine all --shrink -o findings",
     define_verify},
    {"list", "what there is: workloads, engines, data, metrics, operators, runs",
     "  gradstone list workloads\n"
     "  gradstone list workloads --format json\n"
     "  gradstone list runs",
     define_list},
    {"report", "show runs again",
     "  gradstone report                      the last plan\n"
     "  gradstone report before after         two labels\n"
     "  gradstone report ci.json --format md  a file of records",
     define_report},
    {"conformance", "whether an engine computes what it should: values, gradients, updates",
     "  gradstone conformance --engine reference\n"
     "  gradstone conformance --engine reference --filter 'node/test_relu*,optimizer/adam*'\n"
     "  gradstone conformance --engine reference --junit conformance.xml --quiet",
     define_conformance},
    {"doctor", "this machine, and what would spoil a measurement on it",
     "  gradstone doctor\n"
     "  gradstone doctor --format json",
     define_doctor},
    {"import", "put files of records into the store", "  gradstone import ci-1.json ci-2.json",
     define_import},
    {"export", "write records as a file that import and report read",
     "  gradstone export -o all.json\n"
     "  gradstone export before after -o two.json",
     define_export},
}};

std::string replaced(std::string text, std::string_view word, std::string_view by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    text.replace(at, word.size(), by);
    at += by.size();
  }
  return text;
}

std::string examples_of(const CommandDef& command, const std::vector<Workload>& workloads) {
  const std::string text = std::string("\nExamples:\n") + command.examples;
  if (workloads.empty()) return text;
  return replaced(replaced(text, "FIRST", workloads.front().name), "LAST", workloads.back().name);
}

int print_error(const Error& error) {
  say("gradstone: " + printable(error.message) + "\n");
  return exit_code_of(error.kind);
}

// The nearest option of the command to one that it does not have.
std::string option_hint(const CLI::App& command, const std::string& argument) {
  if (!argument.starts_with("-")) return "";
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return did_you_mean(argument.substr(0, argument.find('=')),
                      std::vector<std::string_view>(names.begin(), names.end()));
}

Error parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (chosen.empty()) return usage_error(std::string(error.what()) + "; see `gradstone --help`");
  const std::string place = "`gradstone " + chosen[0]->get_name() + " --help`";
  if (const std::vector<std::string> extras = chosen[0]->remaining(true); !extras.empty()) {
    const std::string hint = option_hint(*chosen[0], extras[0]);
    const char* kind = extras[0].starts_with("-") ? "unknown option" : "unexpected argument";
    return usage_error(chosen[0]->get_name() + ": " + kind + " '" + extras[0] + "'" +
                       (hint.empty() ? "; see " + place : hint));
  }
  return usage_error(chosen[0]->get_name() + ": " + error.what() + "; see " + place);
}

// `--name=` gives an empty value; the parser would take the next argument in its place.
Status check_arguments(int argc, char** argv) {
  for (int i = 2; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
      return usage_error(std::string(argv[1]) + ": " + std::string(argument) +
                         " has an empty value; give one, or leave the option out");
    }
  }
  return {};
}

// No option takes an empty value: a script's unset variable must not mean the default. Nor is an
// option of the command the value of the one before.
Status check_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string place = command.get_name() + ": " + option->get_name();
    for (const std::string& value : option->results()) {
      if (value.empty()) {
        return usage_error(place + " has an empty value; give one, or leave it out");
      }
      if (value.starts_with("--") && command.get_option_no_throw(value) != nullptr) {
        return usage_error(place + " has no value: " + value + " follows it");
      }
    }
  }
  return {};
}

// An unknown command, before anything else is looked at.
Status check_command(int argc, char** argv) {
  if (argc < 2) return usage_error("a command is missing; see `gradstone --help`");
  const std::string_view name = argv[1];
  if (name.starts_with('-')) return {};
  std::vector<std::string_view> names;
  for (const CommandDef& command : kCommands) {
    if (name == command.name) return {};
    names.push_back(command.name);
  }
  const std::string hint = did_you_mean(name, names);
  return usage_error("unknown command '" + std::string(name) + "'" +
                     (hint.empty() ? "; see `gradstone --help`" : hint));
}

}  // namespace

namespace {

int run_commands(int argc, char** argv) {
  if (const Status known = check_command(argc, argv); !known.ok()) {
    return print_error(known.error());
  }
  if (const Status given = check_arguments(argc, argv); !given.ok()) {
    return print_error(given.error());
  }
  const Surroundings surroundings = surroundings_of_process();
  CLI::App app(
      "Trains the same network on several frameworks, proves that it is the same, and "
      "tells how fast it trains.",
      "gradstone");
  app.set_version_flag("--version", std::string("gradstone ") + kVersion);
  app.require_subcommand(1);
  const std::vector<Workload> workloads = all_workloads();
  std::array<Action, kCommands.size()> actions;
  std::array<CLI::App*, kCommands.size()> commands{};
  for (std::size_t i = 0; i < kCommands.size(); ++i) {
    commands[i] = app.add_subcommand(kCommands[i].name, kCommands[i].summary);
    commands[i]->footer(examples_of(kCommands[i], workloads));
    actions[i] = kCommands[i].define(*commands[i], surroundings);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    std::ostringstream text;
    const int code = app.exit(request, text, text);
    const Status told = emit(text.str(), "");
    return told.ok() ? code : print_error(told.error());
  } catch (const CLI::ParseError& error) {
    return print_error(parse_error(app, error));
  }
  for (std::size_t i = 0; i < kCommands.size(); ++i) {
    if (!commands[i]->parsed()) continue;
    if (const Status given = check_values(*commands[i]); !given.ok()) {
      return print_error(given.error());
    }
    const Result<int> code = actions[i]();
    return code.ok() ? *code : print_error(code.error());
  }
  return kExitUsage;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  fill_standard_descriptors();
  ignore_file_size_signal();
  // Where a library throws, the machine is at an end; what is wrong with the input is a Result.
  try {
    return run_commands(argc, argv);
  } catch (const std::bad_alloc&) {
    return print_error(failed("no memory left; give the program more, or less to read"));
  } catch (const std::exception& error) {
    return print_error(failed(error.what()));
  }
}

}  // namespace gradstone
