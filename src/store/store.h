// SPDX-License-Identifier: Apache-2.0
// Records in and out of one SQLite file (docs/store.md); weights beside it. Several programs may
// read and write at the same time. A record that `put` has accepted survives kill -9 and loss of
// power.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "store/database.h"

namespace gradstone {

// Where the store is: `option` (--store), GRADSTONE_STORE, then gradstone/records.db in the XDG
// data folder. `variable` reads the environment and answers "" for what is not set. Usage error
// where neither those nor HOME is set.
Result<std::string> store_path(std::string_view option,
                               const std::function<std::string(const char*)>& variable);

// Whether it has the form of weights_path's hash, and so names a file in that folder.
bool is_content_hash(std::string_view text);

// Usage error, with the reason, for a label by which no run could ever be named again: one that
// `find_records`, or a command line, reads as something else.
Status check_label(std::string_view label);

class Store {
 public:
  enum class Mode {
    kRead,   // failed where there is no file; works where nothing may be written
    kWrite,  // makes file and folders
  };
  // Unreadable for a file that is damaged, not a store, or of a newer Gradstone. With kWrite failed
  // where a record could not be written now, which is tried. `busy_ms`: how long to wait for another
  // program that writes.
  static Result<Store> open(const std::string& path, Mode mode, int busy_ms = 30'000);

  // One transaction, on disk when it returns. Failed if the id is taken.
  Status put(const RunRecord& record);
  // All or none. Records that are here already, unchanged, are skipped; answers how many are new.
  // Unreadable for an id that is taken by another record, and for an id, label or plan by which the
  // run could not be named again.
  Result<std::size_t> import(const std::vector<RunRecord>& records);

  // By start, oldest first. `where` of the functions below is the name a person typed: an id, a
  // label, the id of a plan, @last (the plan started last), or the beginning of one id; tried in
  // this order. Usage error with the nearest name if nothing matches, or if a beginning is not
  // unique.
  Result<std::vector<RunRecord>> find(std::string_view name);
  Result<std::vector<RunRecord>> all();
  // All without context and samples, which are the bulk and need not be whole for a list.
  Result<std::vector<RunRecord>> all_figures();

  const std::string& path() const { return database_.path(); }

 private:
  explicit Store(Database database) : database_(std::move(database)) {}
  Result<std::vector<std::string>> ids_named(std::string_view name);
  Result<std::vector<std::string>> ids_beginning(std::string_view name);
  Result<std::vector<RunRecord>> load(const std::vector<std::string>& ids);
  Status insert(const RunRecord& record);
  Database database_;
};

// The records of a JSON file (docs/record-json.md). Unreadable, with its path.
Result<std::vector<RunRecord>> read_records(const std::string& path);

// A file of records rather than a name: ends in .json or holds a '/'.
bool is_record_file(std::string_view name);
// `find`, where a name that ends in .json or holds a '/' is such a file and the store is
// not opened.
Result<std::vector<RunRecord>> find_records(std::string_view name, const std::string& store);

// Each run once, where it was named first.
void remove_repetitions(std::vector<RunRecord>& records);

// Weights are kept as weights/<content hash>.safetensors beside the store.
std::string weights_folder(const std::string& store);
std::string weights_path(const std::string& store, std::string_view content_hash);
// Moves a file there, whole or not at all; where the content is there already, drops it.
Status keep_weights(const std::string& store, const std::string& file,
                    std::string_view content_hash);

}  // namespace gradstone
