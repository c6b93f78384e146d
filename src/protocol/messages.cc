// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages.h"

#include <limits>

#include "graph/json_codec.h"

namespace gradstone {
namespace {

// Rows of the two tables below: a message's type on the wire and how it is read.
template <class Message>
struct MessageKind {
  std::string_view type;
  Result<Message> (*read)(const Json&);
};

template <class Message, std::size_t kCount>
Result<Message> read_message(const Json& json, const MessageKind<Message> (&kinds)[kCount]) {
  const std::string type = TRY(string_member(json, "type").within("message"));
  for (const MessageKind<Message>& kind : kinds) {
    if (kind.type == type) return kind.read(json).within("message '" + type + "'");
  }
  return unreadable("message: unknown type '" + type + "'");
}

Json message(std::string_view type) { return Json{{"type", type}}; }

// Seeds need all 64 bits.
Result<std::uint64_t> unsigned_member(const Json& object, std::string_view key) {
  const Json value = TRY(member(object, key));
  if (!value.is_number_unsigned()) {
    return unreadable("key '" + std::string(key) + "': expected a whole number from 0");
  }
  return value.get<std::uint64_t>();
}

Result<int> int_member(const Json& object, std::string_view key) {
  const std::int64_t value = TRY(integer_member(object, key));
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    return unreadable("key '" + std::string(key) + "': out of range");
  }
  return static_cast<int>(value);
}

Result<std::int64_t> count_member(const Json& object, std::string_view key) {
  const std::int64_t value = TRY(integer_member(object, key));
  if (value < 0) return unreadable("key '" + std::string(key) + "': is negative");
  return value;
}

Json encode(const DataReference& data) {
  return {{"name", data.name},       {"path", data.path},         {"shape", data.shape},
          {"classes", data.classes}, {"train", data.train_count}, {"test", data.test_count},
          {"seed", data.seed}};
}

Result<DataReference> data_reference_from_json(const Json& json) {
  DataReference data;
  data.name = TRY(string_member(json, "name"));
  data.path = TRY(string_member(json, "path"));
  data.shape = TRY(integers_member(json, "shape"));
  data.classes = TRY(count_member(json, "classes"));
  data.train_count = TRY(count_member(json, "train"));
  data.test_count = TRY(count_member(json, "test"));
  data.seed = TRY(unsigned_member(json, "seed"));
  return data;
}

Json encode(const DataNeed& need) {
  return {{"sample_shape", need.sample_shape}, {"classes", need.classes}};
}

Result<DataNeed> data_need_from_json(const Json& json) {
  DataNeed need;
  need.sample_shape = TRY(integers_member(json, "sample_shape"));
  need.classes = TRY(count_member(json, "classes"));
  return need;
}

Json encode(const MeasurePlan& plan) {
  return {{"steps", plan.steps},
          {"epochs", plan.epochs},
          {"precision", encode_number(plan.precision)},
          {"max_seconds", encode_number(plan.max_seconds)},
          {"evaluate", plan.evaluate}};
}

Result<MeasurePlan> measure_plan_from_json(const Json& json) {
  MeasurePlan plan;
  plan.steps = TRY(count_member(json, "steps"));
  plan.epochs = TRY(count_member(json, "epochs"));
  plan.precision = TRY(number_member(json, "precision"));
  plan.max_seconds = TRY(number_member(json, "max_seconds"));
  plan.evaluate = TRY(boolean_member(json, "evaluate"));
  return plan;
}

// Core to worker.

Json encode(const CoreHello& hello) {
  Json json = message("hello");
  json["protocol"] = hello.protocol;
  json["rank"] = hello.rank;
  json["world_size"] = hello.world_size;
  json["device"] = hello.device;
  json["threads"] = hello.threads;
  json["deterministic"] = hello.deterministic;
  json["math"] = hello.math;
  json["argument"] = hello.argument;
  json["seed"] = hello.seed;
  return json;
}

Result<CoreMessage> read_core_hello(const Json& json) {
  CoreHello hello;
  hello.protocol = TRY(int_member(json, "protocol"));
  if (hello.protocol != kProtocolVersion) return CoreMessage(hello);
  hello.rank = TRY(int_member(json, "rank"));
  hello.world_size = TRY(int_member(json, "world_size"));
  hello.device = TRY(string_member(json, "device"));
  hello.threads = TRY(int_member(json, "threads"));
  hello.deterministic = TRY(boolean_member(json, "deterministic"));
  hello.math = TRY(string_member(json, "math"));
  hello.argument = TRY(string_member(json, "argument"));
  hello.seed = TRY(unsigned_member(json, "seed"));
  return CoreMessage(std::move(hello));
}

Json encode(const TrainJob& job) {
  Json json = message("train");
  json["workload"] = job.workload;
  json["graph"] = to_json(job.graph);
  json["evaluation_graph"] = to_json(job.evaluation_graph);
  if (job.last_graph) json["last_graph"] = to_json(*job.last_graph);
  json["recipe"] = to_json(job.recipe);
  json["data"] = encode(job.data);
  json["data_need"] = encode(job.data_need);
  json["seed"] = job.seed;
  json["dropout"] = name_of(job.dropout);
  json["measure"] = encode(job.measure);
  json["weights_in"] = job.weights_in;
  json["weights_out"] = job.weights_out;
  return json;
}

Result<Graph> graph_member(const Json& json, std::string_view key) {
  return graph_from_json(TRY(member(json, key))).within(key);
}

Result<CoreMessage> read_train_job(const Json& json) {
  TrainJob job;
  job.workload = TRY(string_member(json, "workload"));
  job.graph = TRY(graph_member(json, "graph"));
  job.evaluation_graph = TRY(graph_member(json, "evaluation_graph"));
  if (json.contains("last_graph")) job.last_graph = TRY(graph_member(json, "last_graph"));
  job.recipe = TRY(recipe_from_json(TRY(member(json, "recipe"))).within("recipe"));
  job.data = TRY(data_reference_from_json(TRY(member(json, "data"))).within("data"));
  job.data_need = TRY(data_need_from_json(TRY(member(json, "data_need"))).within("data_need"));
  job.seed = TRY(unsigned_member(json, "seed"));
  const std::string dropout = TRY(string_member(json, "dropout"));
  const std::optional<DropoutMode> mode = dropout_mode_from_name(dropout);
  if (!mode) return unreadable("key 'dropout': unknown mode '" + dropout + "'");
  job.dropout = *mode;
  job.measure = TRY(measure_plan_from_json(TRY(member(json, "measure"))).within("measure"));
  job.weights_in = TRY(string_member(json, "weights_in"));
  job.weights_out = TRY(string_member(json, "weights_out"));
  return CoreMessage(std::move(job));
}

// Requests.

Json encode(const LoadBundle& request) {
  Json json = message("load");
  json["bundle"] = to_json(request.bundle);
  return json;
}

Result<CoreMessage> read_load(const Json& json) {
  return CoreMessage(
      LoadBundle{TRY(bundle_from_json(TRY(member(json, "bundle"))).within("bundle"))});
}

Json encode(const WriteVariables& request) {
  Json json = message("write");
  json["file"] = request.file;
  return json;
}

Result<CoreMessage> read_write(const Json& json) {
  return CoreMessage(WriteVariables{TRY(string_member(json, "file"))});
}

Json encode(const RunProgram& request) {
  Json json = message("run");
  json["program"] = request.program;
  json["feeds"] = request.feeds;
  json["updates"] = Json::array();
  for (const UpdateArguments& update : request.updates) {
    json["updates"].push_back(
        {{"learning_rate", encode_number(update.learning_rate)}, {"count", update.count}});
  }
  json["fetches"] = request.fetches;
  return json;
}

Result<CoreMessage> read_run(const Json& json) {
  RunProgram request;
  request.program = TRY(unsigned_member(json, "program"));
  request.feeds = TRY(string_member(json, "feeds"));
  const Json updates = TRY(member(json, "updates"));
  if (!updates.is_array()) return unreadable("key 'updates': expected an array");
  for (const Json& element : updates) {
    UpdateArguments update;
    update.learning_rate = TRY(number_member(element, "learning_rate").within("updates"));
    update.count = TRY(count_member(element, "count").within("updates"));
    request.updates.push_back(update);
  }
  request.fetches = TRY(string_member(json, "fetches"));
  return CoreMessage(std::move(request));
}

Json encode(const ReadVariables& request) {
  Json json = message("read");
  json["names"] = request.names;
  json["file"] = request.file;
  return json;
}

Result<CoreMessage> read_read(const Json& json) {
  ReadVariables request;
  request.names = TRY(strings_member(json, "names"));
  request.file = TRY(string_member(json, "file"));
  return CoreMessage(std::move(request));
}

Json encode(const WriteScript& request) {
  Json json = message("script");
  json["bundle"] = to_json(BundleSpec{{request.program}});
  json["values"] = request.values;
  json["folder"] = request.folder;
  return json;
}

Result<CoreMessage> read_script(const Json& json) {
  WriteScript request;
  BundleSpec bundle = TRY(bundle_from_json(TRY(member(json, "bundle"))).within("bundle"));
  if (bundle.programs.size() != 1) return unreadable("key 'bundle': expected one program");
  request.program = std::move(bundle.programs[0]);
  request.values = TRY(string_member(json, "values"));
  request.folder = TRY(string_member(json, "folder"));
  return CoreMessage(std::move(request));
}

// Worker to core.

Json encode(const WorkerHello& hello) {
  Json json = message("hello");
  json["protocol"] = hello.protocol;
  json["engine"] = hello.engine;
  return json;
}

Result<WorkerMessage> read_worker_hello(const Json& json) {
  WorkerHello hello;
  hello.protocol = TRY(int_member(json, "protocol"));
  if (hello.protocol != kProtocolVersion) return WorkerMessage(hello);
  hello.engine = TRY(member(json, "engine"));
  return WorkerMessage(std::move(hello));
}

Json encode(const PhaseEvent& event) {
  Json json = message("phase");
  json["phase"] = event.phase;
  return json;
}

Result<WorkerMessage> read_phase(const Json& json) {
  return WorkerMessage(PhaseEvent{TRY(string_member(json, "phase"))});
}

Json encode(const ProgressEvent& event) {
  Json json = message("progress");
  json["step"] = event.step;
  json["total_steps"] = event.total_steps;
  json["epoch"] = event.epoch;
  json["samples_per_second"] = encode_number(event.samples_per_second);
  json["loss"] = encode_number(event.loss);
  return json;
}

Result<WorkerMessage> read_progress(const Json& json) {
  ProgressEvent event;
  event.step = TRY(count_member(json, "step"));
  event.total_steps = TRY(count_member(json, "total_steps"));
  event.epoch = TRY(count_member(json, "epoch"));
  event.samples_per_second = TRY(number_member(json, "samples_per_second"));
  event.loss = TRY(number_member(json, "loss"));
  return WorkerMessage(event);
}

Json encode(const SamplesEvent& event) {
  Json json = message("samples");
  json["name"] = event.name;
  json["values"] = Json::array();
  for (const double value : event.values) json["values"].push_back(encode_number(value));
  return json;
}

Result<WorkerMessage> read_samples(const Json& json) {
  SamplesEvent event;
  event.name = TRY(string_member(json, "name"));
  event.values = TRY(numbers_member(json, "values"));
  return WorkerMessage(std::move(event));
}

Json encode(const FactEvent& event) {
  Json json = message("fact");
  json["section"] = event.section;
  json["key"] = event.key;
  json["value"] = event.value;
  return json;
}

Result<WorkerMessage> read_fact(const Json& json) {
  FactEvent event;
  event.section = TRY(string_member(json, "section"));
  event.key = TRY(string_member(json, "key"));
  event.value = TRY(member(json, "value"));
  return WorkerMessage(std::move(event));
}

// Finished and Answer: an outcome in the worker's words.
template <class Words>
Json encode_words(std::string_view type, const Words& words) {
  Json json = message(type);
  json["outcome"] = name_of(words.outcome);
  json["message"] = words.message;
  return json;
}

Json encode(const Finished& finished) { return encode_words("finished", finished); }
Json encode(const Answer& answer) { return encode_words("answer", answer); }

template <class Words>
Result<WorkerMessage> read_words(const Json& json) {
  const std::string name = TRY(string_member(json, "outcome"));
  const std::optional<Outcome> outcome = outcome_from_name(name);
  if (!outcome) return unreadable("key 'outcome': unknown outcome '" + name + "'");
  return WorkerMessage(Words{*outcome, TRY(string_member(json, "message"))});
}

constexpr MessageKind<CoreMessage> kCoreMessages[] = {
    {"hello", read_core_hello}, {"train", read_train_job}, {"load", read_load},
    {"write", read_write},      {"run", read_run},         {"read", read_read},
    {"script", read_script},
};
constexpr MessageKind<WorkerMessage> kWorkerMessages[] = {
    {"hello", read_worker_hello},   {"phase", read_phase}, {"progress", read_progress},
    {"samples", read_samples},      {"fact", read_fact},   {"finished", read_words<Finished>},
    {"answer", read_words<Answer>},
};

constexpr std::string_view kDropoutModes[] = {"shared", "native"};  // in the order of DropoutMode

}  // namespace

std::string_view name_of(DropoutMode mode) { return kDropoutModes[static_cast<std::size_t>(mode)]; }

std::optional<DropoutMode> dropout_mode_from_name(std::string_view name) {
  if (name == kDropoutModes[0]) return DropoutMode::kShared;
  if (name == kDropoutModes[1]) return DropoutMode::kNative;
  return std::nullopt;
}

Json to_json(const WorkerMessage& message) {
  return std::visit([](const auto& kind) { return encode(kind); }, message);
}

Json to_json(const CoreMessage& message) {
  return std::visit([](const auto& kind) { return encode(kind); }, message);
}

Result<WorkerMessage> worker_message_from_json(const Json& json) {
  return read_message(json, kWorkerMessages);
}

Result<CoreMessage> core_message_from_json(const Json& json) {
  return read_message(json, kCoreMessages);
}

}  // namespace gradstone
