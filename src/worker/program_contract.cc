// SPDX-License-Identifier: Apache-2.0
#include "worker/program_contract.h"

#include <algorithm>
#include <set>

namespace gradstone {
namespace {

Status check_backward(const ProgramSpec& spec, const ValueTypes& types) {
  for (const std::string& name : spec.backward->from) {
    const auto type = types.find(name);
    const std::string what = "backward from '" + name + "', which is ";
    if (type == types.end()) return failed(what + "no value of the graph");
    if (!is_floating(type->second.dtype)) {
      return failed(what + to_string(type->second) + " and has no gradient");
    }
    if (spec.backward->fed_cotangents || type->second.elements() == 1) continue;
    return failed(what + to_string(type->second) + " and no scalar; feed its cotangent");
  }
  for (const std::string& name : spec.backward->wrt) {
    const std::string what = "gradient of '" + name + "', which is ";
    if (!spec.graph.find_weight(name) && !spec.graph.find_input(name)) {
      return failed(what + "no weight and no input");
    }
    const TensorType& type = types.find(name)->second;
    if (!is_floating(type.dtype)) return failed(what + to_string(type) + " and has none");
  }
  return {};
}

Result<UpdatedWeight> updated_weight(const ProgramSpec& spec, const UpdateSpec& update,
                                     const WeightUpdate& target) {
  const std::vector<std::string>& wrt = spec.backward->wrt;
  const auto found = std::find(wrt.begin(), wrt.end(), target.weight);
  const Weight* weight = spec.graph.find_weight(target.weight);
  if (found == wrt.end() || weight == nullptr) {
    return failed("update of '" + target.weight + "', which is no weight of the backward pass");
  }
  UpdatedWeight updated{
      target, weight->type, static_cast<std::size_t>(found - wrt.begin()), {}, ""};
  for (const std::string& slot : slots_of(update.optimizer)) {
    updated.slots.push_back(
        {target.weight + ":" + slot, initial_slot_value(update.optimizer, slot)});
  }
  if (update.weight_average > 0) updated.average = target.weight + ":average";
  return updated;
}

Status add_updates(const ProgramSpec& spec, ProgramContract& contract) {
  if (!spec.updates.empty() && !spec.backward) return failed("updates need a backward pass");
  std::set<std::string> updated;
  for (const UpdateSpec& update : spec.updates) {
    std::vector<UpdatedWeight>& weights = contract.updates.emplace_back();
    for (const WeightUpdate& target : update.weights) {
      weights.push_back(TRY(updated_weight(spec, update, target)));
      if (!updated.insert(target.weight).second) {
        return failed("update of '" + target.weight + "', which is updated already");
      }
    }
  }
  return {};
}

Status fill(const ProgramSpec& spec, const ValueTypes& types, ProgramContract& contract) {
  for (const GraphInput& input : spec.graph.inputs) {
    contract.feeds.push_back({input.name, input.type});
  }
  for (const std::string& name : spec.outputs) {
    const auto type = types.find(name);
    if (type == types.end()) return failed("output '" + name + "' is no value of the graph");
    contract.fetches.push_back({name, type->second});
  }
  if (spec.backward) {
    TRY(check_backward(spec, types));
    for (const std::string& name : spec.backward->from) {
      if (!spec.backward->fed_cotangents) break;
      contract.feeds.push_back({"cotangent of " + name, types.find(name)->second});
    }
    for (const std::string& name : spec.backward->wrt) {
      contract.fetches.push_back({"gradient of " + name, types.find(name)->second});
    }
  }
  return add_updates(spec, contract);
}

Status check_count(std::size_t expected, std::size_t given, const char* what) {
  if (expected == given) return {};
  return failed("has " + std::to_string(expected) + " " + what + ", given " +
                std::to_string(given));
}

Status check_values(const ProgramContract& contract, const RunRequest& request) {
  TRY(check_count(contract.feeds.size(), request.feeds.size(), "values to feed"));
  for (std::size_t i = 0; i < request.feeds.size(); ++i) {
    const auto& [name, type] = contract.feeds[i];
    if (request.feeds[i].type == type) continue;
    return failed("feed '" + name + "' is " + to_string(type) + ", given " +
                  to_string(request.feeds[i].type));
  }
  if (request.fetches.empty()) return {};
  TRY(check_count(contract.fetches.size(), request.fetches.size(), "values to fetch"));
  for (std::size_t i = 0; i < request.fetches.size(); ++i) {
    const auto& [name, type] = contract.fetches[i];
    if (request.fetches[i].data == nullptr || request.fetches[i].type == type) continue;
    return failed("value '" + name + "' is " + to_string(type) + ", fetched as " +
                  to_string(request.fetches[i].type));
  }
  return {};
}

}  // namespace

Result<ProgramContract> contract_of(const ProgramSpec& spec, const ValueTypes& types) {
  ProgramContract contract;
  contract.name = spec.name;
  TRY(fill(spec, types, contract).within(contract.place()));
  return contract;
}

Status check_program_index(std::size_t program, std::size_t programs) {
  if (program < programs) return {};
  return failed("program " + std::to_string(program) + ": the bundle has " +
                std::to_string(programs));
}

Status check_request(const ProgramContract& contract, const RunRequest& request) {
  // The place is spelt only for an error: this runs before every step.
  Status status = check_values(contract, request);
  if (status.ok()) status = check_count(contract.updates.size(), request.updates.size(), "updates");
  if (status.ok()) return status;
  return status.error().within(contract.place());
}

}  // namespace gradstone
