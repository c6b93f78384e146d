// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/suggest.h"
#include "store/record_rows.h"

namespace gradstone {
namespace {

constexpr std::size_t kMostRecordBytes = std::size_t{4} << 30;

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Weights end so.
constexpr std::string_view kWeightsEnd = ".safetensors";

// Why no run could be named by it again; "" where it could.
std::string fault_of_name(std::string_view name) {
  if (std::string_view("@-[").find(name[0]) != std::string_view::npos) {
    return "cannot be named again: it begins with @, - or [";
  }
  if (is_record_file(name) || name.ends_with(kWeightsEnd)) {
    return "cannot be named again: it reads as a file";
  }
  return "";
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

// A record is written where this is, or nowhere.
Status try_to_write(Database& database) {
  TRY(check_columns(database));
  Transaction transaction = TRY(Transaction::begin(database, Transaction::Kind::kWrite));
  TRY(is_store(database));  // a newer program may have come in between
  TRY(database.execute(("PRAGMA user_version = " + std::to_string(kStoreVersion)).c_str()));
  return transaction.commit();
}

// Where neither the file nor its folder can be written SQLite cannot make the files that it keeps
// beside a store, and needs none if the last writer has left none.
Result<Database> open_to_read(const std::string& path, int busy_ms) {
  Database database = TRY(Database::open(path, false, busy_ms));
  if (database.integer("SELECT count(*) FROM sqlite_master").ok()) return database;
  std::error_code code;
  const auto waiting = std::filesystem::file_size(path + "-wal", code);
  const bool whole = code || waiting == 0;
  const bool writable =
      ::access(path.c_str(), W_OK) == 0 && ::access(folder_of(path).c_str(), W_OK) == 0;
  if (!whole || writable) return database;
  return Database::open_unchanging(path);
}

Error no_store(const std::string& path) {
  return failed("store " + path +
                ": there is none yet; `gradstone run` makes it, or name one with --store");
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
  const auto refused = [&](const std::string& reason) {
    return usage_error("'" + std::string(label) + "' " + reason + "; choose another");
  };
  if (label.empty()) return usage_error("a label needs at least one character");
  if (const std::string fault = fault_of_name(label); !fault.empty()) return refused(fault);
  if (looks_like_id(label)) return refused("reads as the id of a run");
  return {};
}

Result<Store> Store::open(const std::string& path, Mode mode, int busy_ms) {
  if (mode == Mode::kRead) {
    if (!path_exists(path)) return no_store(path);
    Database database = TRY(open_to_read(path, busy_ms));
    if (!TRY(is_store(database))) return no_store(path);
    return Store(std::move(database));
  }
  const Status made = make_folders(folder_of(path));
  if (!made.ok()) {
    return failed("store " + path + ": " + made.error().message +
                  "; name another place with --store");
  }
  Database database = TRY(Database::open(path, true, busy_ms));
  TRY(database.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"));
  TRY(prepare_tables(database));
  TRY(database.use_write_ahead_log(busy_ms));
  TRY(try_to_write(database));
  return Store(std::move(database));
}

namespace {

// Of a record that somebody else wrote.
Status check_names(const RunRecord& record) {
  const auto refused = [&](const char* what, const std::string& name, const std::string& fault) {
    return unreadable("run " + record.id + ": " + what + " '" + name + "' " + fault +
                      "; change it in the file");
  };
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  for (const auto& [what, name] : {std::pair("id", record.id), std::pair("label", record.label),
                                   std::pair("plan", record.plan)}) {
    if (name.empty()) continue;
    if (std::any_of(name.begin(), name.end(), is_control)) {
      return refused(what, "", "has control characters");
    }
    if (const std::string fault = fault_of_name(name); !fault.empty()) {
      return refused(what, name, fault);
    }
  }
  if (looks_like_id(record.label)) {
    return refused("label", record.label, "reads as the id of a run");
  }
  return {};
}

}  // namespace

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
  for (const RunRecord& record : records) TRY(check_names(record));
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

bool is_record_file(std::string_view name) {
  return name.ends_with(".json") || name.find('/') != std::string_view::npos;
}

namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Whether the text begins with a whole document of its own, as JSON lines do.
bool is_first_of_lines(std::string_view text) {
  const Result<Json> first = parse_json(take_line(text));
  return first.ok() && first->is_object();
}

Result<std::vector<RunRecord>> read_lines(std::string_view text) {
  std::vector<RunRecord> records;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto read_line = [&]() -> Result<std::vector<RunRecord>> {
      return records_from_json(TRY(parse_json(line)));
    };
    std::vector<RunRecord> found = TRY(read_line().within("line " + std::to_string(number)));
    records.insert(records.end(), std::make_move_iterator(found.begin()),
                   std::make_move_iterator(found.end()));
  }
  return records;
}

}  // namespace

Result<std::vector<RunRecord>> read_records(const std::string& path) {
  const Result<std::string> text = read_file(path, kMostRecordBytes);
  if (!text.ok()) return unreadable(text.error().message);
  const Result<Json> json = parse_json(*text);
  if (json.ok()) return records_from_json(*json).within(path);
  if (is_first_of_lines(*text)) return read_lines(*text).within(path);
  return json.error().within(path);
}

Result<std::vector<RunRecord>> find_records(std::string_view name, const std::string& store) {
  if (is_record_file(name)) {
    return read_records(std::string(name));
  }
  Store open_store = TRY(Store::open(store, Store::Mode::kRead));
  return open_store.find(name);
}

void remove_repetitions(std::vector<RunRecord>& records) {
  std::set<std::string> seen;
  std::erase_if(records, [&](const RunRecord& record) { return !seen.insert(record.id).second; });
}

std::string weights_folder(const std::string& store) { return folder_of(store) + "/weights"; }

std::string weights_path(const std::string& store, std::string_view content_hash) {
  return weights_folder(store) + "/" + std::string(content_hash) + std::string(kWeightsEnd);
}

bool is_content_hash(std::string_view text) {
  constexpr std::size_t kDigits = 32;  // of XXH3-128
  return text.size() == kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
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
