// SPDX-License-Identifier: Apache-2.0
#include "run/engine_session.h"

#include <cstring>
#include <optional>
#include <utility>
#include <variant>

#include "base/files.h"
#include "protocol/channel.h"
#include "protocol/tensor_file.h"
#include "run/worker_process.h"

namespace gradstone {
namespace {

constexpr std::chrono::milliseconds kForEver{-1};
constexpr double kNoLimit = 1e9;  // seconds: while nothing is asked

Answer as_answer(Finished finished) { return {finished.outcome, std::move(finished.message)}; }
Answer as_answer(const Error& error) { return {Outcome::kInvalid, error.message}; }

// Temporary files of requests, each written anew for each.
Status write_tensors(const std::string& path, const TensorMap& tensors) {
  std::vector<std::pair<std::string, TensorRef>> views;
  for (const auto& [name, tensor] : tensors) views.emplace_back(name, tensor.ref());
  return write_tensor_file(path, views, Durability::kUnsynced);
}

Result<TensorMap> read_tensors(const std::string& path) {
  const TensorFile file = TRY(TensorFile::open(path));
  TensorMap tensors;
  for (const std::string& name : file.names()) {
    const TensorRef* tensor = file.find(name);
    Tensor copy(tensor->type);
    if (copy.type().bytes() > 0) std::memcpy(copy.data(), tensor->data, copy.type().bytes());
    tensors.emplace(name, std::move(copy));
  }
  return tensors;
}

}  // namespace

struct EngineSession::State {
  State(SessionOptions chosen, const std::atomic<bool>& stop_flag)
      : options(std::move(chosen)), stop(stop_flag) {}
  ~State() {
    if (worker) worker->leave(false);
  }

  Answer ensure_started();
  Answer ask(const CoreMessage& request, const std::string& place);
  Answer give(const TensorMap& tensors, std::string& path);
  Answer take(const std::string& path, TensorMap& tensors);

  SessionOptions options;
  const std::atomic<bool>& stop;
  std::optional<TemporaryFolder> folder;
  std::unique_ptr<WorkerProcess> worker;
  Json description;

 private:
  // The next message within the time limit, and what is wrong where there is none or it is rubbish.
  Result<std::optional<WorkerMessage>> listen();
  Result<std::optional<Answer>> greet();
  Result<std::optional<Answer>> hear_answer();
  Answer settle(const Result<std::optional<Answer>>& heard, const std::string& place);
};

Result<std::optional<WorkerMessage>> EngineSession::State::listen() {
  const std::optional<Json> json = TRY(worker->channel().receive(kForEver));
  if (!json) return std::optional<WorkerMessage>();
  return std::optional<WorkerMessage>(TRY(worker_message_from_json(*json)));
}

// nullopt: the worker is gone. Anything but ok is its refusal.
Result<std::optional<Answer>> EngineSession::State::greet() {
  // A worker that is gone already is noticed when reading.
  (void)worker->channel().send(to_json(CoreMessage(options.hello)));
  std::optional<WorkerMessage> message = TRY(listen());
  if (!message) return std::optional<Answer>();
  if (auto* finished = std::get_if<Finished>(&*message)) {
    if (finished->outcome == Outcome::kOk) return unreadable("finished ok before hello");
    return std::optional<Answer>(as_answer(std::move(*finished)));
  }
  auto* hello = std::get_if<WorkerHello>(&*message);
  if (hello == nullptr) return unreadable("an event before hello");
  if (hello->protocol != kProtocolVersion) {
    return std::optional<Answer>(Answer{Outcome::kInvalid, other_protocol(hello->protocol)});
  }
  description = std::move(hello->engine);
  return std::optional<Answer>(Answer{});
}

Result<std::optional<Answer>> EngineSession::State::hear_answer() {
  std::optional<WorkerMessage> message = TRY(listen());
  if (!message) return std::optional<Answer>();
  if (auto* answer = std::get_if<Answer>(&*message)) return std::optional<Answer>(*answer);
  if (const auto* finished = std::get_if<Finished>(&*message)) {
    return unreadable("finished in place of an answer: " + finished->message);
  }
  return unreadable("no answer to a request, but something else");
}

// What was heard as an answer; a worker that is gone or talks rubbish is let go of.
Answer EngineSession::State::settle(const Result<std::optional<Answer>>& heard,
                                    const std::string& place) {
  worker->restart_clock(kNoLimit);
  if (heard.ok() && heard->has_value()) return **heard;
  const Departure departure = worker->leave(!heard.ok());
  const Status status = heard.ok() ? Status() : Status(heard.error());
  const Answer answer = as_answer(end_of(departure, status, worker->limits(), place));
  worker.reset();
  return answer;
}

Answer EngineSession::State::ensure_started() {
  if (stop) return {Outcome::kInvalid, "interrupted"};
  if (worker) return {};
  if (!folder) {
    Result<TemporaryFolder> made = TemporaryFolder::create();
    if (!made.ok()) return as_answer(made.error());
    folder.emplace(std::move(*made));
  }
  auto started =
      WorkerProcess::start(options.engine.engine.executable,
                           {options.seconds_per_request, options.memory_limit_bytes}, stop);
  if (!started.ok()) return as_answer(started.error());
  worker = std::move(*started);
  const Answer answer = settle(greet(), "at its start");
  if (answer.outcome != Outcome::kOk && worker) {
    worker->leave(true);
    worker.reset();
  }
  return answer;
}

Answer EngineSession::State::ask(const CoreMessage& request, const std::string& place) {
  const Answer started = ensure_started();
  if (started.outcome != Outcome::kOk) return started;
  worker->restart_clock(options.seconds_per_request);
  (void)worker->channel().send(to_json(request));
  return settle(hear_answer(), place);
}

// `path` becomes the file that holds them.
Answer EngineSession::State::give(const TensorMap& tensors, std::string& path) {
  // The folder is made with the first worker.
  Answer answer = ensure_started();
  if (answer.outcome != Outcome::kOk) return answer;
  path = folder->file("to-worker");
  const Status written = write_tensors(path, tensors);
  return written.ok() ? Answer{} : as_answer(written.error());
}

Answer EngineSession::State::take(const std::string& path, TensorMap& tensors) {
  Result<TensorMap> read = read_tensors(path);
  if (!read.ok()) return as_answer(read.error());
  tensors = std::move(*read);
  return {};
}

EngineSession::EngineSession(SessionOptions options, const std::atomic<bool>& stop)
    : state_(std::make_unique<State>(std::move(options), stop)) {}
EngineSession::EngineSession(EngineSession&&) noexcept = default;
EngineSession& EngineSession::operator=(EngineSession&&) noexcept = default;
EngineSession::~EngineSession() = default;

Answer EngineSession::describe(Json& description) {
  const Answer answer = state_->ensure_started();
  if (answer.outcome == Outcome::kOk) description = state_->description;
  return answer;
}

Answer EngineSession::load(const BundleSpec& bundle) {
  return state_->ask(LoadBundle{bundle}, "in load");
}

Answer EngineSession::write(const TensorMap& variables) {
  WriteVariables request;
  const Answer given = state_->give(variables, request.file);
  if (given.outcome != Outcome::kOk) return given;
  return state_->ask(request, "in write");
}

Answer EngineSession::run(std::size_t program, const TensorMap& feeds,
                          const std::vector<UpdateArguments>& updates, TensorMap* values) {
  RunProgram request{program, "", updates, ""};
  Answer answer = state_->ensure_started();
  if (answer.outcome == Outcome::kOk && !feeds.empty()) {
    answer = state_->give(feeds, request.feeds);
  }
  if (answer.outcome != Outcome::kOk) return answer;
  if (values != nullptr) request.fetches = state_->folder->file("from-worker");
  answer = state_->ask(request, "in run of program " + std::to_string(program));
  if (answer.outcome != Outcome::kOk || values == nullptr) return answer;
  return state_->take(request.fetches, *values);
}

Answer EngineSession::write_script(const ProgramSpec& program, const TensorMap& values,
                                   const std::string& folder, std::string& name) {
  WriteScript request{program, "", folder};
  Answer answer = state_->give(values, request.values);
  if (answer.outcome != Outcome::kOk) return answer;
  answer = state_->ask(request, "in script");
  if (answer.outcome == Outcome::kOk) name = answer.message;
  return answer;
}

Answer EngineSession::read(const std::vector<std::string>& variables, TensorMap& values) {
  Answer answer = state_->ensure_started();
  if (answer.outcome != Outcome::kOk) return answer;
  const ReadVariables request{variables, state_->folder->file("from-worker")};
  answer = state_->ask(request, "in read");
  if (answer.outcome != Outcome::kOk) return answer;
  return state_->take(request.file, values);
}

}  // namespace gradstone
