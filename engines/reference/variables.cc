// SPDX-License-Identifier: Apache-2.0
#include "engines/reference/variables.h"

#include <cstring>

namespace gradstone::reference {
namespace {

Error unknown(std::string_view name) {
  return failed("variable '" + std::string(name) + "': there is none of this name");
}

Status check_type(const Variable& variable, const TensorType& given) {
  if (variable.value.type() == given) return {};
  return failed("variable '" + variable.name + "' is " + to_string(variable.value.type()) +
                ", not " + to_string(given));
}

}  // namespace

Result<Variable*> VariableStore::declare(const std::string& name, const TensorType& type) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    return &variables_.emplace(name, Variable{name, Tensor(type), false}).first->second;
  }
  TRY(check_type(found->second, type));
  return &found->second;
}

Result<Variable*> VariableStore::find(std::string_view name) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return unknown(name);
  return &found->second;
}

Result<const Variable*> VariableStore::find(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return unknown(name);
  return &found->second;
}

Status VariableStore::read(std::string_view name, const TensorSink& sink) const {
  const Variable* variable = TRY(find(name));
  if (!variable->defined) return failed("variable '" + variable->name + "' was never written");
  TRY(check_type(*variable, sink.type));
  if (sink.data != nullptr) std::memcpy(sink.data, variable->value.data(), sink.type.bytes());
  return {};
}

Status VariableStore::write(std::string_view name, const TensorRef& value) {
  Variable* variable = TRY(find(name));
  TRY(check_type(*variable, value.type));
  std::memcpy(variable->value.data(), value.data, value.type.bytes());
  variable->defined = true;
  return {};
}

}  // namespace gradstone::reference
