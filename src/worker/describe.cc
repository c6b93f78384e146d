// SPDX-License-Identifier: Apache-2.0
#include "worker/describe.h"

#include <array>

namespace gradstone {

std::string_view name_of(ExecutionMode mode) {
  constexpr std::array<std::string_view, 3> kNames = {"eager", "graph", "compiled"};
  return kNames[static_cast<std::size_t>(mode)];
}

Json to_json(const EngineDescription& description) {
  Json dtypes = Json::array();
  for (const DType dtype : description.dtypes) dtypes.push_back(name_of(dtype));
  Json facts = Json::object();
  for (const auto& [key, value] : description.facts) facts[key] = value;
  return {{"name", description.name},
          {"version", description.version},
          {"dtypes", dtypes},
          {"devices", description.devices},
          {"device_note", description.device_note},
          {"second_order", description.second_order},
          {"separable_phases", description.separable_phases},
          {"node_hooks", description.node_hooks},
          {"native_dropout", description.native_dropout},
          {"memory_sources", description.memory_sources},
          {"execution_mode", name_of(description.execution_mode)},
          {"facts", facts}};
}

}  // namespace gradstone
