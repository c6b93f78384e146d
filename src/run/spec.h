// SPDX-License-Identifier: Apache-2.0
// What one run is asked to be, with every choice made: plain data, its checks, and the command line
// that asks for it again. Lists of such choices are plan.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/dtype.h"
#include "protocol/messages.h"
#include "recipe/workload.h"
#include "run/engine_catalogue.h"

namespace gradstone {

struct RunSpec {
  std::string workload;  // name
  // Options that made the workload of a person's file, by name: `--model net.onnx`, ... They stand
  // in a command in place of `--workload`. Empty: the workload is one of ours.
  std::vector<std::pair<std::string, std::string>> model;
  std::string size;  // "" is the workload's first
  EngineChoice engine;
  std::int64_t batch = 0;  // 0 is the recipe's
  int threads = 0;         // 0 is every processor this process may use
  DType dtype = DType::kFloat32;
  std::string device = "cpu";
  std::string math;  // see EngineOptions::math
  bool deterministic = false;
  std::uint64_t seed = 1;
  DropoutMode dropout = DropoutMode::kNative;
  MeasurePlan measure;
  std::string data;         // reference as typed; "" is the workload's default
  std::string weights_in;   // tensor file with initial values; "" draws them from `seed`
  std::string weights_out;  // tensor file for the final values; "" keeps none
  double time_limit_seconds = 3600;
  std::int64_t memory_limit_bytes = 0;  // 0 is default_memory_limit() of limits.h at the start
  std::string label;
  std::string plan;  // id of the command that made it; goes to RunRecord::plan
};

// Contradictions and values out of range, as usage errors that name the option:
// `--steps and --epochs exclude each other; give one`. Looks at no file but `weights_in`.
Status check_spec(const RunSpec& spec, const Workload& workload);

// The same choices with what 0 and "" stand for written out: size, batch, threads, data. The spec
// must have passed check_spec.
RunSpec resolved(const RunSpec& spec, const Workload& workload);

// `gradstone run --workload lenet-caffe ...`, quoted for a shell: repeats the run. Choices that are
// the default of every run are left out.
std::string command_of(const RunSpec& spec);

// A word of a command line, in quotes where a shell would not take it as it is.
std::string shell_quoted(std::string_view text);

// Settings for RunRecord::context["settings"], one key a choice.
Json settings_of(const RunSpec& spec);

// Processors this process may run on (its affinity mask).
int usable_processors();
// Those processors by number: the workers inherit this affinity.
std::vector<int> processor_affinity();

}  // namespace gradstone
