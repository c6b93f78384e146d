// SPDX-License-Identifier: Apache-2.0
#include "verify/reproduction.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "onnx/onnx.h"
#include "protocol/tensor_file.h"

namespace gradstone {
namespace {

constexpr const char* kProgramFile = "case.json";
constexpr const char* kTensorFile = "case.safetensors";
constexpr const char* kCotangent = "cotangent/";

// One file of data/ and what it holds, for the README.
struct Listed {
  std::string file, what;
};

// The tensors of a case, in files of one folder.
struct Listing {
  std::string folder;
  std::vector<Listed> listed;
};

Status put(Listing& listing, const std::string& file, const std::string& what,
           const std::string& name, const Tensor& tensor) {
  TRY(write_tensor_proto(listing.folder + "/data/" + file, name, tensor.ref()));
  listing.listed.push_back({"data/" + file, what + " `" + name + "`, " + to_string(tensor.type())});
  return {};
}

Result<std::vector<Listed>> write_data(const Shrunk& shrunk, const std::string& folder) {
  TRY(make_folders(folder + "/data"));
  Listing listing{folder, {}};
  const Case& question = shrunk.question;
  for (std::size_t i = 0; i < question.graph.inputs.size(); ++i) {
    const std::string& name = question.graph.inputs[i].name;
    TRY(put(listing, fmt::format("input_{}.pb", i), "graph input", name, question.values.at(name)));
  }
  for (std::size_t i = 0; i < question.from.size(); ++i) {
    const std::string& name = question.from[i];
    TRY(put(listing, fmt::format("cotangent_{}.pb", i), "cotangent of", name,
            question.cotangents.at(name)));
  }
  std::size_t outputs = 0, gradients = 0;
  for (const Expectation& one : shrunk.expected) {
    const std::string file = one.backward ? fmt::format("gradient_{}", gradients++)
                                          : fmt::format("output_{}", outputs++);
    // Integers are exact; floats are rounded to the type that the engine was asked for.
    const Tensor rounded = converted(one.exact.ref(), one.single.type().dtype);
    TRY(put(listing, file + ".pb", "expected", one.value, rounded));
    if (const auto actual = shrunk.answers.find(one.value); actual != shrunk.answers.end()) {
      TRY(put(listing, file + "_actual.pb", "computed by the engine:", one.value, actual->second));
    }
  }
  return std::move(listing.listed);
}

Status write_case(const Case& question, const std::string& folder) {
  BundleSpec bundle;
  bundle.programs.push_back(program_of(question, "case"));
  TRY(write_file_atomically(folder + "/" + kProgramFile, write_json(to_json(bundle), 1) + "\n"));
  std::vector<std::pair<std::string, TensorRef>> tensors;
  for (const auto& [name, value] : question.values) tensors.emplace_back(name, value.ref());
  for (const auto& [name, value] : question.cotangents) {
    tensors.emplace_back(kCotangent + name, value.ref());
  }
  return write_tensor_file(folder + "/" + kTensorFile, tensors);
}

std::string nodes_text(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    text += fmt::format("- `{}`: {}(", node.name, node.op);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      text += (i > 0 ? ", " : "") + (node.inputs[i].empty() ? "-" : node.inputs[i]);
    }
    text += ")\n";
  }
  return text;
}

std::string readme(const Shrunk& shrunk, const Provenance& provenance,
                   const std::vector<Listed>& listed, const std::string& model) {
  std::string text =
      fmt::format("# {}: {} of {} is wrong\n\n", provenance.engine,
                  shrunk.departure.backward ? "the gradient" : "the output", shrunk.departure.op);
  text += to_string(shrunk.departure) + ".\n\n";
  text += fmt::format(
      "Found in {} by `{}`, then made smaller while it stayed ({} cases were run). The graph has "
      "the semantics of ONNX opset 17:\n\n{}\n",
      provenance.subject, provenance.command, shrunk.trials, nodes_text(shrunk.question.graph));
  const Tolerance& tolerance = shrunk.departure.tolerance;
  text += fmt::format(
      "Expected values are those of plain kernels in float64. {:.2g} is allowed: ten times what "
      "the "
      "same kernels are off in the engine's type ({:.2g}), and no less than 4 sqrt(n) (e max|x| + "
      "d) "
      "with n = {:.0f}, max|x| = {:.3g}, d = {:.2g}.\n\n",
      tolerance.allowed, tolerance.own_gap, tolerance.reduction, tolerance.magnitude,
      tolerance.moved);
  text += "| file | what |\n|---|---|\n";
  text += "| model.onnx | " + model + " |\n";
  for (const Listed& each : listed) text += "| " + each.file + " | " + each.what + " |\n";
  text += "| versions.json | of Gradstone, the engine and its libraries |\n";
  text += "| reproduce.* | shows it: see its first lines |\n";
  text += fmt::format("| {}, {} | for `gradstone verify --case` |\n", kProgramFile, kTensorFile);
  return text;
}

}  // namespace

Status write_reproduction(const Shrunk& shrunk, const Provenance& provenance,
                          const std::string& folder) {
  const std::vector<Listed> listed = TRY(write_data(shrunk, folder));
  TRY(write_case(shrunk.question, folder));
  Graph model = shrunk.question.graph;
  const Status exported = export_onnx(model, weights_of(shrunk.question), folder + "/model.onnx");
  if (!exported.ok() && exported.error().kind != ErrorKind::kUnsupported) return exported;
  const std::string about =
      exported.ok() ? "the graph with its weights" : "not written: " + exported.error().message;
  TRY(write_file_atomically(folder + "/versions.json", write_json(provenance.versions, 1) + "\n"));
  return write_file_atomically(folder + "/README.md", readme(shrunk, provenance, listed, about));
}

Result<Case> read_case(const std::string& folder) {
  const std::string path = folder + "/" + kProgramFile;
  const Json json = TRY(parse_json(TRY(read_file(path))).within(path));
  BundleSpec bundle = TRY(bundle_from_json(json).within(path));
  if (bundle.programs.size() != 1) return unreadable(path + ": one program is expected");
  Case question;
  question.graph = std::move(bundle.programs[0].graph);
  TRY(check_graph(question.graph).within(path));
  if (const auto& backward = bundle.programs[0].backward) {
    question.from = backward->from;
    question.wrt = backward->wrt;
  }
  const TensorFile file = TRY(TensorFile::open(folder + "/" + kTensorFile));
  const auto take = [&](const std::string& name, const std::string& as,
                        TensorMap& target) -> Status {
    const TensorRef* tensor = file.find(name);
    if (tensor == nullptr) return unreadable(folder + "/" + kTensorFile + ": no '" + name + "'");
    Tensor copy(tensor->type);
    if (copy.type().bytes() > 0) std::memcpy(copy.data(), tensor->data, copy.type().bytes());
    target[as] = std::move(copy);
    return {};
  };
  for (const GraphInput& input : question.graph.inputs) {
    TRY(take(input.name, input.name, question.values));
  }
  for (const Weight& weight : question.graph.weights) {
    TRY(take(weight.name, weight.name, question.values));
  }
  for (const std::string& value : question.from) {
    TRY(take(kCotangent + value, value, question.cotangents));
  }
  return question;
}

TensorMap script_values(const Shrunk& shrunk) {
  TensorMap values = shrunk.question.values;
  for (const auto& [name, value] : shrunk.question.cotangents) values[kCotangent + name] = value;
  for (const Expectation& one : shrunk.expected) {
    values["expected/" + one.value] = one.exact;
    values["allowed/" + one.value] = Tensor::scalar(one.tolerance.allowed);
  }
  return values;
}

Status write_command_script(const Provenance& provenance, const std::string& folder) {
  const std::string path = folder + "/reproduce.sh";
  TRY(write_file_atomically(
      path,
      "#!/bin/sh\n"
      "# Runs this folder's case on the engine again. Exit code 1: it still departs.\n"
      "exec \"${GRADSTONE:-gradstone}\" verify --case \"$(dirname \"$0\")\" --engine '" +
          provenance.engine + "'\n"));
  std::error_code ignored;  // sh can be given the file
  std::filesystem::permissions(path, std::filesystem::perms::owner_exec,
                               std::filesystem::perm_options::add, ignored);
  return {};
}

}  // namespace gradstone
