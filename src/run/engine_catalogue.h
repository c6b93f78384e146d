// SPDX-License-Identifier: Apache-2.0
// The engines installed on this machine, read from their manifests without starting one. Whether an
// engine works here is found out by running it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gradstone {

// What an engine's manifest `engine-NAME[@VERSION].json` says.
struct EngineManifest {
  std::string name;        // "torch"
  std::string version;     // of the framework it was built against; "" where there is only one
  std::string kind;        // "framework", "oracle", "test"
  std::string summary;     // one line
  std::string executable;  // absolute path
  std::string manifest;    // path of the file that says so; for messages
};
std::string to_string(const EngineManifest& engine);  // "torch@2.15.0", or "null" without version

inline constexpr std::string_view kFrameworkKind = "framework";
inline constexpr std::string_view kOracleKind = "oracle";

// An engine and the text behind ':' of its reference.
struct EngineChoice {
  EngineManifest engine;
  std::string argument;
};
std::string to_string(const EngineChoice& choice);  // the reference that selects it again

// NAME[@VERSION][:ARGUMENT] as typed. Usage error where NAME or VERSION is empty.
struct EngineReference {
  std::string name, version, argument;
};
Result<EngineReference> parse_engine_reference(std::string_view text);

// "1.13.1" before "2.2" before "2.15.0": numbers in the text compare as numbers.
bool version_less(std::string_view left, std::string_view right);

class EngineCatalogue {
 public:
  // Reads every engine-*.json of `folders`. An engine that could not be chosen or started is a problem
  // and not listed; so is the second of the same name and version, in the order of the folders. A
  // folder that does not exist is empty.
  static EngineCatalogue read(const std::vector<std::string>& folders);
  // Beside this executable, ../libexec/gradstone from there, and $GRADSTONE_HOME/engines.
  static std::vector<std::string> default_folders();

  const std::vector<EngineManifest>& engines() const { return engines_; }  // by name, version
  // One line for each manifest that names no engine to be had, with its path and the reason.
  const std::vector<std::string>& problems() const { return problems_; }

  // `all` is every engine of kind "framework", an error if there is none. A name without version is
  // its highest version. Usage error for an unknown one, with the nearest and those installed.
  Result<std::vector<EngineChoice>> choose(std::string_view reference) const;

 private:
  std::string installed() const;
  Error unknown(const EngineReference& wanted, bool name_known) const;
  void add(Result<EngineManifest> engine);

  std::vector<EngineManifest> engines_;
  std::vector<std::pair<std::string, std::string>> broken_;  // name, and its line of problems_
  std::vector<std::string> problems_;
};

}  // namespace gradstone
