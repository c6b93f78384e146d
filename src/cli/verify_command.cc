// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <cmath>
#include <memory>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "cli/version.h"
#include "report/lists.h"
#include "run/plan.h"
#include "verify/reproduction.h"
#include "verify/shrink.h"
#include "verify/verify.h"
#include "workloads/registry.h"

namespace gradstone {
namespace {

// As typed; "" is what was not given.
struct Options {
  std::vector<std::string> workloads, engines = {"all"};
  std::vector<std::string> models, cases;
  std::string size, data, batch, steps, seed, seeds, threads, device = "cpu";
  std::string dtype = "float32", format = "table", output = "findings";
  bool shrink = false;
};

struct Request {
  std::vector<EngineChoice> engines;
  EngineChoice reference;
  SubjectChoice choice;  // but for the seed
  std::uint64_t seed = 1, seeds = 1;
  int threads = 1;
};

Result<EngineChoice> reference_engine(const EngineCatalogue& catalogue) {
  for (const EngineManifest& engine : catalogue.engines()) {
    if (engine.kind == "oracle") return EngineChoice{engine, ""};
  }
  return failed("no reference engine is installed beside gradstone; build it");
}

template <class Integer>
Status read_number(std::string_view option, const std::string& text, Integer& number,
                   Integer least) {
  if (!text.empty()) number = TRY(parse_integer<Integer>(text, least).within(option));
  return {};
}

Result<Request> request_of(const Options& options, const EngineCatalogue& catalogue) {
  if (options.workloads.empty() && options.models.empty() && options.cases.empty()) {
    return usage_error(
        "verify: nothing to verify; give --workload, --model or --case (see `gradstone verify "
        "--help`)");
  }
  Request request;
  request.engines = TRY(chosen_engines(catalogue, TRY(split_lists("--engine", options.engines))));
  request.reference = TRY(reference_engine(catalogue));
  request.choice.data = options.data;
  request.choice.dtype = TRY(training_dtype(options.dtype));
  if (!is_floating(request.choice.dtype)) {
    return usage_error("--dtype: " + options.dtype + " cannot be trained in; take float32");
  }
  TRY(read_number<std::int64_t>("--batch", options.batch, request.choice.batch, 1));
  TRY(read_number<std::int64_t>("--steps", options.steps, request.choice.steps, 1));
  TRY(read_number<std::uint64_t>("--seed", options.seed, request.seed, 0));
  TRY(read_number<std::uint64_t>("--seeds", options.seeds, request.seeds, 1));
  TRY(read_number<int>("--threads", options.threads, request.threads, 1));
  return request;
}

// One thing to verify, whatever the seed.
struct Source {
  const Workload* workload = nullptr;
  const WorkloadSize* size = nullptr;
  std::string model;
};

Result<std::vector<Source>> sources_of(const Options& options,
                                       const std::vector<Workload>& workloads) {
  std::vector<Source> sources;
  for (const std::string& model : TRY(split_lists("--model", options.models))) {
    sources.push_back({nullptr, nullptr, model});
  }
  for (const std::string& name : TRY(split_lists("--workload", options.workloads))) {
    const Workload* workload = TRY(known_workload(workloads, name));
    RunSpec spec;
    spec.workload = name;
    spec.size = options.size;
    spec.data = options.data;
    TRY(check_spec(spec, *workload));
    sources.push_back({workload, find_size(*workload, resolved(spec, *workload).size), ""});
  }
  return sources;
}

SessionOptions session_options(const EngineChoice& engine, const Request& request,
                               const std::string& device) {
  SessionOptions session;
  session.engine = engine;
  session.hello.device = device;
  session.hello.threads = request.threads;
  session.hello.argument = engine.argument;
  session.hello.seed = request.seed;
  session.seconds_per_request = 600;
  return session;
}

Table empty_table() {
  return {{{"subject"},
           {"seed", true},
           {"engine"},
           {"outcome"},
           {"nodes", true, 3},
           {"steps", true, 3},
           {"tensors", true, 2},
           {"nonsmooth", true, 2},
           {"worst", true, 1},
           {"at", false, 4},
           {"allowed", true, 5},
           {"departs"},
           {"direction", false, 5},
           {"gap", true, 5}},
          {}};
}

std::vector<Json> row_of(const std::string& subject, std::uint64_t seed, const EngineChoice& engine,
                         const VerifyResult& result) {
  const Comparison& compared = result.comparison;
  std::vector<Json> row = {subject,
                           seed,
                           to_string(engine),
                           name_of(result.outcome),
                           result.nodes,
                           result.steps,
                           compared.tensors,
                           compared.nonsmooth,
                           std::round(1000 * compared.worst) / 10,
                           compared.worst_value,
                           number_or_null(compared.worst_tolerance.allowed)};
  if (!result.first) {
    row.insert(row.end(), {Json(), Json(), Json()});
  } else {
    row.insert(row.end(), {result.first->node, result.first->backward ? "backward" : "forward",
                           number_or_null(result.first->gap)});
  }
  return row;
}

// A file name out of any text.
std::string plain(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return text;
}

// The command that finds it again.
std::string command_of(const Options& options, const Subject& subject, std::uint64_t seed,
                       const EngineChoice& engine) {
  std::string command = "gradstone verify ";
  const bool is_model = subject.name.find('.') != std::string::npos;  // no workload's name has one
  command += (is_model ? "--model " : "--workload ") + subject.name;
  command += fmt::format(" --engine {} --seed {}", to_string(engine), seed);
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) command += std::string(" ") + name + " " + value;
  };
  add("--size", options.size);
  add("--data", options.data);
  add("--batch", options.batch);
  add("--steps", options.steps);
  if (options.dtype != "float32") add("--dtype", options.dtype);
  return command;
}

class Session {
 public:
  Session(const Options& options, const Request& request)
      : options_(options),
        request_(request),
        reference_(session_options(request.reference, request, "cpu"), stop_) {
    for (const EngineChoice& engine : request.engines) {
      sessions_.emplace_back(session_options(engine, request, options.device), stop_);
    }
  }

  Status verify(const Source& source, std::uint64_t seed);
  Status verify_case(const std::string& folder);
  Status report(const Surroundings& surroundings) const;
  int exit_code() const;
  bool interrupted() const { return stop_; }

 private:
  Status keep(const Verification& verification, std::size_t engine, std::uint64_t seed,
              const VerifyResult& result);
  Status shrink_finding(const Verification& verification, std::size_t engine, std::uint64_t seed,
                        const Departure& departure);

  const Options& options_;
  const Request& request_;
  const std::atomic<bool>& stop_ = watch_interrupts();
  EngineSession reference_;
  std::vector<EngineSession> sessions_;  // of each engine
  Table table_ = empty_table();
  std::vector<std::string> remarks_;
  std::vector<Outcome> outcomes_;
};

Status Session::verify(const Source& source, std::uint64_t seed) {
  SubjectChoice choice = request_.choice;
  choice.seed = seed;
  const Subject subject = source.workload == nullptr
                              ? TRY(subject_of(source.model, choice))
                              : TRY(subject_of(*source.workload, *source.size, choice));
  const Verification verification = TRY(Verification::make(subject, seed));
  SessionPort reference(reference_);
  for (std::size_t i = 0; i < sessions_.size() && !stop_; ++i) {
    SessionPort engine(sessions_[i]);
    const VerifyResult result = verification.check(engine, reference);
    if (stop_) break;  // half a result is none
    TRY(keep(verification, i, seed, result));
  }
  return {};
}

Status Session::keep(const Verification& verification, std::size_t engine, std::uint64_t seed,
                     const VerifyResult& result) {
  const EngineChoice& choice = request_.engines[engine];
  const std::string& name = verification.subject().name;
  table_.rows.push_back(row_of(name, seed, choice, result));
  outcomes_.push_back(result.outcome);
  const std::string place = fmt::format("{} seed {} {}: ", name, seed, to_string(choice));
  if (result.outcome != Outcome::kOk) {
    remarks_.push_back(place + std::string(name_of(result.outcome)) + ": " + result.message);
  }
  // Where an engine supports nothing of it, the outcome says so.
  if (result.outcome != Outcome::kUnsupported) {
    for (const std::string& node : result.not_alone) {
      remarks_.push_back(place + "checked in the whole network only: node " + node);
    }
  }
  if (!options_.shrink || !result.first) return {};
  return shrink_finding(verification, engine, seed, *result.first);
}

Status Session::shrink_finding(const Verification& verification, std::size_t engine,
                               std::uint64_t seed, const Departure& departure) {
  const EngineChoice& choice = request_.engines[engine];
  const std::string& name = verification.subject().name;
  SessionPort port(sessions_[engine]);
  const Result<Shrunk> shrunk = shrink(verification, departure, port);
  if (!shrunk.ok()) {
    remarks_.push_back("not made smaller: " + shrunk.error().message);
    return {};
  }
  Provenance provenance;
  provenance.subject = fmt::format("{} (seed {})", name, seed);
  provenance.engine = to_string(choice);
  provenance.command = command_of(options_, verification.subject(), seed, choice);
  Json description;
  const Answer described = sessions_[engine].describe(description);
  if (described.outcome != Outcome::kOk) return failed(described.message);
  provenance.versions = {{"gradstone", kVersion}, {"engine", std::move(description)}};
  const std::string base = name.substr(name.rfind('/') + 1);
  const std::string folder =
      options_.output + "/" + plain(fmt::format("{}-{}-{}", to_string(choice), base, seed));
  TRY(write_reproduction(*shrunk, provenance, folder).within("--output"));
  std::string script;
  const Answer written = sessions_[engine].write_script(program_of(shrunk->question, name),
                                                        script_values(*shrunk), folder, script);
  if (written.outcome != Outcome::kOk) TRY(write_command_script(provenance, folder));
  remarks_.push_back(fmt::format("{} node(s) after {} trials: {}",
                                 shrunk->question.graph.nodes.size(), shrunk->trials, folder));
  return {};
}

Status Session::verify_case(const std::string& folder) {
  const Case question = TRY(read_case(folder).within("--case"));
  for (std::size_t i = 0; i < sessions_.size() && !stop_; ++i) {
    SessionPort engine(sessions_[i]);
    const VerifyResult result = check_case(question, engine);
    table_.rows.push_back(row_of(folder, 0, request_.engines[i], result));
    outcomes_.push_back(result.outcome);
    if (result.outcome == Outcome::kOk) continue;
    remarks_.push_back(to_string(request_.engines[i]) + ": " +
                       std::string(name_of(result.outcome)) + ": " + result.message);
  }
  return {};
}

Status Session::report(const Surroundings& surroundings) const {
  std::string text = TRY(write_list(table_, "verify", options_.format, surroundings.style));
  if (options_.format == "table") {
    for (const std::string& remark : remarks_) {
      text += wrapped(remark, surroundings.style.width, 2) + "\n";
    }
  }
  return emit(text, "");
}

int Session::exit_code() const {
  if (stop_) return kExitInterrupted;
  int code = kExitOk;
  for (const Outcome outcome : outcomes_) {
    if (outcome == Outcome::kUnsupported && code == kExitOk) code = kExitPartial;
    if (outcome != Outcome::kUnsupported && outcome != Outcome::kOk) code = kExitFailed;
  }
  return code;
}

Result<int> verify(const Options& options, const Surroundings& surroundings) {
  const EngineCatalogue catalogue = EngineCatalogue::read(EngineCatalogue::default_folders());
  const std::vector<Workload> workloads = all_workloads();
  const Request request = TRY(request_of(options, catalogue));
  const std::vector<Source> sources = TRY(sources_of(options, workloads));
  TRY(write_list(empty_table(), "verify", options.format, surroundings.style));
  Session session(options, request);
  for (const Source& source : sources) {
    for (std::uint64_t i = 0; i < request.seeds && !session.interrupted(); ++i) {
      TRY(session.verify(source, request.seed + i));
    }
  }
  for (const std::string& folder : options.cases) {
    if (!session.interrupted()) TRY(session.verify_case(folder));
  }
  TRY(session.report(surroundings));
  return session.exit_code();
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("-w,--workload", options.workloads, "see `gradstone list workloads`")
      ->type_name("NAME,...");
  app.add_option("--model", options.models, "ONNX files, or graphs as JSON")->type_name("FILE,...");
  app.add_option("--case", options.cases, "folders that --shrink has written")
      ->type_name("FOLDER ...");
  app.add_option("-e,--engine", options.engines,
                 "NAME[@VERSION], or all: every framework found (default)")
      ->type_name("NAME,...");
  app.add_option("--size", options.size, "of the workload: tiny, small, paper (default: its first)")
      ->type_name("NAME");
  app.add_option("-d,--data", options.data, "see `gradstone list data` (default: of the workload)")
      ->type_name("NAME[:FOLDER]");
  app.add_option("-b,--batch", options.batch, "samples a step (default 4)")->type_name("N");
  app.add_option("--steps", options.steps, "of the whole network (default 3)")->type_name("N");
  app.add_option("--seed", options.seed, "of weights, batches and masks (default 1)")
      ->type_name("N");
  app.add_option("--seeds", options.seeds, "so many seeds, from --seed on (default 1)")
      ->type_name("N");
  app.add_option("--dtype", options.dtype, "float32 (default) or float64")->type_name("NAME");
  app.add_option("--device", options.device, "cpu (default), cuda:0, ...")->type_name("NAME");
  app.add_option("-t,--threads", options.threads, "of the engine (default 1)")->type_name("N");
  app.add_flag("--shrink", options.shrink,
               "make a small case of each finding, and a folder for the framework's maintainers");
  app.add_option("-o,--output", options.output, "where those folders go (default findings)")
      ->type_name("FOLDER");
  add_format_option(app, options.format);
}

}  // namespace

Action define_verify(CLI::App& app, const Surroundings& surroundings) {
  const auto options = std::make_shared<Options>();
  add_options(app, *options);
  return [options, surroundings] { return verify(*options, surroundings); };
}

}  // namespace gradstone
