// SPDX-License-Identifier: Apache-2.0
// Files and folders, with errors as values that name the path. Not for mapping: see
// protocol/tensor_file.h.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace gradstone {

// Owns a file descriptor; -1 is none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);  // closes what it held

 private:
  int fd_ = -1;
};

// "cannot ACT 'PATH': REASON" for the current errno.
Error file_error(std::string_view act, std::string_view path);

Result<std::string> read_file(const std::string& path);
Status write_file(const std::string& path, std::string_view content);

// kUnsynced survives the death of every process, but not of the machine: for files that live as long
// as those who exchange them.
enum class Durability { kSynced, kUnsynced };

// A file that appears under its name whole or not at all: written beside it under another name,
// synced (unless kUnsynced), then renamed over it. Without `commit` nothing is left behind, unless the process dies.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  Status commit(Durability durability = Durability::kSynced);

 private:
  AtomicFile(std::string path, std::string temporary, Descriptor file);
  std::string path_;
  std::string temporary_;  // "" once it is renamed or gone
  Descriptor file_;
};
Status write_file_atomically(const std::string& path, std::string_view content);

// A fresh folder in $TMPDIR or /tmp, removed with everything in it at the end of its life. Its
// owner holds a lock on it; what an owner that was killed has left is removed by the next `create`.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> create();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  TemporaryFolder(std::string path, Descriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  Descriptor lock_;
};

// Whether something is there; true also where that cannot be found out (opening it then says why).
bool path_exists(const std::string& path);
Status make_folders(const std::string& path);  // with all parents
// Names in a folder, sorted; without "." and "..". Empty where there is no such folder.
std::vector<std::string> list_folder(const std::string& path);

std::string environment_or(const char* name, std::string_view fallback);
std::string executable_folder();  // where this program's file lies, links resolved
// $XDG_DATA_HOME/gradstone, by default ~/.local/share/gradstone. Not created here.
std::string user_data_folder();
// $GRADSTONE_HOME: what install scripts bring (frameworks, engines); by default user_data_folder().
std::string gradstone_home();

}  // namespace gradstone
