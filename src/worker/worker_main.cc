// SPDX-License-Identifier: Apache-2.0
#include "worker/worker_main.h"

#include <fcntl.h>

#include <cstdio>
#include <exception>
#include <new>

#include "base/clock.h"
#include "protocol/channel.h"
#include "worker/describe.h"
#include "worker/train_job.h"

namespace gradstone {
namespace {

constexpr int kServed = 0, kCoreGone = 1, kStartedByHand = 2;

template <class T>
Result<T> receive(Channel& channel, const char* expected) {
  const std::optional<Json> json = TRY(channel.receive(std::chrono::milliseconds(-1)));
  if (!json) return failed(std::string("the core closed before its ") + expected);
  CoreMessage message = TRY(core_message_from_json(*json));
  T* wanted = std::get_if<T>(&message);
  if (wanted == nullptr) return unreadable(std::string("expected the core's ") + expected);
  return std::move(*wanted);
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

Result<Finished> train(Channel& channel, const CoreHello& hello) {
  const std::unique_ptr<Engine> engine = TRY(make_engine_for(hello));
  const WorkerHello answer{kProtocolVersion, to_json(engine->describe())};
  TRY(channel.send(to_json(WorkerMessage(answer))));
  const TrainJob job = TRY(receive<TrainJob>(channel, "job"));
  const EventSink send = [&](const WorkerMessage& message) {
    return channel.send(to_json(message));
  };
  return run_train_job(job, *engine, send, monotonic_ns);
}

// The last word: the job's, or what kept it from beginning.
WorkerMessage serve(Channel& channel) {
  const Result<CoreHello> hello = receive<CoreHello>(channel, "hello");
  if (!hello.ok()) return Finished{outcome_of(hello.error().kind), hello.error().message};
  if (hello->protocol != kProtocolVersion) {
    std::fprintf(stderr,
                 "the core speaks protocol %d, this worker protocol %d; build both from the same "
                 "source\n",
                 hello->protocol, kProtocolVersion);
    return WorkerHello{kProtocolVersion, Json::object()};  // tells the core both numbers
  }
  const Result<Finished> finished = train(channel, *hello);
  if (finished.ok()) return *finished;
  return Finished{outcome_of(finished.error().kind), finished.error().message};
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
  const Status sent = channel.send(to_json(serve(channel)));
  if (!sent.ok()) {
    std::fprintf(stderr, "worker: %s\n", sent.error().message.c_str());
    return kCoreGone;
  }
  return kServed;
}

}  // namespace gradstone
