// SPDX-License-Identifier: Apache-2.0
#include "conformance/data_sets.h"

#include <filesystem>

#include "base/files.h"

namespace gradstone {
namespace {

constexpr std::string_view kDebianFolder = "/usr/share/libonnx-testdata/data/";
constexpr std::string_view kSetStart = "test_data_set_";

// PREFIX_0.pb, PREFIX_1.pb, ... as far as they go.
std::vector<std::string> numbered(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> files;
  for (;;) {
    std::string path = folder + "/" + prefix + "_" + std::to_string(files.size()) + ".pb";
    if (!path_exists(path)) return files;
    files.push_back(std::move(path));
  }
}

void add_data_sets(const std::string& folder, const std::string& name,
                   std::vector<DataSetFiles>& sets) {
  const std::string model = folder + "/model.onnx";
  if (!path_exists(model)) return;
  std::size_t count = 0;
  for (const std::string& entry : list_folder(folder)) {
    if (!entry.starts_with(kSetStart)) continue;
    const std::string set = folder + "/" + entry;
    const std::string suffix = count == 0 ? "" : "/" + std::to_string(count);
    sets.push_back({name + suffix, model, numbered(set, "input"), numbered(set, "output")});
    ++count;
  }
}

}  // namespace

std::vector<std::string> default_suites() {
  std::vector<std::string> suites;
  for (const char* suite : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    suites.push_back(std::string(kDebianFolder) + suite);
  }
  return suites;
}

Result<std::vector<DataSetFiles>> find_data_sets(const std::vector<std::string>& suites) {
  std::vector<DataSetFiles> sets;
  for (const std::string& suite : suites) {
    const std::filesystem::path path = std::filesystem::path(suite).lexically_normal();
    const std::string name =
        (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
    const std::size_t before = sets.size();
    for (const std::string& model : list_folder(suite)) {
      add_data_sets(suite + "/" + model, name + "/" + model, sets);
    }
    if (sets.size() > before) continue;
    return failed("suite '" + suite + "': " +
                  (path_exists(suite) ? "no data sets in it" : "no such folder") +
                  "; ONNX's own come with `apt-get install libonnx-testdata`, others are named by "
                  "--suite DIR");
  }
  return sets;
}

}  // namespace gradstone
