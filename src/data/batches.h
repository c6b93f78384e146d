// SPDX-License-Identifier: Apache-2.0
// From samples to batches: in which order, and what is done to an image on the way. The same
// numbers for every engine. Not for threads: see worker/data_feed.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/data_set.h"
#include "graph/tensor.h"
#include "recipe/recipe.h"

namespace gradstone {

// The order of training: each epoch a new permutation, a pure function of (seed, epoch), cut into
// batches. kDrop leaves the last partial batch out, kWrap fills it up from the epoch's beginning,
// kSmaller yields it as it is.
class BatchOrder {
 public:
  // Usage error where no batch would come out.
  static Result<BatchOrder> make(std::int64_t count, std::int64_t batch, LastBatch last,
                                 std::uint64_t seed);

  std::int64_t batches_per_epoch() const { return batches_per_epoch_; }
  // Samples of batch `index` of an epoch, and of a whole epoch.
  std::int64_t batch_size(std::int64_t index) const;
  std::int64_t samples_per_epoch() const;
  // Sample numbers of batch `step` (from 0, counted over all epochs). Valid until the next call;
  // cheapest in ascending order, since one permutation is kept.
  std::span<const std::uint32_t> samples(std::int64_t step);

 private:
  BatchOrder() = default;

  std::int64_t count_ = 0, batch_ = 0, batches_per_epoch_ = 0;
  LastBatch last_ = LastBatch::kDrop;
  std::uint64_t seed_ = 0;
  std::int64_t epoch_ = -1;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> wrapped_;
};

// Evaluation goes through a split in order. The last batch is filled up by repeating the last
// sample; only the first `valid` samples count.
struct EvaluationBatch {
  std::vector<std::uint32_t> samples;
  std::int64_t valid = 0;
};
std::int64_t evaluation_batches(std::int64_t count, std::int64_t batch);
EvaluationBatch evaluation_batch(std::int64_t count, std::int64_t batch, std::int64_t index);

// Fills the tensors of a batch from a data set, which must outlive it. Thread-safe.
class BatchFiller {
 public:
  // `image` is the network's input [batch, channels, height, width] (batch is not looked at). Usage
  // error if images do not have that shape after `preprocess`, or labels reach `classes`.
  static Result<BatchFiller> make(const DataSet& data, const Preprocess& preprocess,
                                  const TensorType& image, std::int64_t classes);

  // `images` is float32 or float64 [samples, channels, height, width], `labels` int64 or int32
  // [samples].
  void fill(Split split, std::span<const std::uint32_t> samples, TensorSink images,
            TensorSink labels) const;

 private:
  explicit BatchFiller(const DataSet& data) : data_(&data) {}
  template <class T>
  void fill_images(Split split, std::span<const std::uint32_t> samples, T* target) const;

  const DataSet* data_;
  std::int64_t channels_ = 0, height_ = 0, width_ = 0;  // of the network's input
  std::vector<double> value_of_byte_;                   // [channels, 256]
};

}  // namespace gradstone
