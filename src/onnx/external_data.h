// SPDX-License-Identifier: Apache-2.0
// Tensor bytes that lie in files beside a model. Not for the model itself.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace gradstone::onnx_io {

// Maps files of one folder, each once. A file outside the folder, reached by `..`, an absolute path
// or a link, is an error, and so is a piece that the file does not have.
class ExternalData {
 public:
  explicit ExternalData(std::string folder);
  ~ExternalData();

  // `length` bytes from `offset` on; valid as long as this object.
  Result<std::span<const std::byte>> bytes(const std::string& location, std::uint64_t offset,
                                           std::uint64_t length);

 private:
  class Mapping;
  Result<const Mapping*> mapping(const std::string& location);

  std::string folder_;                                        // "" is the current one
  std::map<std::string, std::unique_ptr<Mapping>> mappings_;  // by location
};

}  // namespace gradstone::onnx_io
