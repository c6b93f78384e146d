// SPDX-License-Identifier: Apache-2.0
// Errors as values. A command that cannot proceed returns Result<T>; context is added as it rises
// and the text is printed once, in main. A run that failed is not an error but a record with an
// outcome.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace gradstone {

// What went wrong, as far as the caller must tell cases apart. cli/exit_code.h maps these to exit
// codes.
enum class ErrorKind {
  kFailed,       // could not be done (a file could not be written, a child did not start)
  kUsage,        // the person asked for something contradictory or unknown
  kUnreadable,   // foreign input is broken: file, model, store, message
  kUnsupported,  // well formed, but this engine or build cannot do it; the text says why
  kOutOfMemory,  // an allocation failed
};

struct Error {
  ErrorKind kind = ErrorKind::kFailed;
  std::string message;  // one line: place, what is wrong, the way out

  // The same error with "place: " before its message.
  Error within(std::string_view place) const { return {kind, std::string(place) + ": " + message}; }
};

inline Error failed(std::string message) { return {ErrorKind::kFailed, std::move(message)}; }
inline Error usage_error(std::string message) { return {ErrorKind::kUsage, std::move(message)}; }
inline Error unreadable(std::string message) {
  return {ErrorKind::kUnreadable, std::move(message)};
}
inline Error unsupported(std::string message) {
  return {ErrorKind::kUnsupported, std::move(message)};
}

// A bug in Gradstone itself: prints the reason and aborts.
[[noreturn]] inline void check_failed(const char* file, int line, const char* condition,
                                      const char* reason) {
  std::fprintf(stderr, "%s:%d: CHECK(%s) failed: %s\n", file, line, condition, reason);
  std::abort();
}
#define CHECK(condition, reason) \
  ((condition) ? (void)0 : ::gradstone::check_failed(__FILE__, __LINE__, #condition, reason))

// Either a value or an Error. `value()` of an error, and `error()` of a value, are bugs.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  T& value() & {
    CHECK(ok(), error_text());
    return *std::get_if<T>(&state_);
  }
  const T& value() const& {
    CHECK(ok(), error_text());
    return *std::get_if<T>(&state_);
  }
  T&& value() && {
    CHECK(ok(), error_text());
    return std::move(*std::get_if<T>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    CHECK(!ok(), "error() of a Result that holds a value");
    return *std::get_if<Error>(&state_);
  }
  Result within(std::string_view place) && {
    if (ok()) return std::move(*this);
    return error().within(place);
  }

 private:
  const char* error_text() const {
    const Error* error = std::get_if<Error>(&state_);
    return error ? error->message.c_str() : "";
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  void value() const { CHECK(ok(), error_->message.c_str()); }
  const Error& error() const {
    CHECK(!ok(), "error() of a Result that holds a value");
    return *error_;
  }
  Result within(std::string_view place) && {
    if (ok()) return {};
    return error_->within(place);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

// Unwraps a Result or returns its error from the enclosing function. Give it a statement or an
// initializer of its own: what the same expression has built before it, such as earlier members of
// a braced list or operands of a +, is not destroyed when it returns.
#define TRY(expression)                                \
  ({                                                   \
    auto try_result_ = (expression);                   \
    if (!try_result_.ok()) return try_result_.error(); \
    std::move(try_result_).value();                    \
  })

}  // namespace gradstone
