// SPDX-License-Identifier: Apache-2.0
#include "engines/torch/variables.h"

#include "engines/torch/support.h"

namespace gradstone::torch_engine {
namespace {

Error variable_error(std::string_view name, const std::string& what) {
  return failed("variable '" + std::string(name) + "' " + what);
}

Status expect_type(const Variable& variable, const TensorType& type, std::string_view use) {
  if (variable.type == type) return {};
  return variable_error(variable.name, "is " + to_string(variable.type) + ", " + std::string(use) +
                                           " as " + to_string(type));
}

}  // namespace

Result<Variable*> VariableStore::declare(const std::string& name, const TensorType& type) {
  Variable& variable = variables_[name];
  if (variable.tensor.defined()) {
    TRY(expect_type(variable, type, "needed"));
    return &variable;
  }
  variable.name = name;
  variable.type = type;
  variable.tensor = at::zeros(type.shape, at::TensorOptions().dtype(scalar_type(type.dtype)));
  return &variable;
}

Result<Variable*> VariableStore::find(std::string_view name) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return variable_error(name, "is unknown");
  return &found->second;
}

Result<const Variable*> VariableStore::find(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return variable_error(name, "is unknown");
  return &found->second;
}

Status VariableStore::read(std::string_view name, const TensorSink& sink) const {
  const Variable* variable = TRY(find(name));
  if (!variable->defined) return variable_error(name, "was never written");
  TRY(expect_type(*variable, sink.type, "read"));
  return copy_out(variable->tensor, sink);
}

Status VariableStore::write(std::string_view name, const TensorRef& value) {
  Variable* variable = TRY(find(name));
  TRY(expect_type(*variable, value.type, "written"));
  variable->tensor.copy_(borrowed(value));
  variable->defined = true;
  return {};
}

}  // namespace gradstone::torch_engine
