// SPDX-License-Identifier: Apache-2.0
#include "engines/torch/facts.h"

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "engines/torch/aten.h"

#pragma push_macro("CHECK")
#undef CHECK
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#undef CHECK
#pragma pop_macro("CHECK")

namespace gradstone::torch_engine {
namespace {

// File names of the libraries in this process.
std::vector<std::string> loaded_libraries() {
  std::vector<std::string> names;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t slash = line.rfind('/');
    if (slash == std::string::npos || line.find(".so", slash) == std::string::npos) continue;
    std::string name = line.substr(slash + 1);
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

std::string first_starting_with(const std::vector<std::string>& names,
                                const std::vector<std::string_view>& prefixes) {
  for (const std::string_view prefix : prefixes) {
    for (const std::string& name : names) {
      if (std::string_view(name).substr(0, prefix.size()) == prefix) return name;
    }
  }
  return "";
}

// The value of KEY=value in the framework's build settings.
std::string build_setting(const std::string& config, std::string_view key) {
  const std::size_t start = config.find(std::string(key) + "=");
  if (start == std::string::npos) return "";
  const std::size_t value = start + key.size() + 1;
  return config.substr(value, config.find(',', value) - value);
}

// "GCC 12.2; C++ Version: 201402; ...": the framework's list without its compiler flags.
std::string one_line(const std::string& config) {
  std::istringstream lines(config);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t item = line.find("- ");
    if (item == std::string::npos || line.find("Build settings") != std::string::npos) continue;
    result += (result.empty() ? "" : "; ") + line.substr(item + 2);
  }
  return result;
}

// The BLAS that is called: Debian's alternatives decide it when the process starts.
std::string blas_name(const std::vector<std::string>& libraries, const std::string& config) {
  const std::string found = first_starting_with(
      libraries, {"libopenblas", "libmkl_rt", "libmkl_core", "libblis", "libatlas"});
  if (!found.empty()) return found;
  if (build_setting(config, "BLAS_INFO") == "mkl") return "mkl, linked statically";
  const std::string plain = first_starting_with(libraries, {"libblas"});
  return plain.empty() ? "unknown" : "reference (" + plain + ")";
}

}  // namespace

std::map<std::string, std::string> framework_facts() {
  const std::string config = at::show_config();
  const std::vector<std::string> libraries = loaded_libraries();
  std::map<std::string, std::string> facts;
  facts["build"] = one_line(config);
  facts["says"] = build_setting(config, "TORCH_VERSION");
  facts["blas"] = blas_name(libraries, config);
  facts["openmp"] = first_starting_with(libraries, {"libgomp", "libomp", "libiomp"});
  facts["onednn"] = !at::hasMKLDNN()                          ? "not built"
                    : at::globalContext().userEnabledMkldnn() ? "on"
                                                              : "off";
  facts["threads"] = std::to_string(at::get_num_threads());
  for (const char* name : {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OMP_PROC_BIND", "GOMP_SPINCOUNT",
                           "GOMP_CPU_AFFINITY", "KMP_BLOCKTIME", "MKL_NUM_THREADS",
                           "OPENBLAS_NUM_THREADS", "ATEN_CPU_CAPABILITY", "DNNL_MAX_CPU_ISA"}) {
    if (const char* value = std::getenv(name)) facts[name] = value;
  }
  return facts;
}

void set_blas_threads(int threads) {
  using SetThreads = void (*)(int);
  const auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  if (set != nullptr) set(threads);
}

}  // namespace gradstone::torch_engine
