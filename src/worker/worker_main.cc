// SPDX-License-Identifier: Apache-2.0
#include "worker/worker_main.h"

#include <fcntl.h>

#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <variant>

#include "base/clock.h"
#include "protocol/channel.h"
#include "worker/describe.h"
#include "worker/program_server.h"
#include "worker/train_job.h"

namespace gradstone {
namespace {

constexpr int kServed = 0, kCoreGone = 1, kStartedByHand = 2;

// nullopt: the core has closed.
Result<std::optional<CoreMessage>> receive(Channel& channel) {
  const std::optional<Json> json = TRY(channel.receive(std::chrono::milliseconds(-1)));
  if (!json) return std::optional<CoreMessage>();
  return std::optional<CoreMessage>(TRY(core_message_from_json(*json)));
}

Result<CoreHello> receive_hello(Channel& channel) {
  const std::optional<CoreMessage> message = TRY(receive(channel));
  if (!message) return failed("the core closed before its hello");
  const CoreHello* hello = std::get_if<CoreHello>(&*message);
  if (hello == nullptr) return unreadable("expected the core's hello");
  return *hello;
}

Result<std::unique_ptr<Engine>> make_engine_for(const CoreHello& hello) {
  EngineOptions options;
  options.device = hello.device;
  options.threads = hello.threads;
  options.deterministic = hello.deterministic;
  options.math = hello.math;
  options.argument = hello.argument;
  options.seed = hello.seed;
  try {
    return make_engine(options);
  } catch (const std::bad_alloc& error) {
    return Error{ErrorKind::kOutOfMemory, error.what()};
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

// Answers one by one until the core closes.
Status answer_requests(Channel& channel, Engine& engine, CoreMessage first) {
  ProgramServer server(engine);
  std::optional<CoreMessage> request(std::move(first));
  while (request) {
    TRY(channel.send(to_json(WorkerMessage(server.serve(*request)))));
    request = TRY(receive(channel));
  }
  return {};
}

// The last word on a job; nullopt where there were requests and each has its answer.
Result<std::optional<Finished>> work(Channel& channel, const CoreHello& hello) {
  const std::unique_ptr<Engine> engine = TRY(make_engine_for(hello));
  const WorkerHello answer{kProtocolVersion, to_json(engine->describe())};
  TRY(channel.send(to_json(WorkerMessage(answer))));
  std::optional<CoreMessage> first = TRY(receive(channel));
  if (!first) return failed("the core closed before its job");
  if (const TrainJob* job = std::get_if<TrainJob>(&*first)) {
    const EventSink send = [&](const WorkerMessage& message) {
      return channel.send(to_json(message));
    };
    return std::optional<Finished>(run_train_job(*job, *engine, send, monotonic_ns));
  }
  TRY(answer_requests(channel, *engine, std::move(*first)));
  return std::optional<Finished>();
}

// The last word, or what kept the work from beginning.
std::optional<WorkerMessage> serve(Channel& channel) {
  const Result<CoreHello> hello = receive_hello(channel);
  if (!hello.ok()) return Finished{outcome_of(hello.error().kind), hello.error().message};
  if (hello->protocol != kProtocolVersion) {
    std::fprintf(stderr,
                 "the core speaks protocol %d, this worker protocol %d; build both from the same "
                 "source\n",
                 hello->protocol, kProtocolVersion);
    return WorkerHello{kProtocolVersion, Json::object()};  // tells the core both numbers
  }
  const Result<std::optional<Finished>> finished = work(channel, *hello);
  if (!finished.ok()) {
    return Finished{outcome_of(finished.error().kind), finished.error().message};
  }
  if (!*finished) return std::nullopt;
  return **finished;
}

}  // namespace

int worker_main(int, char** argv) {
  if (fcntl(kWorkerDescriptor, F_GETFD) < 0) {
    std::fprintf(stderr,
                 "%s: this is a worker of gradstone and is started by it; try: gradstone run\n",
                 argv[0]);
    return kStartedByHand;
  }
  Channel channel(kWorkerDescriptor);
  const std::optional<WorkerMessage> last_word = serve(channel);
  const Status sent = last_word ? channel.send(to_json(*last_word)) : Status();
  if (!sent.ok()) {
    std::fprintf(stderr, "worker: %s\n", sent.error().message.c_str());
    return kCoreGone;
  }
  return kServed;
}

}  // namespace gradstone
