// SPDX-License-Identifier: Apache-2.0
#include "worker/program_server.h"

#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <variant>

#include "base/files.h"
#include "protocol/tensor_file.h"
#include "worker/train_job.h"

namespace gradstone {
namespace {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

Status write_tensors(const std::string& path, const NamedTensors& tensors) {
  std::vector<std::pair<std::string, TensorRef>> views;
  for (const auto& [name, tensor] : tensors) views.emplace_back(name, tensor.ref());
  return write_tensor_file(path, views, Durability::kUnsynced);
}

std::vector<std::string> feed_names(const ProgramSpec& program) {
  std::vector<std::string> names;
  for (const GraphInput& input : program.graph.inputs) names.push_back(input.name);
  if (!program.backward || !program.backward->fed_cotangents) return names;
  for (const std::string& value : program.backward->from) names.push_back("cotangent/" + value);
  return names;
}

std::vector<std::string> fetch_names(const ProgramSpec& program) {
  std::vector<std::string> names = program.outputs;
  if (!program.backward) return names;
  for (const std::string& name : program.backward->wrt) names.push_back("gradient/" + name);
  return names;
}

// What does not fit is the asker's fault, not the engine's.
template <class T>
Result<T> asked(Result<T> result) {
  if (result.ok()) return result;
  return unreadable(result.error().message);
}

// The tensors of a program's feeds, in order; they live as long as `file`.
Result<std::vector<TensorRef>> feeds_from(const TensorFile* file,
                                          const std::vector<std::string>& names) {
  std::vector<TensorRef> feeds;
  for (const std::string& name : names) {
    const TensorRef* tensor = file == nullptr ? nullptr : file->find(name);
    if (tensor == nullptr) return unreadable("feeds: no tensor '" + name + "'");
    feeds.push_back(*tensor);
  }
  return feeds;
}

}  // namespace

Answer ProgramServer::serve(const CoreMessage& request) {
  Status status;
  told_.clear();
  try {
    status = std::visit([this](const auto& kind) { return handle(kind); }, request);
  } catch (const std::bad_alloc& error) {
    status = Error{ErrorKind::kOutOfMemory, error.what()};
  } catch (const std::exception& error) {
    status = failed(error.what());
  }
  if (status.ok()) return {Outcome::kOk, told_};
  return {outcome_of(status.error().kind), status.error().message};
}

Status ProgramServer::check_loaded() const {
  if (bundle_) return {};
  return unreadable("no bundle is loaded");
}

Status ProgramServer::handle(const LoadBundle& request) {
  bundle_.reset();  // two at once may not fit into memory
  contracts_.clear();
  feed_names_.clear();
  fetch_names_.clear();
  for (const ProgramSpec& program : request.bundle.programs) {
    const ValueTypes types = TRY(asked(check_graph(program.graph)));
    contracts_.push_back(TRY(asked(contract_of(program, types))));
    feed_names_.push_back(feed_names(program));
    fetch_names_.push_back(fetch_names(program));
  }
  bundle_ = TRY(engine_.load(request.bundle));
  return {};
}

Status ProgramServer::handle(const WriteVariables& request) {
  TRY(check_loaded());
  const TensorFile file = TRY(asked(TensorFile::open(request.file)));
  for (const std::string& name : file.names()) {
    const TensorRef& tensor = *file.find(name);
    const TensorType type = TRY(asked(bundle_->type_of(name)));
    if (tensor.type != type) {
      return unreadable("variable '" + name + "' is " + to_string(type) + ", given " +
                        to_string(tensor.type));
    }
    TRY(bundle_->write(name, tensor));
  }
  return {};
}

Status ProgramServer::handle(const RunProgram& request) {
  TRY(check_loaded());
  TRY(asked(check_program_index(request.program, contracts_.size())));
  const ProgramContract& contract = contracts_[request.program];
  // Shared, so that an engine that still reads the feeds keeps the file mapped.
  std::shared_ptr<TensorFile> file;
  if (!request.feeds.empty()) {
    file = std::make_shared<TensorFile>(TRY(asked(TensorFile::open(request.feeds))));
  }
  const std::vector<TensorRef> feeds =
      TRY(feeds_from(file.get(), feed_names_[request.program]).within(contract.place()));
  NamedTensors fetched;
  std::vector<TensorSink> sinks;
  if (!request.fetches.empty()) {
    for (std::size_t i = 0; i < contract.fetches.size(); ++i) {
      fetched.emplace_back(fetch_names_[request.program][i], Tensor(contract.fetches[i].type));
      sinks.push_back(fetched.back().second.sink());
    }
  }
  RunRequest run{request.program, feeds, file, sinks, request.updates};
  TRY(asked(check_request(contract, run)));
  const Status ran = bundle_->run(run);
  const Status done = bundle_->synchronise();  // nothing may write into `fetched` later
  TRY(ran);
  TRY(done);
  return request.fetches.empty() ? Status() : write_tensors(request.fetches, fetched);
}

Status ProgramServer::handle(const ReadVariables& request) {
  TRY(check_loaded());
  NamedTensors values;
  for (const std::string& name : request.names) {
    Tensor value(TRY(asked(bundle_->type_of(name))));
    TRY(bundle_->read(name, value.sink()));
    values.emplace_back(name, std::move(value));
  }
  return write_tensors(request.file, values);
}

Status ProgramServer::handle(const WriteScript& request) {
  TRY(asked(contract_of(request.program, TRY(asked(check_graph(request.program.graph))))));
  const TensorFile file = TRY(asked(TensorFile::open(request.values)));
  std::map<std::string, TensorRef> values;
  for (const std::string& name : file.names()) values.emplace(name, *file.find(name));
  const Script script = TRY(engine_.script({request.program, values}));
  TRY(write_file_atomically(request.folder + "/" + script.name, script.text));
  told_ = script.name;
  return {};
}

Status ProgramServer::handle(const CoreHello&) { return unreadable("a second hello"); }
Status ProgramServer::handle(const TrainJob&) { return unreadable("a job among requests"); }

}  // namespace gradstone
