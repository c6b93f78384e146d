// SPDX-License-Identifier: Apache-2.0
#include "worker/data_feed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>

namespace gradstone {
namespace {

Status numbered(std::int64_t number, PreparedBatch& batch) {
  batch.samples = number;
  return {};
}

TEST(DataFeed, HandsOutInOrderAndEnds) {
  DataFeed feed(3, 100, numbered);
  for (std::int64_t i = 0; i < 100; ++i) {
    const auto batch = feed.next();
    ASSERT_TRUE(batch.ok());
    EXPECT_EQ((*batch)->samples, i);
  }
  EXPECT_EQ(feed.next().error().message, "the data feed has no further batch");
}

TEST(DataFeed, HeldBatchesAreNotOverwritten) {
  std::atomic<int> fills = 0;
  DataFeed feed(3, 0, [&](std::int64_t number, PreparedBatch& batch) {
    ++fills;
    return numbered(number, batch);
  });
  std::vector<std::shared_ptr<const PreparedBatch>> held;
  for (int i = 0; i < 3; ++i) held.push_back(feed.next().value());
  EXPECT_EQ(fills, 3);  // every buffer is held: the feed has nothing to fill
  std::set<const PreparedBatch*> buffers;
  for (const auto& batch : held) buffers.insert(batch.get());
  EXPECT_EQ(buffers.size(), 3u);
  const PreparedBatch* second = held[1].get();
  held.erase(held.begin() + 1);
  EXPECT_EQ(feed.next().value().get(), second);
  EXPECT_EQ(held[0]->samples, 0);
  EXPECT_EQ(held[1]->samples, 2);
}

TEST(DataFeed, BatchesOutliveTheFeed) {
  std::shared_ptr<const PreparedBatch> batch;
  {
    DataFeed feed(2, 0, numbered);
    feed.next().value().reset();
    batch = feed.next().value();
  }
  EXPECT_EQ(batch->samples, 1);
}

TEST(DataFeed, ErrorsComeAfterTheBatchesBefore) {
  DataFeed feed(4, 0, [](std::int64_t number, PreparedBatch& batch) -> Status {
    if (number == 2) throw std::runtime_error("broken file");
    return numbered(number, batch);
  });
  EXPECT_EQ(feed.next().value()->samples, 0);
  EXPECT_EQ(feed.next().value()->samples, 1);
  EXPECT_EQ(feed.next().error().message, "preparing a batch: broken file");
  DataFeed greedy(1, 0, [](std::int64_t, PreparedBatch&) -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(greedy.next().error().kind, ErrorKind::kOutOfMemory);
}

}  // namespace
}  // namespace gradstone
