// SPDX-License-Identifier: Apache-2.0
#include "run/engine_catalogue.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/files.h"
#include "base/json.h"
#include "base/suggest.h"

namespace gradstone {
namespace {

constexpr std::string_view kManifestStart = "engine-";
constexpr std::string_view kManifestEnd = ".json";
constexpr std::string_view kAll = "all";
constexpr std::size_t kMostManifestBytes = 1 << 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes a number, or one other character, from the front.
std::string_view take_part(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  length = std::max<std::size_t>(length, 1);
  const std::string_view part = text.substr(0, length);
  text.remove_prefix(length);
  return part;
}

int compare_parts(std::string_view left, std::string_view right) {
  if (is_digit(left[0]) && is_digit(right[0])) {
    left.remove_prefix(std::min(left.find_first_not_of('0'), left.size()));
    right.remove_prefix(std::min(right.find_first_not_of('0'), right.size()));
    if (left.size() != right.size()) return left.size() < right.size() ? -1 : 1;
  }
  return left.compare(right);
}

Result<EngineManifest> read_manifest(const std::string& folder, const std::string& file) {
  const std::string path = folder + "/" + file;
  const Json json = TRY(parse_json(TRY(read_file(path, kMostManifestBytes))).within(path));
  EngineManifest engine;
  engine.manifest = path;
  engine.name = TRY(string_member(json, "name").within(path));
  engine.version = TRY(string_member(json, "version").within(path));
  engine.kind = TRY(string_member(json, "kind").within(path));
  engine.summary = TRY(string_member(json, "summary").within(path));
  const std::string executable = TRY(string_member(json, "executable").within(path));
  engine.executable = executable.starts_with('/') ? executable : folder + "/" + executable;
  if (engine.name.empty() || executable.empty()) {
    return unreadable(path + ": 'name' and 'executable' must not be empty");
  }
  return engine;
}

// A reference is NAME[@VERSION][:ARGUMENT], references are joined by commas, and `all` is a word.
bool can_be_chosen(const EngineManifest& engine) {
  const auto is_plain = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("._+-").find(c) != std::string_view::npos;
  };
  const std::string text = engine.name + engine.version;
  return engine.name != kAll && std::all_of(text.begin(), text.end(), is_plain) &&
         !text.starts_with('-');
}

// Why the executable cannot be started; "" where it seems that it can.
std::string fault_of(const std::string& executable) {
  struct stat status {};
  if (::stat(executable.c_str(), &status) != 0) return std::generic_category().message(errno);
  if (!S_ISREG(status.st_mode)) return "not a regular file";
  return ::access(executable.c_str(), X_OK) == 0 ? "" : std::generic_category().message(errno);
}

bool is_manifest(std::string_view file) {
  return file.starts_with(kManifestStart) && file.ends_with(kManifestEnd);
}

}  // namespace

std::string to_string(const EngineManifest& engine) {
  return engine.version.empty() ? engine.name : engine.name + "@" + engine.version;
}

std::string to_string(const EngineChoice& choice) {
  const std::string engine = to_string(choice.engine);
  return choice.argument.empty() ? engine : engine + ":" + choice.argument;
}

Result<EngineReference> parse_engine_reference(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view id = text.substr(0, colon);
  const std::size_t at = id.find('@');
  EngineReference reference;
  reference.name = id.substr(0, at);
  if (at != std::string_view::npos) reference.version = id.substr(at + 1);
  if (colon != std::string_view::npos) reference.argument = text.substr(colon + 1);
  if (reference.name.empty() || (at != std::string_view::npos && reference.version.empty())) {
    return usage_error("engine '" + std::string(text) +
                       "': expected NAME[@VERSION][:ARGUMENT]; see gradstone list engines");
  }
  return reference;
}

bool version_less(std::string_view left, std::string_view right) {
  while (!left.empty() && !right.empty()) {
    const int order = compare_parts(take_part(left), take_part(right));
    if (order != 0) return order < 0;
  }
  return left.empty() && !right.empty();
}

EngineCatalogue EngineCatalogue::read(const std::vector<std::string>& folders) {
  EngineCatalogue catalogue;
  std::set<std::filesystem::path> seen;  // the same folder may go by two names
  for (const std::string& folder : folders) {
    std::error_code code;
    const std::filesystem::path place = std::filesystem::weakly_canonical(folder, code);
    if (!code && !seen.insert(place).second) continue;
    for (const std::string& file : list_folder(folder)) {
      if (is_manifest(file)) catalogue.add(read_manifest(folder, file));
    }
  }
  std::sort(catalogue.engines_.begin(), catalogue.engines_.end(),
            [](const EngineManifest& a, const EngineManifest& b) {
              return a.name != b.name ? a.name < b.name : version_less(a.version, b.version);
            });
  return catalogue;
}

void EngineCatalogue::add(Result<EngineManifest> engine) {
  if (!engine.ok()) {
    problems_.push_back(engine.error().message);
    return;
  }
  const std::string id = to_string(*engine);
  if (!can_be_chosen(*engine)) {
    problems_.push_back(engine->manifest + ": no engine can be chosen as '" + id +
                        "'; name it by letters, digits, '.', '_', '+' and '-', and not all");
    return;
  }
  const auto first =
      std::find_if(engines_.begin(), engines_.end(),
                   [&](const EngineManifest& other) { return to_string(other) == id; });
  if (first != engines_.end()) {
    problems_.push_back(engine->manifest + ": engine " + id + " is named by " + first->manifest +
                        " already; remove one");
    return;
  }
  if (const std::string fault = fault_of(engine->executable); !fault.empty()) {
    problems_.push_back(engine->manifest + ": engine " + id + " cannot be started: '" +
                        engine->executable + "': " + fault);
    broken_.emplace_back(engine->name, problems_.back());
    return;
  }
  engines_.push_back(*std::move(engine));
}

std::vector<std::string> EngineCatalogue::default_folders() {
  const std::string here = executable_folder();
  std::vector<std::string> folders = {here, here + "/../libexec/gradstone"};
  if (const std::string home = gradstone_home(); !home.empty())
    folders.push_back(home + "/engines");
  return folders;
}

Result<std::vector<EngineChoice>> EngineCatalogue::choose(std::string_view text) const {
  std::vector<EngineChoice> chosen;
  if (text == kAll) {
    for (const EngineManifest& engine : engines_) {
      if (engine.kind == kFrameworkKind) chosen.push_back({engine, ""});
    }
    if (chosen.empty()) {
      return usage_error("engine all: no framework engine is installed; installed: " + installed());
    }
    return chosen;
  }
  const EngineReference wanted = TRY(parse_engine_reference(text));
  const EngineManifest* found = nullptr;
  bool name_known = false;
  for (const EngineManifest& engine : engines_) {  // ascending versions: the last match wins
    if (engine.name != wanted.name) continue;
    name_known = true;
    if (wanted.version.empty() || wanted.version == engine.version) found = &engine;
  }
  if (found == nullptr) return unknown(wanted, name_known);
  chosen.push_back({*found, wanted.argument});
  return chosen;
}

std::string EngineCatalogue::installed() const {
  std::string list;
  for (const EngineManifest& engine : engines_) {
    if (!list.empty()) list += ", ";
    list += to_string(engine);
  }
  if (list.empty()) list = "none";
  return problems_.empty() ? list : list + "; unusable: " + problems_[0];
}

Error EngineCatalogue::unknown(const EngineReference& wanted, bool name_known) const {
  if (name_known) {
    return usage_error("engine '" + wanted.name + "' has no version '" + wanted.version +
                       "'; installed: " + installed());
  }
  for (const auto& [name, problem] : broken_) {
    if (name == wanted.name) return usage_error(problem);
  }
  std::vector<std::string_view> names = {kAll};
  for (const EngineManifest& engine : engines_) names.push_back(engine.name);
  return usage_error("unknown engine '" + wanted.name + "'" + did_you_mean(wanted.name, names) +
                     "; installed: " + installed());
}

}  // namespace gradstone
