// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <filesystem>

#include "base/files.h"
#include "base/suggest.h"
#include "store/record_rows.h"

namespace gradstone {
namespace {

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// A file of records rather than a name.
bool is_record_file(std::string_view name) {
  return name.ends_with(".json") || name.find('/') != std::string_view::npos;
}

// As new_id of run/plan.h makes them: 20261130-093512-3fa9c1.
bool looks_like_id(std::string_view text) {
  constexpr std::string_view kForm = "dddddddd-dddddd-xxxxxx";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view allowed = kForm[i] == 'd'   ? "0123456789"
                                     : kForm[i] == 'x' ? "0123456789abcdef"
                                                       : "-";
    if (allowed.find(text[i]) == std::string_view::npos) return false;
  }
  return true;
}

Error not_ours(const std::string& path, const std::string& what) {
  return unreadable("store " + path + ": " + what + "; name another file with --store");
}

// True: a store of this version. False: an empty file. An error for everything else.
Result<bool> is_store(Database& database) {
  const std::int64_t application = TRY(database.integer("PRAGMA application_id"));
  const std::int64_t version = TRY(database.integer("PRAGMA user_version"));
  if (application == kStoreApplication && version == kStoreVersion) {
    const std::int64_t tables = TRY(database.integer(
        "SELECT count(*) FROM sqlite_master WHERE name IN ('runs', 'metrics', 'series')"));
    if (tables == 3) return true;
    return not_ours(database.path(), "damaged: a table is missing");
  }
  if (application == kStoreApplication && version < kStoreVersion) {
    return not_ours(database.path(), "damaged: schema " + std::to_string(version));
  }
  if (application == kStoreApplication) {
    return not_ours(database.path(), "written by a newer Gradstone (schema " +
                                         std::to_string(version) + ", this one knows " +
                                         std::to_string(kStoreVersion) + ")");
  }
  if (TRY(database.integer("SELECT count(*) FROM sqlite_master")) > 0 || application != 0) {
    return not_ours(database.path(), "an SQLite database, but not of Gradstone");
  }
  return false;
}

// Makes the tables of an empty file; refuses what is not ours.
Status prepare_tables(Database& database) {
  {
    // In one snapshot: else what another program makes meanwhile would look like a foreign file.
    const Transaction snapshot = TRY(Transaction::begin(database, Transaction::Kind::kRead));
    if (TRY(is_store(database))) return {};
  }
  Transaction transaction = TRY(Transaction::begin(database, Transaction::Kind::kWrite));
  if (TRY(is_store(database))) return {};  // another program was first
  TRY(database.execute(kCreateTables));
  const std::string pragmas = "PRAGMA application_id = " + std::to_string(kStoreApplication) +
                              "; PRAGMA user_version = " + std::to_string(kStoreVersion);
  TRY(database.execute(pragmas.c_str()));
  return transaction.commit();
}

Result<std::vector<std::string>> texts(Database& database, std::string_view sql,
                                       std::optional<std::string_view> argument = {}) {
  Statement query = TRY(database.prepare(sql));
  if (argument) query.bind(1, *argument);
  std::vector<std::string> found;
  while (TRY(query.step())) found.push_back(query.text(0));
  return found;
}

}  // namespace

Result<std::string> store_path(std::string_view option,
                               const std::function<std::string(const char*)>& variable) {
  if (!option.empty()) return std::string(option);
  if (const std::string named = variable("GRADSTONE_STORE"); !named.empty()) return named;
  // The XDG base directory specification says to ignore a relative path.
  if (const std::string data = variable("XDG_DATA_HOME"); data.starts_with('/')) {
    return data + "/gradstone/records.db";
  }
  if (const std::string home = variable("HOME"); !home.empty()) {
    return home + "/.local/share/gradstone/records.db";
  }
  return usage_error("no place for the store: HOME is not set; name a file with --store");
}

Status check_label(std::string_view label) {
  const auto refused = [&](const char* reason) {
    return usage_error("'" + std::string(label) + "' " + reason + "; choose another");
  };
  if (label.empty()) return usage_error("a label needs at least one character");
  if (std::string_view("@-[").find(label[0]) != std::string_view::npos) {
    return refused("cannot be named again: it begins with @, - or [");
  }
  if (is_record_file(label) || label.ends_with(".safetensors")) {
    return refused("cannot be named again: it reads as a file");
  }
  if (looks_like_id(label)) return refused("reads as the id of a run");
  return {};
}

Result<Store> Store::open(const std::string& path, Mode mode, int busy_ms) {
  const bool create = mode == Mode::kCreate;
  if (create) {
    const Status made = make_folders(folder_of(path));
    if (!made.ok()) {
      return failed("store " + path + ": " + made.error().message +
                    "; name another place with --store");
    }
  } else if (!path_exists(path)) {
    return failed("store " + path +
                  ": there is none yet; `gradstone run` makes it, or name one "
                  "with --store");
  }
  Database database = TRY(Database::open(path, create, busy_ms));
  TRY(database.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"));
  TRY(prepare_tables(database));
  TRY(database.use_write_ahead_log(busy_ms));
  return Store(std::move(database));
}

Status Store::insert(const RunRecord& record) {
  const std::vector<std::string> taken =
      TRY(texts(database_, "SELECT id FROM runs WHERE id = ?", record.id));
  if (!taken.empty()) {
    return failed("store " + path() + ": run " + record.id + " is there already");
  }
  return insert_rows(database_, record);
}

Status Store::put(const RunRecord& record) {
  Transaction transaction = TRY(Transaction::begin(database_, Transaction::Kind::kWrite));
  TRY(insert(record));
  return transaction.commit();
}

Result<std::size_t> Store::import(const std::vector<RunRecord>& records) {
  Transaction transaction = TRY(Transaction::begin(database_, Transaction::Kind::kWrite));
  std::size_t added = 0;
  for (const RunRecord& record : records) {
    const std::optional<RunRecord> present = TRY(load_rows(database_, record.id));
    if (present && to_json(*present) == to_json(record)) continue;
    if (present) {
      return unreadable("run " + record.id + ": another record of this id is in " + path() +
                        "; import into another with --store");
    }
    TRY(insert(record));
    ++added;
  }
  TRY(transaction.commit());
  return added;
}

Result<std::vector<std::string>> Store::ids_beginning(std::string_view name) {
  std::vector<std::string> ids = TRY(texts(
      database_, "SELECT id FROM runs WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id", name));
  if (ids.size() == 1) return ids;
  if (ids.size() > 1) {
    return usage_error("'" + std::string(name) + "' begins " + std::to_string(ids.size()) +
                       " ids (" + ids[0] + ", " + ids[1] + (ids.size() > 2 ? ", ..." : "") +
                       "); give more of it");
  }
  const std::vector<std::string> labels = TRY(texts(database_, "SELECT DISTINCT label FROM runs"));
  const std::string hint =
      did_you_mean(name, std::vector<std::string_view>(labels.begin(), labels.end()));
  return usage_error("no run, label or plan is called '" + std::string(name) + "' in " + path() +
                     (hint.empty() ? "; see `gradstone list runs`" : hint));
}

Result<std::vector<std::string>> Store::ids_named(std::string_view name) {
  if (name == "@last") {
    std::vector<std::string> ids =
        TRY(texts(database_,
                  "SELECT id FROM runs WHERE plan = (SELECT plan FROM runs "
                  "ORDER BY started_ms DESC, number DESC LIMIT 1) ORDER BY started_ms, number"));
    if (ids.empty()) {
      return failed("store " + path() + ": it holds no runs yet; `gradstone run` makes some");
    }
    return ids;
  }
  if (name.empty()) return usage_error("a run is named by id, label, plan, @last or a JSON file");
  for (const char* column : {"id", "label", "plan"}) {
    std::vector<std::string> ids = TRY(texts(
        database_,
        std::string("SELECT id FROM runs WHERE ") + column + " = ? ORDER BY started_ms, number",
        name));
    if (!ids.empty()) return ids;
  }
  return ids_beginning(name);
}

Result<std::vector<RunRecord>> Store::load(const std::vector<std::string>& ids) {
  std::vector<RunRecord> records;
  for (const std::string& id : ids) {
    std::optional<RunRecord> record = TRY(load_rows(database_, id));
    if (record) records.push_back(*std::move(record));
  }
  return records;
}

Result<std::vector<RunRecord>> Store::find(std::string_view name) {
  const Transaction snapshot = TRY(Transaction::begin(database_, Transaction::Kind::kRead));
  return load(TRY(ids_named(name)));
}

Result<std::vector<RunRecord>> Store::all_figures() {
  const Transaction snapshot = TRY(Transaction::begin(database_, Transaction::Kind::kRead));
  std::vector<RunRecord> records;
  for (const std::string& id :
       TRY(texts(database_, "SELECT id FROM runs ORDER BY started_ms, number"))) {
    std::optional<RunRecord> record = TRY(load_figures(database_, id));
    if (record) records.push_back(*std::move(record));
  }
  return records;
}

Result<std::vector<RunRecord>> Store::all() {
  const Transaction snapshot = TRY(Transaction::begin(database_, Transaction::Kind::kRead));
  return load(TRY(texts(database_, "SELECT id FROM runs ORDER BY started_ms, number")));
}

Result<std::vector<RunRecord>> read_records(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text.ok()) return unreadable(text.error().message);
  const Result<Json> json = parse_json(*text);
  if (!json.ok()) return json.error().within(path);
  return records_from_json(*json).within(path);
}

Result<std::vector<RunRecord>> find_records(std::string_view name, const std::string& store) {
  if (is_record_file(name)) {
    return read_records(std::string(name));
  }
  Store open_store = TRY(Store::open(store, Store::Mode::kExisting));
  return open_store.find(name);
}

std::string weights_folder(const std::string& store) { return folder_of(store) + "/weights"; }

std::string weights_path(const std::string& store, std::string_view content_hash) {
  return weights_folder(store) + "/" + std::string(content_hash) + ".safetensors";
}

Status keep_weights(const std::string& store, const std::string& file,
                    std::string_view content_hash) {
  const std::string target = weights_path(store, content_hash);
  std::error_code code;
  if (std::filesystem::exists(target, code)) {
    std::filesystem::remove(file, code);
    return {};
  }
  TRY(make_folders(folder_of(target)));
  std::filesystem::rename(file, target, code);
  if (!code) return {};
  // Another file system: copy.
  AtomicFile copy = TRY(AtomicFile::create(target));
  TRY(copy.write(TRY(read_file(file))));
  TRY(copy.commit());
  std::filesystem::remove(file, code);
  return {};
}

}  // namespace gradstone
