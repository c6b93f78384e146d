// SPDX-License-Identifier: Apache-2.0
#include "run/limits.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/files.h"

namespace gradstone {
namespace {

constexpr std::int64_t kSearchIntervalNs = 1'000'000'000;

std::string text_of(const std::string& path) {
  Result<std::string> text = read_file(path);
  return text.ok() ? std::move(*text) : "";
}

// The number at the start of `text`, spaces skipped; nullopt for "max" and the like.
std::optional<std::int64_t> number_at(std::string_view text) {
  while (!text.empty() && (text[0] == ' ' || text[0] == '\t')) text.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc()) return std::nullopt;
  return number;
}

// The number behind `key` at the start of a line.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view key) {
  for (std::size_t line = 0; line < text.size();) {
    if (text.substr(line).starts_with(key)) return number_at(text.substr(line + key.size()));
    line = std::min(text.find('\n', line), text.size() - 1) + 1;
  }
  return std::nullopt;
}

struct CgroupNames {
  std::string_view self;  // how /proc/self/cgroup marks the hierarchy
  std::string_view root;  // below the cgroup file system
  std::string_view limit, usage, clean_cache;
};
constexpr CgroupNames kCgroupNames[] = {
    {"0::", "", "memory.max", "memory.current", "inactive_file "},
    {":memory:", "/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file "}};

// The cgroup of this process as a path from the hierarchy's root; nullopt if it has none.
std::optional<std::string> own_cgroup(const std::string& self, std::string_view mark) {
  for (std::size_t line = 0; line < self.size();) {
    const std::size_t end = std::min(self.find('\n', line), self.size());
    const std::string_view text = std::string_view(self).substr(line, end - line);
    const std::size_t found = text.find(mark);
    // Version 2 is marked from the first column, version 1 behind the hierarchy's number.
    if (found != std::string_view::npos && (mark[0] == ':' || found == 0)) {
      return std::string(text.substr(found + mark.size()));
    }
    line = end + 1;
  }
  return std::nullopt;
}

std::optional<std::int64_t> left_in_cgroup(const std::string& folder, const CgroupNames& names) {
  const auto read = [&](std::string_view name) {
    return text_of(folder + "/" + std::string(name));
  };
  const std::optional<std::int64_t> limit = number_at(read(names.limit));
  const std::optional<std::int64_t> usage = number_at(read(names.usage));
  if (!limit || !usage) return std::nullopt;
  const std::int64_t cache = number_after(read("memory.stat"), names.clean_cache).value_or(0);
  return std::max<std::int64_t>(0, *limit - *usage + cache);
}

std::int64_t left_in_cgroups(const KernelFolders& folders, const CgroupNames& names) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::optional<std::string> path = own_cgroup(text_of(folders.proc + "/self/cgroup"), names.self);
  while (path) {
    const std::string folder = folders.cgroup + std::string(names.root) + *path;
    least = std::min(least, left_in_cgroup(folder, names).value_or(least));
    if (path->empty()) break;
    path->erase(path->find_last_of('/') == std::string::npos ? 0 : path->find_last_of('/'));
  }
  return least;
}

// Field 5 of /proc/PID/stat. The command in field 2 may hold spaces and brackets.
std::optional<std::int64_t> group_of(std::string_view stat) {
  const std::size_t command_end = stat.rfind(')');
  if (command_end == std::string_view::npos) return std::nullopt;
  std::string_view rest = stat.substr(command_end + 1);
  for (int field = 0; field < 3; ++field) {  // state and parent stand before it
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(space + 1);
  }
  return number_at(rest);
}

std::int64_t resident_set(const std::string& process) {
  const std::string statm = text_of(process + "/statm");
  const std::size_t second = statm.find(' ');
  if (second == std::string::npos) return 0;
  return number_at(std::string_view(statm).substr(second)).value_or(0) * ::sysconf(_SC_PAGESIZE);
}

std::int64_t proportional_set(const std::string& process) {
  const auto kibibytes = number_after(text_of(process + "/smaps_rollup"), "Pss:");
  return kibibytes ? *kibibytes * 1024 : resident_set(process);
}

}  // namespace

std::int64_t available_memory(const KernelFolders& folders) {
  const auto kibibytes = number_after(text_of(folders.proc + "/meminfo"), "MemAvailable:");
  if (!kibibytes) return 0;
  std::int64_t available = *kibibytes * 1024;
  for (const CgroupNames& names : kCgroupNames) {
    available = std::min(available, left_in_cgroups(folders, names));
  }
  return available;
}

std::int64_t default_memory_limit() {
  const std::int64_t available = available_memory();
  return available / 10 * 9;
}

std::int64_t out_of_memory_kills(const KernelFolders& folders) {
  return number_after(text_of(folders.proc + "/vmstat"), "oom_kill ").value_or(0);
}

GroupMemory::GroupMemory(pid_t group, KernelFolders folders)
    : group_(group), folders_(std::move(folders)) {}

void GroupMemory::find_members() {
  members_.clear();
  for (const std::string& name : list_folder(folders_.proc)) {
    const std::optional<std::int64_t> pid = number_at(name);
    if (!pid) continue;
    if (group_of(text_of(folders_.proc + "/" + name + "/stat")) == group_) {
      members_.push_back(static_cast<pid_t>(*pid));
    }
  }
}

std::int64_t GroupMemory::resident_bytes(std::int64_t limit) {
  if (const std::int64_t now = monotonic_ns(); now >= next_search_ns_) {
    find_members();
    next_search_ns_ = now + kSearchIntervalNs;
  }
  const auto sum = [&](std::int64_t (*measure)(const std::string&)) {
    std::int64_t bytes = 0;
    for (const pid_t member : members_) {
      bytes += measure(folders_.proc + "/" + std::to_string(member));
    }
    return bytes;
  };
  const std::int64_t bytes = sum(resident_set);
  return bytes <= limit ? bytes : sum(proportional_set);
}

}  // namespace gradstone
