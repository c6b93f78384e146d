// SPDX-License-Identifier: Apache-2.0
// The engine interface: one named variable store and any number of programs over it. Everything
// that trains, probes or attacks is written once against this; an engine only lowers, runs,
// differentiates and updates. Calls come from one thread. A new kind of workload must not need a
// second interface.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/program_spec.h"

namespace gradstone {

class HostFunctions;  // graph/host_function.h

enum class ExecutionMode { kEager, kGraph, kCompiled };

// What an engine is and can do.
struct EngineDescription {
  std::string name;                  // "torch"
  std::string version;               // of the framework, as it says itself at run time
  std::vector<DType> dtypes;         // that it can train in
  std::vector<std::string> devices;  // "cpu", "cuda:0", ...
  std::string device_note;           // why others are missing
  bool second_order = false;         // a gradient of a gradient
  bool separable_phases = false;     // forward, backward and update can be told apart in time
  bool node_hooks = false;           // a profile names graph nodes
  bool native_dropout = false;       // has a dropout of its own
  std::vector<std::string> memory_sources;
  ExecutionMode execution_mode = ExecutionMode::kEager;
  std::map<std::string, std::string>
      facts;  // BLAS, build flags, oneDNN ...: recorded with every run
};

struct EngineOptions {
  std::string device = "cpu";
  int threads = 1;             // of the framework's intra-operator pool
  bool deterministic = false;  // the framework's deterministic algorithms, or unsupported
  std::string
      math;  // engine-specific choice of kernels, "" is its default (torch: "onednn", "native")
  std::string argument;    // text behind ':' of `--engine name:argument`
  std::uint64_t seed = 0;  // of the framework's own generator (native dropout)
  const HostFunctions* host_functions = nullptr;  // of Host nodes; outlives the engine
};

struct RunRequest {
  std::size_t program = 0;  // index into BundleSpec::programs
  // Graph inputs in order, then cotangents. The bytes stay unchanged until `run` returns and, if
  // `owner` is set, as long as the engine holds a copy of `owner`. It lets go of it once that run is
  // done, without waiting for `synchronise`: the data feed has few buffers and waits for them.
  std::span<const TensorRef> feeds;
  std::shared_ptr<const void> owner;
  // ProgramSpec::outputs in order, then the gradients of BackwardSpec::wrt in order. An empty span
  // fetches nothing; a sink with data == nullptr skips that value. Filled when `synchronise`
  // returns, at the latest.
  std::span<const TensorSink> fetches;
  std::span<const UpdateArguments> updates;  // one for each of ProgramSpec::updates
};

enum class Phase { kForward, kBackward, kUpdate };
struct ProfileEvent {
  std::string node;   // graph node, or "" where the source cannot tell
  std::string label;  // the framework's name of the kernel or operator
  Phase phase = Phase::kForward;
  std::int64_t start_ns = 0;  // monotonic clock
  std::int64_t duration_ns = 0;
};

// A loaded bundle. Destroying it unloads: all its memory goes back.
class Bundle {
 public:
  virtual ~Bundle() = default;

  // Runs a program once: forward; if asked backward, updates, state updates. May return before the
  // work is done (see synchronise), but not block on earlier runs. Errors: unsupported, out of
  // memory, failed.
  virtual Status run(const RunRequest& request) = 0;
  // Waits until everything issued is done and all fetches are filled.
  virtual Status synchronise() = 0;

  // Variables: weights, `weight:slot` of an optimizer, `weight:average`. Both synchronise first.
  // Weights are undefined until written. Optimizer state starts as recipe/optimizer.h says;
  // averages start at the weight's value at the first update.
  virtual Status read(std::string_view variable, TensorSink sink) = 0;
  virtual Status write(std::string_view variable, const TensorRef& value) = 0;
  virtual Result<TensorType> type_of(std::string_view variable) const = 0;
};

// A program as people run it who have the framework and not Gradstone.
struct ScriptRequest {
  const ProgramSpec& program;  // without updates; a backward pass has fed cotangents
  // Inputs, weights and `cotangent/VALUE`; for each output and `gradient/NAME` what it should be,
  // `expected/NAME` (float64 where floating), and `allowed/NAME`, the largest difference (a
  // scalar). Small: they may be written into the script.
  const std::map<std::string, TensorRef>& values;
};
struct Script {
  std::string name;  // of the file
  std::string text;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual const EngineDescription& describe() const = 0;
  // Lowers every program. Unsupported with operator and reason where that cannot be done. Bundles
  // may be loaded and unloaded many times, and several may be alive.
  virtual Result<std::unique_ptr<Bundle>> load(const BundleSpec& spec) = 0;

  // A stand-alone script in the framework's own API that computes the program, compares, and exits
  // with 1 where something differs by more than is allowed. Unsupported where there is none.
  virtual Result<Script> script(const ScriptRequest& request) const {
    return unsupported("engine " + describe().name + " writes no scripts: program " +
                       request.program.name);
  }

  // Between the two calls events of every run are kept. Unsupported where the engine has no source.
  virtual Status begin_profile() = 0;
  virtual Result<std::vector<ProfileEvent>> end_profile() = 0;
};

// Every engine folder defines this. It sets environment variables that the framework needs, loads
// the framework and sets threads and device. Unsupported with a reason for a device or option that
// the build lacks.
Result<std::unique_ptr<Engine>> make_engine(const EngineOptions& options);

}  // namespace gradstone
