// SPDX-License-Identifier: Apache-2.0
#include "worker/weights.h"

#include <utility>

#include "protocol/tensor_file.h"

namespace gradstone {
namespace {

Result<Tensor> read_variable(Bundle& bundle, std::string_view name) {
  Tensor value(TRY(bundle.type_of(name)));
  TRY(bundle.read(name, value.sink()));
  return value;
}

Status write_variable(Bundle& bundle, const Weight& weight, const TensorRef& value) {
  if (value.type == weight.type) return bundle.write(weight.name, value);
  const bool convertible = value.type.shape == weight.type.shape && is_floating(value.type.dtype) &&
                           is_floating(weight.type.dtype);
  if (!convertible) {
    return unreadable("tensor '" + weight.name + "' is " + to_string(value.type) +
                      ", the network has " + to_string(weight.type));
  }
  return bundle.write(weight.name, converted(value, weight.type.dtype).ref());
}

}  // namespace

std::string average_of(std::string_view weight) { return std::string(weight) + ":average"; }

Result<std::string> load_weights(const std::string& path, const std::vector<Weight>& variables,
                                 Bundle& bundle) {
  const TensorFile file = TRY(TensorFile::open(path));
  for (const Weight& weight : variables) {
    const TensorRef* value = file.find(weight.name);
    if (value == nullptr) {
      return unreadable("weights " + path + ": no tensor '" + weight.name +
                        "'; was it saved by another workload or size?");
    }
    TRY(write_variable(bundle, weight, *value).within("weights " + path));
  }
  return file.content_hash();
}

Status save_weights(const std::string& path, const std::vector<Weight>& variables,
                    const std::vector<std::string>& averaged, Bundle& bundle) {
  std::vector<std::pair<std::string, Tensor>> values;
  for (const Weight& weight : variables) {
    Tensor value = TRY(read_variable(bundle, weight.name));
    values.emplace_back(weight.name, std::move(value));
  }
  for (const std::string& weight : averaged) {
    Tensor value = TRY(read_variable(bundle, average_of(weight)));
    values.emplace_back(average_of(weight), std::move(value));
  }
  std::vector<std::pair<std::string, TensorRef>> views;
  for (const auto& [name, value] : values) views.emplace_back(name, value.ref());
  return write_tensor_file(path, views);
}

Status AverageSwap::begin() {
  kept_.clear();
  for (const std::string& weight : *weights_) {
    Tensor kept = TRY(read_variable(*bundle_, weight));
    kept_.push_back(std::move(kept));
    const Tensor average = TRY(read_variable(*bundle_, average_of(weight)));
    TRY(bundle_->write(weight, average.ref()));
  }
  return {};
}

Status AverageSwap::end() {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    TRY(bundle_->write((*weights_)[i], kept_[i].ref()));
  }
  kept_.clear();
  return {};
}

}  // namespace gradstone
