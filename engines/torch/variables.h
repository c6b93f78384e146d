// SPDX-License-Identifier: Apache-2.0
// The variables of a bundle: weights, optimizer state, averages. Their storage never moves; programs
// hold tensors that share it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engines/torch/aten.h"
#include "graph/tensor.h"

namespace gradstone::torch_engine {

struct Variable {
  std::string name;
  TensorType type;
  at::Tensor tensor;     // contiguous, requires no gradient
  bool defined = false;  // false: never written
};

class VariableStore {
 public:
  // The variable of this name, made if need be. An error if it exists with another type.
  Result<Variable*> declare(const std::string& name, const TensorType& type);
  // An error that names the variable if there is none.
  Result<Variable*> find(std::string_view name);
  Result<const Variable*> find(std::string_view name) const;

  // Errors: unknown, never written, another type than the variable's.
  Status read(std::string_view name, const TensorSink& sink) const;
  Status write(std::string_view name, const TensorRef& value);

 private:
  std::map<std::string, Variable, std::less<>> variables_;
};

}  // namespace gradstone::torch_engine
