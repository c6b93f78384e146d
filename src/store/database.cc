// SPDX-License-Identifier: Apache-2.0
#include "store/database.h"

#include <sqlite3.h>

#include <cerrno>
#include <cmath>
#include <cstring>

namespace gradstone {
namespace {

// What SQLite says, as a kind, and what a person can do about it.
Error sqlite_error(sqlite3* database, int code, const std::string& path) {
  const int reason = sqlite3_system_errno(database);
  const std::string said = sqlite3_errmsg(database);
  const std::string place = "store " + path + ": ";
  if (reason == EFBIG) {
    return failed(place +
                  "the file has reached the limit on the size of files (ulimit -f); raise it "
                  "or name another place with --store");
  }
  switch (reason == ENOSPC ? SQLITE_FULL : code) {
    case SQLITE_TOOBIG:
      return failed(place + "a text or series is longer than the " +
                    std::to_string(sqlite3_limit(database, SQLITE_LIMIT_LENGTH, -1)) +
                    " bytes that SQLite holds; the record cannot be stored");
    case SQLITE_NOMEM:
      return Error{ErrorKind::kOutOfMemory, place + "no memory left"};
    case SQLITE_FULL:
      return failed(place + "the disk is full; free space or name another place with --store");
    case SQLITE_ERROR:  // our statements are fixed: a table or column is not as we make it
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return unreadable(place + "damaged or not a store (" + said +
                        "); move the file away or name another with --store");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return failed(place + "another program has kept it locked; try again when that has ended");
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return failed(place + "cannot be opened or written (" + said +
                    "); check the permissions of file and folder or name another with --store");
    default:
      return failed(place + said + "; name another place with --store");
  }
}

Error sqlite_error(sqlite3* database, const std::string& path) {
  return sqlite_error(database, sqlite3_errcode(database), path);
}

// SQLite reads some names as something else than a file: ":memory:", "file:...".
std::string plain_name(const std::string& path) {
  return path.starts_with('/') ? path : "./" + path;
}

// https://www.sqlite.org/uri.html
std::string uri_of(const std::string& path, std::string_view parameters) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-";
  constexpr std::string_view kHexDigits = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : plain_name(path)) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += {'%', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    }
  }
  return uri + "?" + std::string(parameters);
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

void Statement::note(int code) {
  if (bound_ == SQLITE_OK) bound_ = code;
}

void Statement::bind(int index, std::int64_t value) {
  note(sqlite3_bind_int64(handle_.get(), index, value));
}
void Statement::bind(int index, double value) {
  note(sqlite3_bind_double(handle_.get(), index, value));
}
void Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL in place of "".
  note(sqlite3_bind_text64(handle_.get(), index, text.empty() ? "" : text.data(), text.size(),
                           SQLITE_TRANSIENT, SQLITE_UTF8));
}
void Statement::bind(int index, std::span<const std::byte> bytes) {
  note(bytes.empty() ? sqlite3_bind_zeroblob(handle_.get(), index, 0)
                     : sqlite3_bind_blob64(handle_.get(), index, bytes.data(), bytes.size(),
                                           SQLITE_TRANSIENT));
}
void Statement::bind_null(int index) { note(sqlite3_bind_null(handle_.get(), index)); }

Result<bool> Statement::step() {
  if (bound_ != SQLITE_OK) return sqlite_error(sqlite3_db_handle(handle_.get()), bound_, *path_);
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return sqlite_error(sqlite3_db_handle(handle_.get()), *path_);
}

Status Statement::run() {
  while (TRY(step())) continue;
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
  bound_ = SQLITE_OK;
  return {};
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}
std::optional<double> Statement::number(int column) const {
  if (sqlite3_column_type(handle_.get(), column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(handle_.get(), column);
}
std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
  if (bytes == nullptr) return "";
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}
std::span<const std::byte> Statement::blob(int column) const {
  const auto* bytes =
      reinterpret_cast<const std::byte*>(sqlite3_column_blob(handle_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

Result<Database> Database::open_name(const std::string& name, const std::string& path, int flags) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
  Database database(handle, std::make_unique<std::string>(path));
  if (handle == nullptr) return Error{ErrorKind::kOutOfMemory, "store " + path + ": no memory"};
  if (code != SQLITE_OK) return sqlite_error(handle, path);
  sqlite3_extended_result_codes(handle, 0);
  return database;
}

Result<Database> Database::open(const std::string& path, bool create, int busy_ms) {
  const int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
  Database database = TRY(open_name(plain_name(path), path, flags));
  sqlite3_busy_timeout(database.handle_.get(), busy_ms);
  return database;
}

Result<Database> Database::open_unchanging(const std::string& path) {
  return open_name(uri_of(path, "immutable=1"), path, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

Status Database::execute(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return sqlite_error(handle_.get(), *path_);
  }
  return {};
}

Status Database::use_write_ahead_log(int wait_ms) {
  // SQLite does not wait by itself here.
  constexpr int kPauseMs = 5;
  for (int waited = 0;; waited += kPauseMs) {
    const int code =
        sqlite3_exec(handle_.get(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return {};
    if (code != SQLITE_BUSY || waited >= wait_ms) return sqlite_error(handle_.get(), *path_);
    sqlite3_sleep(kPauseMs);
  }
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) return sqlite_error(handle_.get(), *path_);
  return Statement(statement, path_.get());
}

Result<std::int64_t> Database::integer(std::string_view sql) {
  Statement statement = TRY(prepare(sql));
  if (!TRY(statement.step())) return failed("store " + *path_ + ": no row for " + std::string(sql));
  return statement.integer(0);
}

std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(handle_.get()); }

Result<Transaction> Transaction::begin(Database& database, Kind kind) {
  TRY(database.execute(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN"));
  return Transaction(database);
}

Transaction::~Transaction() {
  // Nothing to do if it fails: SQLite has then rolled back by itself.
  if (database_ != nullptr) (void)database_->execute("ROLLBACK");
}

Status Transaction::commit() {
  TRY(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace gradstone
