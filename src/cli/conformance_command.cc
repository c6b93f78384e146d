// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "base/suggest.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "conformance/data_sets.h"
#include "conformance/junit.h"
#include "conformance/suite.h"
#include "run/spec.h"

namespace gradstone {
namespace {

constexpr std::string_view kText = "text", kJson = "json";
// Beside the worker, like its manifest: what it may answer `unsupported` to.
constexpr std::string_view kListSuffix = ".unsupported";

struct Options {
  std::string engine, filter, junit, draft;
  std::vector<std::string> suites;
  std::string format = std::string(kText), device = "cpu", threads, time_limit, memory_limit;
  bool list = false, quiet = false, verbose = false;
};

std::string command_of(const Options& options, const std::string& name) {
  std::string command = "gradstone conformance --engine " + shell_quoted(options.engine);
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) command += std::string(" ") + option + " " + shell_quoted(value);
  };
  if (options.device != "cpu") add("--device", options.device);
  add("--threads", options.threads);
  add("--time-limit", options.time_limit);
  add("--memory-limit", options.memory_limit);
  for (const std::string& suite : options.suites) command += " --suite " + shell_quoted(suite);
  return command + " --filter " + shell_quoted(name);
}

Status read_limits(const Options& options, SessionOptions& session) {
  if (!options.threads.empty()) {
    session.hello.threads = TRY(parse_integer<int>(options.threads, 1).within("--threads"));
  }
  if (!options.time_limit.empty()) {
    session.seconds_per_request = TRY(parse_seconds(options.time_limit).within("--time-limit"));
  }
  if (!options.memory_limit.empty()) {
    session.memory_limit_bytes = TRY(parse_bytes(options.memory_limit).within("--memory-limit"));
  }
  return {};
}

Result<SuiteRequest> suite_request(const Options& options) {
  SuiteRequest request;
  request.filter = options.filter;
  request.suites = options.suites.empty() ? default_suites() : options.suites;
  if (options.list) return request;
  if (options.engine.empty()) {
    return usage_error("--engine is missing; `gradstone list engines` shows what there is");
  }
  const EngineCatalogue engines = EngineCatalogue::read(EngineCatalogue::default_folders());
  const std::vector<EngineChoice> chosen = TRY(engines.choose(options.engine).within("--engine"));
  if (chosen.size() != 1) return usage_error("--engine: conformance runs one engine; name it");
  SessionOptions& session = request.session;
  session.engine = chosen[0];
  session.hello.device = options.device;
  session.hello.argument = chosen[0].argument;
  TRY(read_limits(options, session));
  request.expected =
      TRY(ExpectedUnsupported::read(chosen[0].engine.executable + std::string(kListSuffix)));
  return request;
}

// A line of its own, and for a fault the command that repeats it.
std::string text_of(const CaseResult& result, const Options& options) {
  std::string text = std::string(name_of(result.verdict)) + " " + result.name;
  if (!result.surprise.empty()) text += ": " + result.surprise;
  if (!result.message.empty()) text += ": " + result.message;
  text = printable(text) + "\n";
  if (result.failed()) text += "  repeat: " + command_of(options, result.name) + "\n";
  return text;
}

bool is_shown(const CaseResult& result, const Options& options) {
  if (result.failed() || options.verbose) return true;
  return !options.quiet && result.verdict != Verdict::kPassed;
}

Json json_of(const std::vector<CaseResult>& results, const Options& options) {
  const CaseCounts counts = count_cases(results);
  Json cases = Json::array();
  for (const CaseResult& result : results) {
    cases.push_back({{"name", result.name},
                     {"verdict", name_of(result.verdict)},
                     {"message", printable(result.message)},
                     {"surprise", result.surprise},
                     {"seconds", number_or_null(result.seconds)},
                     {"command", command_of(options, result.name)}});
  }
  return {{"schema", "gradstone-conformance/1"},
          {"engine", options.engine},
          {"tests", counts.tests},
          {"passed", counts.passed},
          {"unsupported", counts.unsupported},
          {"wrong", counts.wrong},
          {"crashed", counts.crashed},
          {"surprises", counts.surprises},
          {"cases", std::move(cases)}};
}

std::string summary_of(const CaseCounts& counts) {
  std::string text;
  if (counts.surprises > 0) {
    text = std::to_string(counts.surprises) +
           " case(s) are not as the engine's list of what may be unsupported has it\n";
  }
  return text + to_string(counts) + "\n";
}

Status write_files(const std::vector<CaseResult>& results, const Options& options) {
  if (!options.draft.empty()) TRY(emit(draft_of_list(results), options.draft));
  if (options.junit.empty()) return {};
  std::vector<CaseResult> shown = results;
  for (CaseResult& result : shown) result.message = printable(result.message);
  return emit(junit_xml(shown, options.engine,
                        [&](const std::string& name) { return command_of(options, name); }),
              options.junit);
}

Result<int> list(const SuiteRequest& request) {
  std::string text;
  for (const std::string& name : TRY(list_cases(request))) text += name + "\n";
  TRY(emit(text, ""));
  return kExitOk;
}

Result<int> run(const Options& options) {
  if (options.format != kText && options.format != kJson) {
    return usage_error("--format: unknown format '" + options.format + "'" +
                       did_you_mean(options.format, {kText, kJson}));
  }
  if (options.quiet && options.verbose) {
    return usage_error("--quiet and --verbose exclude each other; give one");
  }
  const SuiteRequest request = TRY(suite_request(options));
  if (options.list) return list(request);
  const bool text = options.format == kText;
  Status told;
  const auto finished = [&](const CaseResult& result) {
    if (told.ok() && text && is_shown(result, options)) told = emit(text_of(result, options), "");
  };
  const std::atomic<bool>& stop = watch_interrupts();
  const std::vector<CaseResult> results = TRY(run_suite(request, finished, stop));
  TRY(told);
  if (!stop && results.empty()) {
    return usage_error("--filter: no case matches '" + options.filter +
                       "'; `gradstone conformance --list` shows all");
  }
  TRY(write_files(results, options));
  const CaseCounts counts = count_cases(results);
  TRY(emit(text ? summary_of(counts) : write_json(json_of(results, options), 2) + "\n", ""));
  if (stop) return kExitInterrupted;
  const bool failed = counts.wrong + counts.crashed + counts.surprises > 0;
  return failed ? kExitFailed : kExitOk;
}

}  // namespace

Action define_conformance(CLI::App& app, const Surroundings&) {
  const auto options = std::make_shared<Options>();
  app.add_option("-e,--engine", options->engine, "NAME[@VERSION]: the one to test")
      ->type_name("NAME");
  app.add_option("--filter", options->filter,
                 "cases of these names only; * is any text, ? one character")
      ->type_name("PATTERN,...");
  app.add_option("--suite", options->suites,
                 "folder of models with data sets, as ONNX keeps them (default: those of "
                 "libonnx-testdata); may be given again")
      ->type_name("DIR");
  app.add_option("--junit", options->junit, "write JUnit XML there, too")->type_name("FILE");
  app.add_option("--update-list", options->draft,
                 "write there what was unsupported, as a draft of the engine's list")
      ->type_name("FILE");
  app.add_option("--format", options->format, "text (default) or json")->type_name("NAME");
  app.add_option("--device", options->device, "cpu (default), cuda:0, ...")->type_name("NAME");
  app.add_option("-t,--threads", options->threads, "of the engine (default 1)")->type_name("N");
  app.add_option("--time-limit", options->time_limit, "of one request: 90, 10min (default 60)")
      ->type_name("TIME");
  app.add_option("--memory-limit", options->memory_limit,
                 "of the worker: 500M, 4GiB (default: 90% of what is available)")
      ->type_name("SIZE");
  app.add_flag("--list", options->list, "print the names of the cases, run nothing");
  app.add_flag("-q,--quiet", options->quiet, "faults and the last line only");
  app.add_flag("-v,--verbose", options->verbose, "passed cases, too");
  return [options] { return run(*options); };
}

}  // namespace gradstone
