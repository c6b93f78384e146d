// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>

#include "base/suggest.h"
#include "base/units.h"
#include "cli/output.h"
#include "report/table.h"
#include "store/store.h"

namespace gradstone {
namespace {

void add_what(CLI::App& app, RunOptions& options) {
  const std::string group = "What to run (lists by comma make every combination)";
  app.add_option("-w,--workload", options.workloads, "see `gradstone list workloads`")
      ->type_name("NAME,...")
      ->group(group);
  app.add_option("-e,--engine", options.engines,
                 "NAME[@VERSION], or all: every framework found (default)")
      ->type_name("NAME,...")
      ->group(group);
  app.add_option("-b,--batch", options.batches, "samples a step (default: of the workload)")
      ->type_name("N,...")
      ->group(group);
  app.add_option("-t,--threads", options.threads, "of the engine (default: every CPU)")
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

Result<DropoutMode> dropout_mode(const std::string& text) {
  const std::optional<DropoutMode> mode = dropout_mode_from_name(text);
  if (mode) return *mode;
  return usage_error("--dropout: unknown mode '" + text + "'; it is native or shared");
}

// 2^31 epochs of at most 2^32 steps are still countable.
constexpr std::int64_t kMostEpochs = std::int64_t{1} << 31;

template <class Integer>
Result<std::vector<Integer>> counts(std::string_view option,
                                    const std::vector<std::string>& lists) {
  std::vector<Integer> numbers;
  for (const std::string& text : TRY(split_lists(option, lists))) {
    numbers.push_back(TRY(parse_integer<Integer>(text, 1).within(option)));
  }
  return numbers;
}

// Sets what was given; leaves the default of what was not.
template <class Integer>
Status read_number(std::string_view option, const std::string& text, Integer& number, Integer least,
                   Integer most = std::numeric_limits<Integer>::max()) {
  if (!text.empty()) number = TRY(parse_integer<Integer>(text, least, most).within(option));
  return {};
}

Status read_numbers(const RunOptions& options, RunSpec& common) {
  TRY(read_number<std::uint64_t>("--seed", options.seed, common.seed, 0));
  TRY(read_number<std::int64_t>("--steps", options.steps, common.measure.steps, 1));
  TRY(read_number<std::int64_t>("--epochs", options.epochs, common.measure.epochs, 1, kMostEpochs));
  if (!options.time_limit.empty()) {
    common.time_limit_seconds = TRY(parse_seconds(options.time_limit).within("--time-limit"));
  }
  if (options.memory_limit.empty()) return {};
  common.memory_limit_bytes = TRY(parse_bytes(options.memory_limit).within("--memory-limit"));
  if (common.memory_limit_bytes > 0) return {};
  return usage_error("--memory-limit must be more than 0; leave it out for the default");
}

}  // namespace

Result<DType> training_dtype(const std::string& text) {
  const std::optional<DType> dtype = dtype_from_name(text);
  if (dtype) return *dtype;
  return usage_error("--dtype: unknown type '" + text + "'" +
                     did_you_mean(text, {"float32", "float64"}));
}

Result<std::vector<std::string>> split_lists(std::string_view option,
                                             const std::vector<std::string>& lists) {
  std::vector<std::string> elements;
  for (const std::string& list : lists) {
    for (std::size_t from = 0; from <= list.size();) {
      const std::size_t comma = std::min(list.find(',', from), list.size());
      elements.push_back(list.substr(from, comma - from));
      if (elements.back().empty()) {
        return usage_error(std::string(option) + ": '" + list + "' has an empty element");
      }
      from = comma + 1;
    }
  }
  return elements;
}

void add_run_options(CLI::App& app, RunOptions& options) {
  add_what(app, options);
  add_model_options(app, options.model);
  add_how(app, options);
  add_results(app, options);
}

Result<PlanRequest> plan_request(const RunOptions& options) {
  if (options.quiet && options.verbose) {
    return usage_error("--quiet and --verbose exclude each other; give one");
  }
  if (options.model.model.empty() && options.workloads.empty()) {
    return usage_error(
        "run: --workload is required, or --model for your own; see `gradstone run --help`");
  }
  if (!options.model.model.empty() && (!options.workloads.empty() || !options.size.empty())) {
    return usage_error("--model takes the place of --workload and --size; give one or the other");
  }
  PlanRequest request;
  request.workloads = TRY(split_lists("--workload", options.workloads));
  request.engines = TRY(split_lists("--engine", options.engines));
  request.batches = TRY(counts<std::int64_t>("--batch", options.batches));
  request.threads = TRY(counts<int>("--threads", options.threads));
  RunSpec& common = request.common;
  common.size = options.size;
  common.dtype = TRY(training_dtype(options.dtype));
  common.device = options.device;
  common.math = options.math;
  common.deterministic = options.deterministic;
  common.dropout = TRY(dropout_mode(options.dropout));
  common.measure.evaluate = !options.no_evaluation;
  common.data = options.data;
  if (!options.label.empty()) TRY(check_label(options.label).within("--label"));
  if (printable(options.label) != options.label) {
    return usage_error("--label: control characters, or not UTF-8; choose another");
  }
  common.label = options.label;
  TRY(read_numbers(options, common));
  return request;
}

}  // namespace gradstone
