// SPDX-License-Identifier: Apache-2.0
// Data references: their text, and the table of what can be opened.
#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "base/suggest.h"
#include "base/units.h"
#include "data/data_set.h"
#include "data/real_data.h"
#include "data/synthetic.h"

namespace gradstone {
namespace {

using Opened = Result<std::unique_ptr<DataSet>>;

Opened open_fashion_mnist(const DataReference& reference, const DataNeed&) {
  return open_idx_folder(
      reference.path.empty() ? std::string(kFashionMnistFolder) : reference.path,
      reference.path.empty()
          ? "install the files with: apt install --reinstall dataset-fashion-mnist"
          : "fetch the file again, or leave the folder out and: apt install "
            "dataset-fashion-mnist");
}

Opened open_mnist(const DataReference& reference, const DataNeed&) {
  return open_idx_folder(reference.path, "fetch the four MNIST files again");
}

Opened open_cifar10(const DataReference& reference, const DataNeed&) {
  return open_cifar10_folder(reference.path,
                             "unpack cifar-10-binary.tar.gz again and name its folder "
                             "cifar-10-batches-bin");
}

Opened open_completed_synthetic(const DataReference& reference, const DataNeed& need) {
  DataReference complete = reference;
  if (complete.shape.empty()) complete.shape = need.sample_shape;
  if (complete.classes == 0) complete.classes = need.classes;
  if (complete.train_count == 0) complete.train_count = kSyntheticTrainCount;
  if (complete.test_count == 0) complete.test_count = kSyntheticTestCount;
  return open_synthetic(complete);
}

struct DataKind {
  std::string_view name;
  bool needs_path = false;
  Opened (*open)(const DataReference&, const DataNeed&) = nullptr;
  std::string_view published;  // checksum of the published files; "" where not known
  std::string_view form;       // as typed
  std::string_view help;
};
constexpr std::array<DataKind, 4> kDataKinds = {
    {{"fashion-mnist", false, open_fashion_mnist, "8d318bb03940bca10587b0053857f5b7",
      "fashion-mnist[:FOLDER]",
      "28x28 grey images of clothes, 10 classes; IDX files, by default of Debian's "
      "dataset-fashion-mnist"},
     {"mnist", true, open_mnist, "", "mnist:FOLDER",
      "28x28 grey handwritten digits; the four IDX files, gzipped or not"},
     {"cifar10", true, open_cifar10, "", "cifar10:FOLDER",
      "32x32 colour images, 10 classes; the binary version"},
     {"synthetic", false, open_completed_synthetic, "",
      "synthetic[:shape=3x64x64,classes=10,train=4096,test=1024,seed=1]",
      "images made up from a seed, learnable; what is left out comes from the workload"}}};
constexpr std::string_view kSynthetic = "synthetic";

const DataKind* find_kind(std::string_view name) {
  for (const DataKind& kind : kDataKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

Error unknown_name(std::string_view name) {
  std::vector<std::string_view> names;
  std::string known;
  for (const DataKind& kind : kDataKinds) {
    names.push_back(kind.name);
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  const std::string hint = did_you_mean(name, names);
  return usage_error("unknown data '" + std::string(name) + "'" +
                     (hint.empty() ? "; known are " + known : hint));
}

// Samples are numbered by 32 bits.
constexpr std::int64_t kMostCount = std::numeric_limits<std::uint32_t>::max();

Result<std::int64_t> parse_count(std::string_view text) {
  return parse_integer<std::int64_t>(text, 1, kMostCount);
}

// The text up to `separator`, which is taken off `rest` with it.
std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

Result<Shape> parse_shape(std::string_view text) {
  Shape shape;
  const auto crosses = std::count(text.begin(), text.end(), 'x');
  while (!text.empty()) shape.push_back(TRY(parse_count(take_until(text, 'x'))));
  if (shape.size() != 3 || crosses != 2) return usage_error("expected three extents as in 3x64x64");
  return shape;
}

Status set_synthetic(DataReference& reference, std::string_view key, std::string_view value) {
  if (key == "shape") {
    reference.shape = TRY(parse_shape(value));
  } else if (key == "classes") {
    reference.classes = TRY(parse_count(value));
  } else if (key == "train") {
    reference.train_count = TRY(parse_count(value));
  } else if (key == "test") {
    reference.test_count = TRY(parse_count(value));
  } else if (key == "seed") {
    reference.seed = TRY(parse_integer<std::uint64_t>(value));
  } else {
    return usage_error("unknown; known are shape, classes, train, test, seed");
  }
  return {};
}

}  // namespace

Result<DataReference> parse_data_reference(std::string_view text) {
  DataReference reference;
  std::string_view rest = text;
  const bool has_rest = text.find(':') != std::string_view::npos;
  reference.name = take_until(rest, ':');
  const DataKind* kind = find_kind(reference.name);
  if (kind == nullptr) return unknown_name(reference.name);
  if (reference.name != kSynthetic) {
    reference.path = rest;
    if (reference.path.empty() && (kind->needs_path || has_rest)) {
      return usage_error("data " + reference.name + ": name its folder as in " + reference.name +
                         ":FOLDER");
    }
    return reference;
  }
  if (has_rest && (rest.empty() || rest.ends_with(','))) {
    return usage_error("data synthetic: expected key=value after '" +
                       std::string(text.substr(text.size() - 1)) + "'");
  }
  std::set<std::string_view> seen;
  while (!rest.empty()) {
    std::string_view value = take_until(rest, ',');
    const std::string_view key = take_until(value, '=');
    if (!seen.insert(key).second) {
      return usage_error("data synthetic: " + std::string(key) + " is given twice; give it once");
    }
    TRY(set_synthetic(reference, key, value).within("data synthetic: " + std::string(key)));
  }
  return reference;
}

std::string to_string(const DataReference& reference) {
  if (reference.name != kSynthetic) {
    return reference.path.empty() ? reference.name : reference.name + ":" + reference.path;
  }
  std::string text;
  const auto add = [&](std::string_view key, const std::string& value) {
    text += (text.empty() ? ":" : ",") + std::string(key) + "=" + value;
  };
  std::string shape;
  for (const std::int64_t extent : reference.shape) {
    shape += (shape.empty() ? "" : "x") + std::to_string(extent);
  }
  if (!shape.empty()) add("shape", shape);
  if (reference.classes > 0) add("classes", std::to_string(reference.classes));
  if (reference.train_count > 0) add("train", std::to_string(reference.train_count));
  if (reference.test_count > 0) add("test", std::to_string(reference.test_count));
  if (reference.seed != DataReference{}.seed) add("seed", std::to_string(reference.seed));
  return reference.name + text;
}

Result<std::unique_ptr<DataSet>> open_data(const DataReference& reference, const DataNeed& needed) {
  const DataKind* kind = find_kind(reference.name);
  if (kind == nullptr) return unknown_name(reference.name);
  return kind->open(reference, needed).within("data " + reference.name);
}

std::vector<DataForm> data_forms() {
  std::vector<DataForm> forms;
  for (const DataKind& kind : kDataKinds) forms.push_back({kind.name, kind.form, kind.help});
  return forms;
}

std::optional<std::string_view> published_checksum(std::string_view name) {
  const DataKind* kind = find_kind(name);
  if (kind == nullptr || kind->published.empty()) return std::nullopt;
  return kind->published;
}

}  // namespace gradstone
