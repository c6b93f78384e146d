// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <exception>
#include <filesystem>
#include <limits>
#include <new>

#include "base/files.h"
#include "onnx/importer.h"
#include "onnx/onnx.h"
#include "onnx/training_form.h"

namespace gradstone {
namespace {

using onnx_io::Assembled;
using onnx_io::Assembler;
using onnx_io::ModelFile;
using onnx_io::printable_name;

Result<ImportedModel> import_model(const ModelFile& file, const std::string& folder,
                                   const ImportOptions& options) {
  const std::string& name = file.proto.graph().name();
  onnx_io::ExternalData external(folder);
  Assembler assembler(name.empty() ? "model" : printable_name(name));
  const onnx_io::Roots roots = TRY(onnx_io::Importer(file, options, external, assembler).run());
  Assembled assembled = std::move(assembler).finish(roots);
  ImportedModel model;
  onnx_io::mark_states(assembled);
  if (options.training) model.notes = to_training_form(assembled, options.batch_norm);
  TRY(check_graph(assembled.graph));
  model.graph = std::move(assembled.graph);
  model.weights = std::move(assembled.weights);
  model.opset = file.opsets.at("");
  model.producer = printable_name(file.proto.producer_name());
  if (!file.proto.producer_version().empty()) {
    model.producer += " " + printable_name(file.proto.producer_version());
  }
  return model;
}

}  // namespace

Result<ImportedModel> import_onnx(std::string_view bytes, const std::string& folder,
                                  const ImportOptions& options) {
  try {
    const ModelFile file = TRY(onnx_io::parse_model(bytes));
    return import_model(file, folder, options);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::kOutOfMemory, "the model does not fit into memory"};
  } catch (const std::exception& exception) {  // from ONNX's library
    return unreadable(printable_name(exception.what()));
  }
}

Result<ImportedModel> import_onnx(const std::string& path, const ImportOptions& options) {
  struct stat status {};
  const std::string place = "model '" + path + "'";
  if (::stat(path.c_str(), &status) != 0) return file_error("read", path);
  if (!S_ISREG(status.st_mode)) return unreadable(place + ": not a file");
  if (status.st_size > std::numeric_limits<std::int32_t>::max()) {
    return unreadable(place + ": over 2 GiB, which ONNX does not allow");
  }
  const std::string bytes = TRY(read_file(path));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return import_onnx(bytes, folder, options).within(place);
}

}  // namespace gradstone
