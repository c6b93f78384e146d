// SPDX-License-Identifier: Apache-2.0
#include "worker/data_feed.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

namespace gradstone {

struct DataFeed::State {
  State(std::size_t depth, Fill fill_function) : slots(depth), fill(std::move(fill_function)) {
    for (PreparedBatch& slot : slots) free.push_back(&slot);
  }

  void recycle(PreparedBatch* slot) {
    {
      const std::lock_guard lock(mutex);
      free.push_back(slot);
    }
    changed.notify_all();
  }

  // The next free buffer; nullptr when the feed stops.
  PreparedBatch* wait_for_free() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stopping || !free.empty(); });
    if (stopping) return nullptr;
    PreparedBatch* slot = free.front();
    free.pop_front();
    return slot;
  }

  void publish(std::shared_ptr<const PreparedBatch> batch) {
    {
      const std::lock_guard lock(mutex);
      ready.push_back(std::move(batch));
    }
    changed.notify_all();
  }

  void end(Error reason) {
    {
      const std::lock_guard lock(mutex);
      ended = std::move(reason);
    }
    changed.notify_all();
  }

  std::vector<PreparedBatch> slots;
  Fill fill;
  std::thread thread;
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::deque<PreparedBatch*> free;
  std::deque<std::shared_ptr<const PreparedBatch>> ready;
  std::optional<Error> ended;  // no further batch will come
  bool stopping = false;
};

namespace {

Status guarded_fill(const DataFeed::Fill& fill, std::int64_t number, PreparedBatch& slot) {
  try {
    return fill(number, slot);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::kOutOfMemory, "no memory for a batch"};
  } catch (const std::exception& error) {
    return failed(std::string("preparing a batch: ") + error.what());
  }
}

}  // namespace

DataFeed::DataFeed(std::size_t depth, std::int64_t total, Fill fill)
    : state_(std::make_shared<State>(depth, std::move(fill))) {
  CHECK(depth > 0, "a feed needs a buffer");
  state_->thread = std::thread([state = state_, total] {
    for (std::int64_t number = 0; total == 0 || number < total; ++number) {
      PreparedBatch* slot = state->wait_for_free();
      if (slot == nullptr) return;
      const Status filled = guarded_fill(state->fill, number, *slot);
      if (!filled.ok()) return state->end(filled.error());
      // The owner is made here, so that handing a batch out allocates nothing.
      state->publish(std::shared_ptr<const PreparedBatch>(
          slot, [state, slot](const PreparedBatch*) { state->recycle(slot); }));
    }
    state->end(failed("the data feed has no further batch"));
  });
}

DataFeed::~DataFeed() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
  // Batches that nobody took own the state; let them go, or it would own itself.
  std::deque<std::shared_ptr<const PreparedBatch>> untaken;
  {
    const std::lock_guard lock(state_->mutex);
    untaken.swap(state_->ready);
  }
}

Result<std::shared_ptr<const PreparedBatch>> DataFeed::next() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return !state_->ready.empty() || state_->ended; });
  if (state_->ready.empty()) return *state_->ended;
  auto batch = std::move(state_->ready.front());
  state_->ready.pop_front();
  return batch;
}

}  // namespace gradstone
