// SPDX-License-Identifier: Apache-2.0
// The variables of a bundle by name: weights, optimizer state, averages. `Value` is an engine's own
// tensor. Not for moving elements: the engine does that.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "worker/program_contract.h"

namespace gradstone {

// Stays at one address as long as its table.
template <class Value>
struct Variable {
  std::string name;
  TensorType type;
  Value value;
  bool defined = false;  // false: never written
};

template <class Value>
struct VariableStorage {
  std::function<Value(const TensorType&)> make;
  std::function<void(Value&, double)> fill;  // sets all elements in place
};

// What the update of one weight reads and changes.
template <class Value>
struct UpdateVariables {
  Variable<Value>* weight = nullptr;
  std::vector<Variable<Value>*> slots;  // in the order of slots_of
  Variable<Value>* average = nullptr;   // nullptr: none is kept
};

inline Error never_written(const std::string& variable) {
  return failed("variable '" + variable + "' was never written");
}

template <class Value>
class VariableTable {
 public:
  explicit VariableTable(VariableStorage<Value> storage) : storage_(std::move(storage)) {}

  // The variable of this name, made if need be. Failed if it exists with another type.
  Result<Variable<Value>*> declare(const std::string& name, const TensorType& type) {
    const auto found = variables_.find(name);
    if (found != variables_.end()) return of_type(found->second, type);
    Variable<Value> variable{name, type, storage_.make(type), false};
    return &variables_.emplace(name, std::move(variable)).first->second;
  }
  // State that is not defined yet gets its initial value; an average stays undefined.
  Result<UpdateVariables<Value>> declare(const UpdatedWeight& updated) {
    UpdateVariables<Value> variables;
    variables.weight = TRY(declare(updated.update.weight, updated.type));
    for (const StateVariable& slot : updated.slots) {
      Variable<Value>* state = TRY(declare(slot.name, updated.type));
      if (!state->defined) storage_.fill(state->value, slot.initial);
      state->defined = true;
      variables.slots.push_back(state);
    }
    if (!updated.average.empty()) variables.average = TRY(declare(updated.average, updated.type));
    return variables;
  }

  Result<TensorType> type_of(std::string_view name) const {
    const auto found = variables_.find(name);
    if (found == variables_.end()) return unknown(name);
    return found->second.type;
  }
  // To be read or written as `type`. Failed if unknown, of another type or, to read, not defined.
  Result<Variable<Value>*> to_write(std::string_view name, const TensorType& type) {
    const auto found = variables_.find(name);
    if (found == variables_.end()) return unknown(name);
    return of_type(found->second, type);
  }
  Result<Variable<Value>*> to_read(std::string_view name, const TensorType& type) {
    Variable<Value>* variable = TRY(to_write(name, type));
    if (!variable->defined) return never_written(variable->name);
    return variable;
  }

 private:
  static Error unknown(std::string_view name) {
    return failed("variable '" + std::string(name) + "': there is none of this name");
  }
  static Result<Variable<Value>*> of_type(Variable<Value>& variable, const TensorType& type) {
    if (variable.type == type) return &variable;
    return failed("variable '" + variable.name + "' is " + to_string(variable.type) + ", not " +
                  to_string(type));
  }

  VariableStorage<Value> storage_;
  std::map<std::string, Variable<Value>, std::less<>> variables_;
};

// As check_request of the contract, and failed for a weight that the program reads undefined.
template <class Value>
Status check_request(const ProgramContract& contract, const RunRequest& request,
                     const std::vector<Variable<Value>*>& weights) {
  TRY(check_request(contract, request));
  for (const Variable<Value>* weight : weights) {
    if (!weight->defined) return never_written(weight->name).within(contract.place());
  }
  return {};
}

}  // namespace gradstone
