// SPDX-License-Identifier: Apache-2.0
#include "onnx/model_file.h"

#include <google/protobuf/io/coded_stream.h>

#include <limits>

namespace gradstone::onnx_io {

std::string plain_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string() : std::string(domain);
}

Opsets opsets_of(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  Opsets opsets;
  for (const onnx::OperatorSetIdProto& import : imports) {
    opsets[plain_domain(import.domain())] = import.version();
  }
  return opsets;
}

Result<ModelFile> parse_model(std::string_view bytes) {
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  if (bytes.size() > kMost) {
    return unreadable(
        "the file is over 2 GiB, which ONNX does not allow; save the weights as external data");
  }
  if (bytes.empty()) return unreadable("the file is empty");
  ModelFile file;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetTotalBytesLimit(static_cast<int>(kMost));
  if (!file.proto.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return unreadable("not an ONNX file, or a damaged one");
  }
  if (!file.proto.has_graph()) return unreadable("not an ONNX model: it holds no graph");
  file.opsets = opsets_of(file.proto.opset_import());
  // The first files named no opset and meant the first.
  if (file.proto.opset_import_size() == 0 && file.proto.ir_version() < 3) file.opsets[""] = 1;
  const auto own = file.opsets.find("");
  if (own == file.opsets.end()) {
    // Legal for a model that only has operators of other domains.
    file.opsets[""] = kOurOpset;
  } else if (own->second < 1 || own->second > kNewestOpset) {
    return unsupported("opset " + std::to_string(own->second) + "; opsets 1 to " +
                       std::to_string(kNewestOpset) +
                       " are read: export the model with one of these");
  }
  return file;
}

}  // namespace gradstone::onnx_io
