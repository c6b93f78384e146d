// SPDX-License-Identifier: Apache-2.0
// SQLite with errors as values and handles that close themselves. What is stored in it is
// store.h's; SQL stands there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace gradstone {

// One prepared statement. Must not outlive its Database.
class Statement {
 public:
  // Parameters count from 1. NaN is stored as NULL.
  void bind(int index, std::int64_t value);
  void bind(int index, double value);
  void bind(int index, std::string_view text);
  void bind(int index, std::span<const std::byte> bytes);
  void bind_null(int index);

  // True: a row is there. False: done. A binding that did not succeed is an error here.
  Result<bool> step();
  // Runs to its end and makes it ready for the next bindings.
  Status run();

  // Columns count from 0. Views live until the next step.
  std::int64_t integer(int column) const;
  std::optional<double> number(int column) const;  // nullopt for NULL
  std::string text(int column) const;
  std::span<const std::byte> blob(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3_stmt* statement, const std::string* path) : handle_(statement), path_(path) {}
  void note(int code);  // of a binding
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  const std::string* path_;  // for messages
  int bound_ = 0;            // the first binding's code that was no success
};

// An open database file. Every error names its path and the way out.
class Database {
 public:
  // `path` is the name of a file and nothing else: no URI, and not SQLite's ":memory:". `busy_ms`: how
  // long to wait for another program that writes. A file that may not be written is opened to read.
  static Result<Database> open(const std::string& path, bool create, int busy_ms);
  // To read, where not even SQLite's own files beside it can be made. Nobody may write meanwhile.
  static Result<Database> open_unchanging(const std::string& path);

  // Readers and writers no longer wait for each other. The file remembers it; the switch waits at
  // most `wait_ms` for others to let go.
  Status use_write_ahead_log(int wait_ms);

  // Statements without parameters or rows, separated by semicolons.
  Status execute(const char* sql);
  Result<Statement> prepare(std::string_view sql);
  Result<std::int64_t> integer(std::string_view sql);  // first column of the first row
  std::int64_t last_row() const;
  const std::string& path() const { return *path_; }

 private:
  static Result<Database> open_name(const std::string& name, const std::string& path, int flags);
  struct Close {
    void operator()(sqlite3* database) const;
  };
  Database(sqlite3* handle, std::unique_ptr<std::string> path)
      : handle_(handle), path_(std::move(path)) {}
  std::unique_ptr<sqlite3, Close> handle_;
  std::unique_ptr<std::string> path_;  // statements point to it
};

// Rolls back unless committed.
class Transaction {
 public:
  enum class Kind { kRead, kWrite };  // kWrite takes the write lock at once
  static Result<Transaction> begin(Database& database, Kind kind);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace gradstone
