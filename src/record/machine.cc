// SPDX-License-Identifier: Apache-2.0
#include "record/machine.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>
#include <utility>

#include "base/files.h"

namespace gradstone {
namespace {

// The files below the root. What cannot be read is empty.
class Tree {
 public:
  explicit Tree(std::string root) : root_(std::move(root)) {}

  std::string text(const std::string& path) const {
    const Result<std::string> content = read_file(root_ + path);
    if (!content.ok()) return "";
    const std::size_t end = content->find_last_not_of(" \n\t");
    return end == std::string::npos ? "" : content->substr(0, end + 1);
  }
  std::vector<std::string> lines(const std::string& path) const {
    std::istringstream stream(text(path));
    std::vector<std::string> found;
    for (std::string line; std::getline(stream, line);) found.push_back(line);
    return found;
  }
  std::vector<std::string> folder(const std::string& path) const {
    return list_folder(root_ + path);
  }
  std::string link(const std::string& path) const {
    std::error_code code;
    return std::filesystem::read_symlink(root_ + path, code).string();
  }

 private:
  std::string root_;
};

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\"");
  const std::size_t end = text.find_last_not_of(" \t\"");
  return begin == std::string_view::npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

// The value of "key: value" or "key=value", or nullopt for another key.
std::optional<std::string> value_of(std::string_view line, std::string_view key, char separator) {
  const std::size_t at = line.find(separator);
  if (at == std::string_view::npos || trimmed(line.substr(0, at)) != key) return std::nullopt;
  return trimmed(line.substr(at + 1));
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

void read_cpuinfo(const Tree& tree, MachineFacts& facts) {
  std::set<std::pair<std::string, std::string>> cores;
  std::string package;
  for (const std::string& line : tree.lines("/proc/cpuinfo")) {
    if (value_of(line, "processor", ':')) ++facts.logical_cpus;
    if (const auto model = value_of(line, "model name", ':')) facts.cpu_model = *model;
    if (const auto id = value_of(line, "physical id", ':')) package = *id;
    if (const auto core = value_of(line, "core id", ':')) cores.insert({package, *core});
    if (const auto flags = value_of(line, "flags", ':')) {
      facts.hypervisor |= (" " + *flags + " ").find(" hypervisor ") != std::string::npos;
    }
  }
  facts.physical_cores = static_cast<int>(cores.size());
}

std::int64_t cache_bytes(const std::string& text) {  // "512K", "32M"
  const std::int64_t count = number<std::int64_t>(text).value_or(0);
  if (text.ends_with('K')) return count << 10;
  if (text.ends_with('M')) return count << 20;
  return count;
}

void read_cpu_folders(const Tree& tree, MachineFacts& facts) {
  const std::string cpus = "/sys/devices/system/cpu";
  for (const std::string& index : tree.folder(cpus + "/cpu0/cache")) {
    const std::string place = cpus + "/cpu0/cache/" + index;
    const int level = number<int>(tree.text(place + "/level")).value_or(0);
    if (level == 0) continue;
    facts.caches.push_back(
        {level, tree.text(place + "/type"), cache_bytes(tree.text(place + "/size"))});
  }
  std::set<std::string> governors;
  for (const std::string& cpu : tree.folder(cpus)) {
    if (!cpu.starts_with("cpu")) continue;
    const std::string governor = tree.text(cpus + "/" + cpu + "/cpufreq/scaling_governor");
    if (!governor.empty()) governors.insert(governor);
  }
  facts.governors.assign(governors.begin(), governors.end());
}

void read_meminfo(const Tree& tree, MachineFacts& facts) {
  std::int64_t swap_free = 0;
  const std::pair<const char*, std::int64_t*> fields[] = {{"MemTotal", &facts.memory_bytes},
                                                          {"MemAvailable", &facts.available_bytes},
                                                          {"SwapTotal", &facts.swap_bytes},
                                                          {"SwapFree", &swap_free}};
  for (const std::string& line : tree.lines("/proc/meminfo")) {
    for (const auto& [key, target] : fields) {
      if (const auto kib = value_of(line, key, ':')) {
        *target = number<std::int64_t>(*kib).value_or(0) * 1024;
      }
    }
  }
  facts.swap_used_bytes = facts.swap_bytes - swap_free;
}

// "max 100000", "150000 100000"
std::optional<double> quota_v2(const std::string& text) {
  std::istringstream stream(text);
  double quota = 0, period = 0;
  if (stream >> quota >> period && period > 0) return quota / period;
  return std::nullopt;
}

std::optional<double> quota_v1(const Tree& tree, const std::string& place) {
  const auto quota = number<double>(tree.text(place + "/cpu.cfs_quota_us"));
  const auto period = number<double>(tree.text(place + "/cpu.cfs_period_us"));
  if (quota && period && *quota > 0 && *period > 0) return *quota / *period;
  return std::nullopt;
}

// The smallest quota from this process's group up to the root. In a container the mount shows only
// the own group, as its root: paths that do not exist there are passed over.
std::optional<double> read_quota(const Tree& tree) {
  std::optional<double> smallest;
  const auto consider = [&](std::optional<double> quota) {
    if (quota && (!smallest || *quota < *smallest)) smallest = quota;
  };
  for (const std::string& line : tree.lines("/proc/self/cgroup")) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_v2 = controllers == ",,";
    if (!is_v2 && controllers.find(",cpu,") == std::string::npos) continue;
    std::string group = line.substr(second + 1);
    while (true) {
      if (group == "/") group.clear();
      consider(is_v2 ? quota_v2(tree.text("/sys/fs/cgroup" + group + "/cpu.max"))
                     : quota_v1(tree, "/sys/fs/cgroup/cpu" + group));
      if (group.empty()) break;
      group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    }
  }
  return smallest;
}

void read_names(const Tree& tree, MachineFacts& facts) {
  facts.kernel = tree.text("/proc/sys/kernel/osrelease");
  for (const std::string& line : tree.lines("/etc/os-release")) {
    if (const auto name = value_of(line, "PRETTY_NAME", '=')) facts.system = *name;
  }
  facts.product = tree.text("/sys/class/dmi/id/product_name");
  if (facts.product.empty()) facts.product = tree.text("/sys/hypervisor/type");
  facts.compiler = __VERSION__;
  for (const std::string& name : tree.folder("/etc/alternatives")) {
    if (name.starts_with("libblas.so.3")) facts.blas = tree.link("/etc/alternatives/" + name);
  }
}

}  // namespace

double steal_share(const CpuTimes& before, const CpuTimes& after) {
  const std::int64_t total = after.total - before.total;
  return total <= 0 ? 0 : static_cast<double>(after.steal - before.steal) / total;
}

CpuTimes read_cpu_times(const std::string& root) {
  CpuTimes times;
  const std::vector<std::string> lines = Tree(root).lines("/proc/stat");
  if (lines.empty()) return times;
  std::istringstream stream(lines[0]);
  std::string name;
  stream >> name;
  // user nice system idle iowait irq softirq steal; guest times behind are counted in user.
  std::int64_t ticks = 0;
  for (int field = 0; field < 8 && stream >> ticks; ++field) {
    times.total += ticks;
    if (field == 7) times.steal = ticks;
  }
  return times;
}

MachineFacts read_machine(const std::string& root) {
  const Tree tree(root);
  MachineFacts facts;
  read_cpuinfo(tree, facts);
  read_cpu_folders(tree, facts);
  read_meminfo(tree, facts);
  read_names(tree, facts);
  facts.load_1m = number<double>(tree.text("/proc/loadavg"));
  facts.cpu_times = read_cpu_times(root);
  facts.cgroup_cpus = read_quota(tree);
  return facts;
}

std::optional<std::int64_t> free_disk_bytes(const std::string& folder) {
  std::error_code code;
  const std::filesystem::space_info space = std::filesystem::space(folder, code);
  if (code) return std::nullopt;
  return static_cast<std::int64_t>(space.available);
}

Json to_json(const MachineFacts& facts) {
  Json caches = Json::array();
  for (const CpuCache& cache : facts.caches) {
    caches.push_back({{"level", cache.level}, {"type", cache.type}, {"bytes", cache.bytes}});
  }
  Json json = {{"cpu", facts.cpu_model},
               {"logical_cpus", facts.logical_cpus},
               {"physical_cores", facts.physical_cores},
               {"caches", caches},
               {"governors", facts.governors},
               {"load_1m", nullptr},
               {"cgroup_cpus", nullptr},
               {"hypervisor", facts.hypervisor},
               {"product", facts.product},
               {"kernel", facts.kernel},
               {"system", facts.system},
               {"compiler", facts.compiler},
               {"memory_bytes", facts.memory_bytes},
               {"available_bytes", facts.available_bytes},
               {"swap_bytes", facts.swap_bytes},
               {"swap_used_bytes", facts.swap_used_bytes},
               {"blas", facts.blas}};
  if (facts.load_1m) json["load_1m"] = *facts.load_1m;
  if (facts.cgroup_cpus) json["cgroup_cpus"] = *facts.cgroup_cpus;
  return json;
}

}  // namespace gradstone
