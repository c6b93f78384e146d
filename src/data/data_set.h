// SPDX-License-Identifier: Apache-2.0
// Labelled images: real files in their published formats, and synthetic ones. Not for batches: see
// data/batches.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/dtype.h"

namespace gradstone {

// A data reference as typed: NAME[:PATH] or synthetic[:key=value,...].
//
//   fashion-mnist[:DIR]  IDX files, gzipped or not; default: Debian's dataset-fashion-mnist
//   mnist:DIR            the same four files
//   cifar10:DIR          binary version: data_batch_1..5.bin, test_batch.bin
//   synthetic[:shape=3x64x64,classes=10,train=4096,test=1024,seed=1]
//
// A part that is left out of synthetic comes from what the workload needs.
struct DataReference {
  std::string name;
  std::string path;
  Shape shape;  // synthetic only
  std::int64_t classes = 0, train_count = 0, test_count = 0;
  std::uint64_t seed = 1;
};
// Usage error for an unknown name, with the nearest one.
Result<DataReference> parse_data_reference(std::string_view text);
std::string to_string(const DataReference& reference);

// What can be named, for `gradstone list data`.
struct DataForm {
  std::string_view name, form, help;  // form: how it is typed
};
std::vector<DataForm> data_forms();

enum class Split { kTrain, kTest };

class DataSet {
 public:
  virtual ~DataSet() = default;
  virtual std::int64_t count(Split split) const = 0;
  virtual const Shape& sample_shape() const = 0;  // {channels, height, width}
  virtual std::int64_t classes() const = 0;
  // Bytes of sample `index`, channels first, and its label. Thread-safe.
  virtual void read(Split split, std::int64_t index, std::span<std::uint8_t> pixels) const = 0;
  virtual std::int64_t label(Split split, std::int64_t index) const = 0;
  // XXH3-128 as hex; recorded with every run. Of files: over the training split's pixels and
  // labels, then the test split's. Of synthetic images: over everything they are computed from.
  virtual std::string checksum() const = 0;
};

// Reads and checks a data set: magic numbers, sizes, label range. Errors are unreadable and name
// file and byte offset. `needed` fills what a synthetic reference leaves open.
struct DataNeed {
  Shape sample_shape;
  std::int64_t classes = 10;
};
Result<std::unique_ptr<DataSet>> open_data(const DataReference& reference, const DataNeed& needed);

// DataSet::checksum of the published files, where it is known. A data set that differs is no error,
// but a fact of the run.
std::optional<std::string_view> published_checksum(std::string_view name);

}  // namespace gradstone
