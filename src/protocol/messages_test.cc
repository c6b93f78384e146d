// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/json_codec.h"

namespace gradstone {
namespace {

// Through text, as on the wire.
template <class Message>
Json on_the_wire(const Message& message) {
  return parse_json(write_json(to_json(message))).value();
}
template <class Kind>
Kind round_trip_worker(const Kind& message) {
  return std::get<Kind>(worker_message_from_json(on_the_wire(WorkerMessage(message))).value());
}
template <class Kind>
Kind round_trip_core(const Kind& message) {
  return std::get<Kind>(core_message_from_json(on_the_wire(CoreMessage(message))).value());
}

Graph graph_called(const std::string& name) {
  Graph graph;
  graph.name = name;
  graph.inputs = {{"x", {DType::kFloat32, {2, 3}}}};
  graph.nodes = {Node{.name = "relu", .op = "Relu", .inputs = {"x"}, .outputs = {"y"}}};
  graph.outputs = {"y"};
  return graph;
}

TrainJob train_job() {
  TrainJob job;
  job.workload = "lenet";
  job.graph = graph_called("training");
  job.evaluation_graph = graph_called("evaluation");
  job.last_graph = graph_called("last");
  job.recipe.batch = 77;
  job.recipe.epochs = 5;
  job.data = {"synthetic", "a/path", {3, 8, 8}, 7, 100, 50, std::uint64_t{1} << 63};
  job.data_need = {{1, 28, 28}, 12};
  job.seed = std::numeric_limits<std::uint64_t>::max();
  job.dropout = DropoutMode::kShared;
  job.measure = {.steps = 200, .epochs = 0, .precision = 0.05, .max_seconds = 9, .evaluate = false};
  job.weights_in = "/tmp/in";
  job.weights_out = "/tmp/out";
  return job;
}

TEST(Messages, HellosRoundTrip) {
  const CoreHello hello{.rank = 2,
                        .world_size = 3,
                        .device = "cuda:1",
                        .threads = 8,
                        .deterministic = true,
                        .math = "native",
                        .argument = "a:b\n\"c\"",
                        .seed = std::numeric_limits<std::uint64_t>::max()};
  const CoreHello read = round_trip_core(hello);
  EXPECT_EQ(read.protocol, kProtocolVersion);
  EXPECT_EQ(read.rank, 2);
  EXPECT_EQ(read.world_size, 3);
  EXPECT_EQ(read.device, "cuda:1");
  EXPECT_EQ(read.threads, 8);
  EXPECT_TRUE(read.deterministic);
  EXPECT_EQ(read.math, "native");
  EXPECT_EQ(read.argument, "a:b\n\"c\"");
  EXPECT_EQ(read.seed, hello.seed);
  const WorkerHello answer = round_trip_worker(WorkerHello{.engine = {{"name", "null"}}});
  EXPECT_EQ(answer.protocol, kProtocolVersion);
  EXPECT_EQ(answer.engine, (Json{{"name", "null"}}));
}

TEST(Messages, AHelloOfAnotherVersionIsReadWhateverElseItHolds) {
  const Json hello = {{"type", "hello"}, {"protocol", 99}, {"engine", 3}, {"rank", "x"}};
  EXPECT_EQ(std::get<WorkerHello>(worker_message_from_json(hello).value()).protocol, 99);
  EXPECT_EQ(std::get<CoreHello>(core_message_from_json(hello).value()).protocol, 99);
}

TEST(Messages, ATrainJobRoundTrips) {
  const TrainJob job = train_job();
  const TrainJob read = round_trip_core(job);
  EXPECT_EQ(read.workload, "lenet");
  EXPECT_EQ(to_json(read.graph), to_json(job.graph));
  EXPECT_EQ(to_json(read.evaluation_graph), to_json(job.evaluation_graph));
  ASSERT_TRUE(read.last_graph.has_value());
  EXPECT_EQ(to_json(*read.last_graph), to_json(*job.last_graph));
  EXPECT_EQ(to_json(read.recipe), to_json(job.recipe));
  EXPECT_EQ(read.recipe.batch, 77);
  EXPECT_EQ(read.data.name, "synthetic");
  EXPECT_EQ(read.data.path, "a/path");
  EXPECT_EQ(read.data.shape, (Shape{3, 8, 8}));
  EXPECT_EQ(read.data.classes, 7);
  EXPECT_EQ(read.data.train_count, 100);
  EXPECT_EQ(read.data.test_count, 50);
  EXPECT_EQ(read.data.seed, std::uint64_t{1} << 63);
  EXPECT_EQ(read.data_need.sample_shape, (Shape{1, 28, 28}));
  EXPECT_EQ(read.data_need.classes, 12);
  EXPECT_EQ(read.seed, job.seed);
  EXPECT_EQ(read.dropout, DropoutMode::kShared);
  EXPECT_EQ(read.measure.steps, 200);
  EXPECT_EQ(read.measure.epochs, 0);
  EXPECT_EQ(read.measure.precision, 0.05);
  EXPECT_EQ(read.measure.max_seconds, 9);
  EXPECT_FALSE(read.measure.evaluate);
  EXPECT_EQ(read.weights_in, "/tmp/in");
  EXPECT_EQ(read.weights_out, "/tmp/out");
}

TEST(Messages, ATrainJobWithoutALastGraphHasNone) {
  TrainJob job = train_job();
  job.last_graph.reset();
  EXPECT_FALSE(round_trip_core(job).last_graph.has_value());
}

TEST(Messages, EventsRoundTrip) {
  EXPECT_EQ(round_trip_worker(PhaseEvent{"warm_up"}).phase, "warm_up");
  const ProgressEvent progress = round_trip_worker(ProgressEvent{5, 100, 2, 1234.5, std::nan("")});
  EXPECT_EQ(progress.step, 5);
  EXPECT_EQ(progress.total_steps, 100);
  EXPECT_EQ(progress.epoch, 2);
  EXPECT_EQ(progress.samples_per_second, 1234.5);
  EXPECT_TRUE(std::isnan(progress.loss));
  const FactEvent fact = round_trip_worker(FactEvent{"engine", "blas", {{"a", {1, "b"}}}});
  EXPECT_EQ(fact.section, "engine");
  EXPECT_EQ(fact.key, "blas");
  EXPECT_EQ(fact.value, (Json{{"a", {1, "b"}}}));
}

TEST(Messages, SamplesKeepEveryBit) {
  const double infinity = std::numeric_limits<double>::infinity();
  const SamplesEvent sent{"loss", {0.1, -0.0, 5e-324, 1.7976931348623157e308, infinity, -infinity}};
  const SamplesEvent read = round_trip_worker(sent);
  EXPECT_EQ(read.name, "loss");
  EXPECT_EQ(read.values, sent.values);
  EXPECT_TRUE(std::signbit(read.values[1]));
  EXPECT_TRUE(std::isnan(round_trip_worker(SamplesEvent{"loss", {std::nan("")}}).values.at(0)));
}

BundleSpec bundle() {
  UpdateSpec update;
  update.optimizer.rule = Rule::kMomentum;
  update.optimizer.momentum = 0.75;
  update.gradient_clip = {GradientClip::Kind::kGlobalNorm, 5};
  update.weight_clip = 0.25;
  update.weight_average = 0.5;
  update.weights = {{"w", 2, 0}, {"v", 1, 3}};
  ProgramSpec training{"training", graph_called("a"), Mode::kTraining, {"y", "x"}, {}, {update}};
  training.backward = BackwardSpec{{"y"}, true, {"x", "w"}};
  ProgramSpec inference{"inference", graph_called("b"), Mode::kInference, {"y"}, {}, {}};
  return {{training, inference}};
}

TEST(Messages, ABundleRoundTrips) {
  const BundleSpec sent = bundle();
  const BundleSpec read = round_trip_core(LoadBundle{sent}).bundle;
  EXPECT_EQ(to_json(read), to_json(sent));
  ASSERT_EQ(read.programs.size(), 2u);
  const ProgramSpec& training = read.programs[0];
  EXPECT_EQ(training.name, "training");
  EXPECT_EQ(to_json(training.graph), to_json(sent.programs[0].graph));
  EXPECT_EQ(training.mode, Mode::kTraining);
  EXPECT_EQ(training.outputs, (std::vector<std::string>{"y", "x"}));
  ASSERT_TRUE(training.backward.has_value());
  EXPECT_EQ(training.backward->from, (std::vector<std::string>{"y"}));
  EXPECT_TRUE(training.backward->fed_cotangents);
  EXPECT_EQ(training.backward->wrt, (std::vector<std::string>{"x", "w"}));
  ASSERT_EQ(training.updates.size(), 1u);
  EXPECT_EQ(training.updates[0].optimizer, sent.programs[0].updates[0].optimizer);
  EXPECT_EQ(training.updates[0].gradient_clip, sent.programs[0].updates[0].gradient_clip);
  EXPECT_EQ(training.updates[0].weight_clip, 0.25);
  EXPECT_EQ(training.updates[0].weight_average, 0.5);
  ASSERT_EQ(training.updates[0].weights.size(), 2u);
  EXPECT_EQ(training.updates[0].weights[0].weight, "w");
  EXPECT_EQ(training.updates[0].weights[0].rate_multiplier, 2);
  EXPECT_EQ(training.updates[0].weights[1].decay_multiplier, 3);
  EXPECT_EQ(read.programs[1].mode, Mode::kInference);
  EXPECT_FALSE(read.programs[1].backward.has_value());
}

TEST(Messages, RequestsRoundTrip) {
  EXPECT_EQ(round_trip_core(WriteVariables{"/tmp/a file"}).file, "/tmp/a file");
  const RunProgram run = round_trip_core(RunProgram{3, "in", {{0.1, 7}, {1e-300, 1}}, "out"});
  EXPECT_EQ(run.program, 3u);
  EXPECT_EQ(run.feeds, "in");
  ASSERT_EQ(run.updates.size(), 2u);
  EXPECT_EQ(run.updates[0].learning_rate, 0.1);
  EXPECT_EQ(run.updates[0].count, 7);
  EXPECT_EQ(run.updates[1].learning_rate, 1e-300);
  EXPECT_EQ(run.fetches, "out");
  const WriteScript script = round_trip_core(WriteScript{bundle().programs[0], "values", "folder"});
  EXPECT_EQ(script.program.name, bundle().programs[0].name);
  EXPECT_EQ(script.values, "values");
  EXPECT_EQ(script.folder, "folder");
  const ReadVariables read = round_trip_core(ReadVariables{{"w", "w:mean"}, "file"});
  EXPECT_EQ(read.names, (std::vector<std::string>{"w", "w:mean"}));
  EXPECT_EQ(read.file, "file");
}

TEST(Messages, EveryOutcomeFinishes) {
  for (int i = 0; i <= static_cast<int>(Outcome::kInvalid); ++i) {
    const Answer answer = round_trip_worker(Answer{static_cast<Outcome>(i), "so"});
    EXPECT_EQ(static_cast<int>(answer.outcome), i);
    EXPECT_EQ(answer.message, "so");
    const Finished read = round_trip_worker(Finished{static_cast<Outcome>(i), "why"});
    EXPECT_EQ(static_cast<int>(read.outcome), i);
    EXPECT_EQ(read.message, "why");
  }
}

// Every key of every message is looked at: without it, or with null in its place, the message is
// refused by name.
TEST(Messages, AMissingOrWrongKeyIsRefused) {
  const std::vector<WorkerMessage> from_worker = {WorkerHello{},  PhaseEvent{}, ProgressEvent{},
                                                  SamplesEvent{}, FactEvent{},  Finished{},
                                                  Answer{}};
  for (const WorkerMessage& message : from_worker) {
    const Json whole = on_the_wire(message);
    for (const auto& [key, value] : whole.items()) {
      Json broken = whole;
      broken.erase(key);
      const auto read = worker_message_from_json(broken);
      ASSERT_FALSE(read.ok()) << write_json(broken);
      EXPECT_NE(read.error().message.find("'" + key + "'"), std::string::npos);
      EXPECT_EQ(read.error().kind, ErrorKind::kUnreadable);
    }
  }
  for (const CoreMessage& message :
       {CoreMessage(CoreHello{}), CoreMessage(train_job()), CoreMessage(LoadBundle{bundle()}),
        CoreMessage(WriteVariables{}), CoreMessage(RunProgram{}), CoreMessage(ReadVariables{}),
        CoreMessage(WriteScript{bundle().programs[0], "", ""})}) {
    const Json whole = on_the_wire(message);
    for (const auto& [key, value] : whole.items()) {
      Json broken = whole;
      broken[key] = nullptr;
      EXPECT_FALSE(core_message_from_json(broken).ok()) << key;
      broken.erase(key);
      EXPECT_EQ(core_message_from_json(broken).ok(), key == "last_graph") << key;
    }
  }
}

TEST(Messages, RubbishIsRefused) {
  EXPECT_EQ(worker_message_from_json(Json::array()).error().message,
            "message: expected an object with key 'type'");
  EXPECT_EQ(worker_message_from_json({{"type", "train"}}).error().message,
            "message: unknown type 'train'");
  EXPECT_EQ(worker_message_from_json({{"type", "hello"}, {"protocol", 1ll << 40}}).error().message,
            "message 'hello': key 'protocol': out of range");
  EXPECT_EQ(worker_message_from_json({{"type", "finished"}, {"outcome", "fine"}, {"message", ""}})
                .error()
                .message,
            "message 'finished': key 'outcome': unknown outcome 'fine'");
  Json job = on_the_wire(CoreMessage(train_job()));
  job["measure"]["steps"] = -1;
  EXPECT_EQ(core_message_from_json(job).error().message,
            "message 'train': measure: key 'steps': is negative");
  job = on_the_wire(CoreMessage(train_job()));
  job["seed"] = -1;
  EXPECT_EQ(core_message_from_json(job).error().message,
            "message 'train': key 'seed': expected a whole number from 0");
}

TEST(Messages, ABrokenBundleIsRefusedWithItsPlace) {
  const auto error_after = [](auto change) {
    Json json = on_the_wire(CoreMessage(LoadBundle{bundle()}));
    change(json["bundle"]["programs"]);
    return core_message_from_json(json).error().message;
  };
  const std::string place = "message 'load': bundle: ";
  EXPECT_EQ(error_after([](Json& programs) { programs = 3; }),
            place + "key 'programs': expected an array");
  EXPECT_EQ(error_after([](Json& programs) { programs[1]["mode"] = "sleeping"; }),
            place + "programs[1]: key 'mode': unknown mode 'sleeping'");
  EXPECT_EQ(error_after([](Json& programs) { programs[0]["backward"].erase("wrt"); }),
            place + "programs[0]: backward: key 'wrt' is missing");
  EXPECT_EQ(
      error_after([](Json& programs) { programs[0]["updates"][0]["weights"][1].erase("weight"); }),
      place + "programs[0]: updates[0]: weights[1]: key 'weight' is missing");
  EXPECT_EQ(error_after([](Json& programs) {
              programs[0]["updates"][0]["optimizer"]["rule"] = "guess";
            }).find(place + "programs[0]: updates[0]: optimizer: key 'rule': unknown value"),
            0u);
}

}  // namespace
}  // namespace gradstone
