// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.h"

#include <CLI/CLI.hpp>

#include "base/suggest.h"
#include "base/units.h"
#include "cli/output.h"

namespace gradstone {
namespace {

void add_what(CLI::App& app, RunOptions& options) {
  const std::string group = "What to run (lists by comma make every combination)";
  app.add_option("-w,--workload", options.workloads, "see `gradstone list workloads`")
      ->required()
      ->delimiter(',')
      ->type_name("NAME,...")
      ->group(group);
  app.add_option("-e,--engine", options.engines,
                 "NAME[@VERSION], or all: every framework found (default)")
      ->delimiter(',')
      ->type_name("NAME,...")
      ->group(group);
  app.add_option("-b,--batch", options.batches, "samples a step (default: of the workload)")
      ->delimiter(',')
      ->type_name("N,...")
      ->group(group);
  app.add_option("-t,--threads", options.threads, "of the engine (default: every CPU)")
      ->delimiter(',')
      ->type_name("N,...")
      ->group(group);
  app.add_option("--size", options.size, "of the workload: tiny, small (default), paper")
      ->type_name("NAME")
      ->group(group);
  app.add_option("-d,--data", options.data, "see `gradstone list data` (default: of the workload)")
      ->type_name("NAME[:FOLDER]")
      ->group(group);
}

void add_how(CLI::App& app, RunOptions& options) {
  const std::string group = "How to run it";
  app.add_option("--steps", options.steps, "train so many steps")->type_name("N")->group(group);
  app.add_option("--epochs", options.epochs,
                 "train so many epochs (with neither: until the measurement is good)")
      ->type_name("N")
      ->group(group);
  app.add_option("--dtype", options.dtype, "float32 (default) or float64")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--device", options.device, "cpu (default), cuda:0, ...")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--math", options.math, "kernels that an engine offers a choice of")
      ->type_name("NAME")
      ->group(group);
  app.add_flag("--deterministic", options.deterministic, "the engine's deterministic algorithms")
      ->group(group);
  app.add_option("--seed", options.seed, "of weights, order of data and dropout (default 1)")
      ->type_name("N")
      ->group(group);
  app.add_option("--dropout", options.dropout,
                 "native: the engine's own (default); shared: the same masks for all engines")
      ->type_name("NAME")
      ->group(group);
  app.add_flag("--no-evaluation", options.no_evaluation, "leave out the test split")->group(group);
  app.add_option("--weights", options.weights, "start from this file, or the weights of this run")
      ->type_name("FILE|RUN")
      ->group(group);
  app.add_option("--time-limit", options.time_limit, "of one run: 90, 10min, 2h (default 1h)")
      ->type_name("TIME")
      ->group(group);
  app.add_option("--memory-limit", options.memory_limit,
                 "of one worker: 500M, 4GiB (default: 90% of what is available)")
      ->type_name("SIZE")
      ->group(group);
}

void add_results(CLI::App& app, RunOptions& options) {
  const std::string group = "What to do with the results";
  app.add_option("--label", options.label, "a name to find the runs by")
      ->type_name("TEXT")
      ->group(group);
  app.add_flag("--save", options.save, "keep the final weights beside the store")->group(group);
  app.add_flag("--dry-run", options.dry_run, "print the commands of the plan, run nothing")
      ->group(group);
  app.add_flag("--strict", options.strict, "exit with 4 for unsupported and diverged runs too")
      ->group(group);
  app.add_flag("-q,--quiet", options.quiet, "no progress")->group(group);
  app.add_flag("-v,--verbose", options.verbose, "every phase on a line of its own")->group(group);
  add_format_option(app, options.format);
  add_output_option(app, options.output);
  add_store_option(app, options.store);
}

Result<DType> training_dtype(const std::string& text) {
  const std::optional<DType> dtype = dtype_from_name(text);
  if (dtype) return *dtype;
  return usage_error("--dtype: unknown type '" + text + "'" +
                     did_you_mean(text, {"float32", "float64"}));
}

Result<DropoutMode> dropout_mode(const std::string& text) {
  const std::optional<DropoutMode> mode = dropout_mode_from_name(text);
  if (mode) return *mode;
  return usage_error("--dropout: unknown mode '" + text + "'; it is native or shared");
}

}  // namespace

void add_run_options(CLI::App& app, RunOptions& options) {
  add_what(app, options);
  add_how(app, options);
  add_results(app, options);
}

Result<PlanRequest> plan_request(const RunOptions& options) {
  if (options.quiet && options.verbose) {
    return usage_error("--quiet and --verbose exclude each other; give one");
  }
  PlanRequest request;
  request.workloads = options.workloads;
  request.engines = options.engines;
  request.batches = options.batches;
  request.threads = options.threads;
  RunSpec& common = request.common;
  common.size = options.size;
  common.dtype = TRY(training_dtype(options.dtype));
  common.device = options.device;
  common.math = options.math;
  common.deterministic = options.deterministic;
  common.seed = options.seed;
  common.dropout = TRY(dropout_mode(options.dropout));
  common.measure.steps = options.steps;
  common.measure.epochs = options.epochs;
  common.measure.evaluate = !options.no_evaluation;
  common.data = options.data;
  common.label = options.label;
  if (!options.time_limit.empty()) {
    common.time_limit_seconds = TRY(parse_seconds(options.time_limit).within("--time-limit"));
  }
  if (!options.memory_limit.empty()) {
    common.memory_limit_bytes = TRY(parse_bytes(options.memory_limit).within("--memory-limit"));
  }
  return request;
}

}  // namespace gradstone
