// SPDX-License-Identifier: Apache-2.0
#include "run/memory_cgroup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/files.h"

namespace gradstone {
namespace {

bool has_word(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    if (text.substr(0, end) == word) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

// "/user.slice/x" for the line "0::/user.slice/x" of /proc/self/cgroup.
std::optional<std::string> own_path(const KernelFolders& folders) {
  const Result<std::string> text = read_file(folders.proc + "/self/cgroup");
  if (!text.ok()) return std::nullopt;
  const std::size_t line = text->starts_with("0::") ? 0 : text->find("\n0::");
  if (line == std::string::npos) return std::nullopt;
  const std::size_t start = text->find("::", line) + 2;
  std::string path = text->substr(start, text->find('\n', start) - start);
  return path == "/" ? "" : path;
}

bool passes_memory_on(const std::string& folder) {
  const Result<std::string> controllers = read_file(folder + "/cgroup.subtree_control");
  return controllers.ok() && has_word(*controllers, "memory");
}

}  // namespace

std::optional<MemoryCgroup> MemoryCgroup::hold(pid_t process, std::int64_t limit_bytes,
                                               const KernelFolders& folders) {
  const std::optional<std::string> own = own_path(folders);
  if (!own) return std::nullopt;
  // A cgroup that gives memory to its children may hold no process itself, except the root; so as a
  // rule the place is beside our own.
  for (const std::string& path : {*own, own->substr(0, own->rfind('/'))}) {
    const std::string parent = folders.cgroup + path;
    if (!passes_memory_on(parent)) continue;
    const std::string folder = parent + "/gradstone-" + std::to_string(process);
    if (::mkdir(folder.c_str(), 0755) != 0) continue;
    MemoryCgroup cgroup(folder);
    (void)write_file(folder + "/memory.swap.max", "0");  // not there without swap accounting
    (void)write_file(folder + "/memory.oom.group", "1");
    if (write_file(folder + "/memory.max", std::to_string(limit_bytes)).ok() &&
        write_file(folder + "/cgroup.procs", std::to_string(process)).ok()) {
      return cgroup;
    }
  }
  return std::nullopt;
}

MemoryCgroup::MemoryCgroup(MemoryCgroup&& other) noexcept
    : folder_(std::exchange(other.folder_, {})) {}

MemoryCgroup::~MemoryCgroup() {
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

bool MemoryCgroup::has_killed() const {
  const Result<std::string> events = read_file(folder_ + "/memory.events");
  if (!events.ok()) return false;
  const std::size_t found = events->find("oom_kill ");
  return found != std::string::npos && events->compare(found + 9, 1, "0") != 0;
}

}  // namespace gradstone
