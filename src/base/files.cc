// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/clock.h"

namespace gradstone {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status write_all(int fd, std::string_view path, const std::byte* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(fd, data, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      return file_error("write", path);
    }
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return {};
}

constexpr std::string_view kTemporaryStart = "gradstone.";

// The folder, open and locked; invalid, with errno, where that cannot be.
Descriptor locked_folder(const std::string& path, int operation) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.valid() && ::flock(folder.get(), operation) != 0) folder.reset();
  return folder;
}

bool is_there(const Descriptor& folder) {
  struct stat status {};
  return ::fstat(folder.get(), &status) == 0 && status.st_nlink > 0;
}

// Removes temporary folders that nobody has locked: their owners were killed.
void remove_orphans(const std::string& parent) {
  for (const std::string& name : list_folder(parent)) {
    if (!name.starts_with(kTemporaryStart)) continue;
    const std::string path = parent + "/" + name;
    std::error_code ignored;
    if (const Descriptor lock = locked_folder(path, LOCK_EX | LOCK_NB); lock.valid()) {
      std::filesystem::remove_all(path, ignored);
    }
  }
}

}  // namespace

void Descriptor::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Error file_error(std::string_view act, std::string_view path) {
  const int code = errno;
  return failed("cannot " + std::string(act) + " '" + std::string(path) +
                "': " + std::generic_category().message(code));
}

Result<std::string> read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return file_error("read", path);
  std::string content;
  char block[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.get(), block, sizeof block);
    if (got == 0) return content;
    if (got > 0) {
      content.append(block, static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      return file_error("read", path);
    }
  }
}

Status write_file(const std::string& path, std::string_view content) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.valid()) return file_error("write", path);
  const auto bytes = std::as_bytes(std::span(content));
  TRY(write_all(file.get(), path, bytes.data(), bytes.size()));
  if (::close(file.release()) != 0) return file_error("write", path);
  return {};
}

AtomicFile::AtomicFile(std::string path, std::string temporary, Descriptor file)
    : path_(std::move(path)), temporary_(std::move(temporary)), file_(std::move(file)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  // Not mkostemp: its file would be private whatever the umask says.
  std::string temporary =
      path + "." + std::to_string(::getpid()) + "." + std::to_string(monotonic_ns()) + ".part";
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.valid()) return file_error("write", path);
  return AtomicFile(path, std::move(temporary), std::move(file));
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  return write_all(file_.get(), path_, bytes.data(), bytes.size());
}

Status AtomicFile::write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

Status AtomicFile::commit(Durability durability) {
  const bool synced = durability == Durability::kSynced;
  if (synced && ::fsync(file_.get()) != 0) return file_error("write", path_);
  if (::close(file_.release()) != 0) return file_error("write", path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return file_error("write", path_);
  temporary_.clear();
  if (!synced) return {};
  // The new name itself is durable once the folder is. Some file systems cannot sync a folder.
  const Descriptor folder(::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid() && ::fsync(folder.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    return file_error("write", path_);
  }
  return {};
}

Status write_file_atomically(const std::string& path, std::string_view content) {
  AtomicFile file = TRY(AtomicFile::create(path));
  TRY(file.write(content));
  return file.commit();
}

Result<TemporaryFolder> TemporaryFolder::create() {
  const std::string parent = environment_or("TMPDIR", "/tmp");
  remove_orphans(parent);
  for (;;) {
    std::string path = parent + "/" + std::string(kTemporaryStart) + "XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return file_error("create folder", path);
    Descriptor lock = locked_folder(path, LOCK_EX);
    // Somebody may have taken it for an orphan before it was locked.
    if (lock.valid() && is_there(lock)) return TemporaryFolder(std::move(path), std::move(lock));
    if (!lock.valid() && errno != ENOENT) return file_error("lock folder", path);
  }
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

bool path_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::status(path, ignored).type() != std::filesystem::file_type::not_found;
}

Status make_folders(const std::string& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) return failed("cannot create folder '" + path + "': " + code.message());
  return {};
}

std::vector<std::string> list_folder(const std::string& path) {
  std::error_code code;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator entry(path, code), end; !code && entry != end;
       entry.increment(code)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string environment_or(const char* name, std::string_view fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::string(value) : std::string(fallback);
}

std::string executable_folder() {
  std::error_code code;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", code);
  return code ? "." : self.parent_path().string();
}

std::string user_data_folder() {
  const std::string home = environment_or("HOME", "/tmp");
  return environment_or("XDG_DATA_HOME", home + "/.local/share") + "/gradstone";
}

std::string gradstone_home() { return environment_or("GRADSTONE_HOME", user_data_folder()); }

}  // namespace gradstone
