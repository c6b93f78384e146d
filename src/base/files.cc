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

// A temporary folder is called kTemporaryStart and kTemporaryRandom characters of mkdtemp, and holds
// the file kMarker with kMarkerText: by name alone it could be anybody's.
constexpr std::string_view kTemporaryStart = "gradstone.";
constexpr std::string_view kTemporaryRandom = "XXXXXX";
constexpr const char* kMarker = ".gradstone-temporary";
constexpr std::string_view kMarkerText = "removed by the next gradstone if its owner was killed\n";

bool is_temporary_name(std::string_view name) {
  if (!name.starts_with(kTemporaryStart)) return false;
  name.remove_prefix(kTemporaryStart.size());
  const auto is_random = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return name.size() == kTemporaryRandom.size() && std::all_of(name.begin(), name.end(), is_random);
}

// The folder, open and locked; invalid, with errno, where that cannot be.
Descriptor locked_folder(const std::string& path, int operation) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.valid() && ::flock(folder.get(), operation) != 0) folder.reset();
  return folder;
}

Status write_marker(const Descriptor& folder, const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const Descriptor marker(::openat(folder.get(), kMarker, kFlags, 0600));
  if (!marker.valid()) return file_error("write to folder", path);
  const auto bytes = std::as_bytes(std::span(kMarkerText));
  return write_all(marker.get(), path, bytes.data(), bytes.size());
}

// Whether this user's Gradstone made it.
bool is_ours(const Descriptor& folder) {
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0 || status.st_uid != ::geteuid()) return false;
  const Descriptor marker(
      ::openat(folder.get(), kMarker, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!marker.valid() || ::fstat(marker.get(), &status) != 0) return false;
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) return false;
  char text[kMarkerText.size()];
  return ::read(marker.get(), text, sizeof text) == ssize_t{sizeof text} &&
         std::string_view(text, sizeof text) == kMarkerText;
}

// Removes temporary folders of ours that nobody has locked: their owners were killed.
void remove_orphans(const std::string& parent) {
  for (const std::string& name : list_folder(parent)) {
    if (!is_temporary_name(name)) continue;
    const std::string path = parent + "/" + name;
    std::error_code ignored;
    const Descriptor lock = locked_folder(path, LOCK_EX | LOCK_NB);
    if (lock.valid() && is_ours(lock)) std::filesystem::remove_all(path, ignored);
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

Result<Descriptor> open_regular_file(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return file_error("read", path);
  if (S_ISREG(status.st_mode)) return file;
  return failed("cannot read '" + path +
                "': " + (S_ISDIR(status.st_mode) ? "a folder" : "a pipe or device") +
                ", not a regular file");
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const Descriptor file = TRY(open_regular_file(path));
  std::string content;
  char block[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.get(), block, sizeof block);
    if (got == 0) return content;
    if (got > 0) {
      content.append(block, static_cast<std::size_t>(got));
      if (content.size() > limit) {
        return failed("cannot read '" + path + "': longer than " + std::to_string(limit) +
                      " bytes");
      }
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

namespace {

Error no_temporary_folder(const Error& error) {
  return failed(error.message + "; name a folder that can be written in TMPDIR");
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::create() {
  const std::string parent = environment_or("TMPDIR", "/tmp");
  remove_orphans(parent);
  std::string path = parent + "/" + std::string(kTemporaryStart) + std::string(kTemporaryRandom);
  if (::mkdtemp(path.data()) == nullptr) {
    return no_temporary_folder(file_error("create folder", path));
  }
  Descriptor lock = locked_folder(path, LOCK_EX);
  if (!lock.valid()) return no_temporary_folder(file_error("lock folder", path));
  TemporaryFolder folder(path, std::move(lock));
  // Only now could it be taken for an orphan, and now it is locked.
  if (const Status marked = write_marker(folder.lock_, path); !marked.ok()) {
    return no_temporary_folder(marked.error());
  }
  return folder;
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
  // The XDG base directory specification says to ignore a relative path.
  if (const std::string data = environment_or("XDG_DATA_HOME", ""); data.starts_with('/')) {
    return data + "/gradstone";
  }
  const std::string home = environment_or("HOME", "");
  return home.empty() ? "" : home + "/.local/share/gradstone";
}

std::string gradstone_home() { return environment_or("GRADSTONE_HOME", user_data_folder()); }

}  // namespace gradstone
