// SPDX-License-Identifier: Apache-2.0
// What core and worker say to each other (docs/protocol.md). One JSON object a line over a socket
// of their own; tensors travel in files that both map (tensor_file.h). Plain data with a codec; the
// socket is channel.h.
//
//   core                              worker
//   Hello{version, rank, ...}   ->
//                               <-    Hello{version, engine description} or Finished (no engine)
//   TrainJob                    ->
//                               <-    Event ... Event, Finished
//   (closes)                          exits
//
// or, in place of the job, requests one by one (run/engine_session.h):
//   LoadBundle, WriteVariables,
//   RunProgram, ReadVariables,
//   WriteScript                 ->
//                               <-    Answer
//   (closes)                          exits
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "data/data_set.h"
#include "graph/graph.h"
#include "protocol/program_spec.h"
#include "recipe/recipe.h"
#include "record/record.h"

namespace gradstone {

inline constexpr int kProtocolVersion = 2;

// First line of the core. Any version of either side can read `protocol`; a worker that does not
// speak it answers Finished with both numbers, a core that does not speak the worker's refuses it.
struct CoreHello {
  int protocol = kProtocolVersion;
  int rank = 0, world_size = 1;
  std::string device = "cpu";
  int threads = 1;
  bool deterministic = false;
  std::string math, argument;
  std::uint64_t seed = 0;
};

struct WorkerHello {
  int protocol = kProtocolVersion;
  Json engine;  // to_json(EngineDescription), see worker/describe.h
};

enum class DropoutMode { kShared, kNative };
std::string_view name_of(DropoutMode mode);  // "shared", "native"
std::optional<DropoutMode> dropout_mode_from_name(std::string_view name);

// When to stop and what to measure. Exactly one of steps, epochs is positive, or neither: until the
// measurement is good.
struct MeasurePlan {
  std::int64_t steps = 0;
  std::int64_t epochs = 0;
  double precision = 0.02;  // half width of the 95 % interval of the rate, relative
  double max_seconds = 60;  // of measuring, when neither steps nor epochs is given
  bool evaluate = true;     // on the test split, after training
};

struct TrainJob {
  std::string workload;
  Graph graph;             // training form, for the training batch; dropout as the builder wrote it
  Graph evaluation_graph;  // inference form, for the evaluation batch; outputs: logits
  std::optional<Graph>
      last_graph;  // training form for the smaller last batch (LastBatch::kSmaller)
  Recipe recipe;
  DataReference data;
  DataNeed data_need;
  std::uint64_t seed = 1;
  DropoutMode dropout = DropoutMode::kNative;
  MeasurePlan measure;
  std::string weights_in;   // tensor file with every variable of the graphs
  std::string weights_out;  // where final weights go; "" for nowhere
};

// Requests. A tensor file (tensor_file.h) holds what goes in or comes out.
struct LoadBundle {
  BundleSpec bundle;  // takes the place of the one before
};
struct WriteVariables {
  std::string file;  // every tensor in it is written to the variable of that name
};
struct RunProgram {
  std::size_t program = 0;  // index into BundleSpec::programs
  std::string feeds;  // file: a tensor for each graph input and `cotangent/VALUE` for each fed
                      // cotangent; "" if there are none
  std::vector<UpdateArguments> updates;
  std::string fetches;  // file to write: every output by its name and `gradient/NAME` for each of
                        // BackwardSpec::wrt; "" for nothing
};
struct ReadVariables {
  std::vector<std::string> names;
  std::string file;  // to write
};
// The program as a script of the framework's own, written into a folder; the answer's message is its
// file name. Needs no bundle.
struct WriteScript {
  ProgramSpec program;  // without updates
  std::string values;   // file: what worker/engine.h says of ScriptRequest::values
  std::string folder;
};
// Worker to core, one for each request. After anything but ok the bundle is still there; after a
// LoadBundle that was refused there is none.
struct Answer {
  Outcome outcome = Outcome::kOk;
  std::string message;
};

// Worker to core, streamed.
struct PhaseEvent {
  std::string phase;
};  // "load", "first_step", "warm_up", "throughput", "step_times", "train", "evaluate", "save"
struct ProgressEvent {
  std::int64_t step = 0, total_steps = 0;  // total 0: not known
  std::int64_t epoch = 0;
  double samples_per_second = 0, loss = 0;
};
struct SamplesEvent {
  std::string name;
  std::vector<double> values;
};  // appended to RunRecord::samples[name]
struct FactEvent {
  std::string section, key;
  Json value;
};  // RunRecord::context[section][key]
struct Finished {
  Outcome outcome = Outcome::kOk;
  std::string message;
};

using WorkerMessage =
    std::variant<WorkerHello, PhaseEvent, ProgressEvent, SamplesEvent, FactEvent, Finished, Answer>;
using CoreMessage = std::variant<CoreHello, TrainJob, LoadBundle, WriteVariables, RunProgram,
                                 ReadVariables, WriteScript>;

Json to_json(const WorkerMessage& message);
Json to_json(const CoreMessage& message);
// Unreadable for anything that is not such a message. A hello of another protocol version is still
// read: `protocol` tells.
Result<WorkerMessage> worker_message_from_json(const Json& json);
Result<CoreMessage> core_message_from_json(const Json& json);

}  // namespace gradstone
