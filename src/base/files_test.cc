// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gradstone {
namespace {

const std::string kMarker = ".gradstone-temporary";

// What a temporary folder holds beside its marker.
std::vector<std::string> with_marker(std::vector<std::string> names) {
  names.insert(names.begin(), kMarker);
  return names;
}

// TMPDIR for as long as it lives.
class TemporaryPlace {
 public:
  explicit TemporaryPlace(const std::string& path) { ::setenv("TMPDIR", path.c_str(), 1); }
  ~TemporaryPlace() {
    before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1);
  }

 private:
  std::string before_ = environment_or("TMPDIR", "");
};

TEST(Files, WhatIsWrittenIsRead) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  const std::string content(200'000, 'x');
  ASSERT_TRUE(write_file(folder.file("a"), content).ok());
  EXPECT_EQ(read_file(folder.file("a")).value(), content);
  ASSERT_TRUE(write_file(folder.file("a"), "short").ok());
  EXPECT_EQ(read_file(folder.file("a")).value(), "short");
}

TEST(Files, ErrorsNameActPathAndReason) {
  EXPECT_EQ(read_file("/nowhere/a").error().message,
            "cannot read '/nowhere/a': No such file or directory");
  EXPECT_EQ(write_file("/nowhere/a", "").error().message,
            "cannot write '/nowhere/a': No such file or directory");
  EXPECT_EQ(AtomicFile::create("/nowhere/a").error().kind, ErrorKind::kFailed);
}

TEST(Files, AFullDeviceIsAnError) {
  EXPECT_EQ(write_file("/dev/full", "text").error().message,
            "cannot write '/dev/full': No space left on device");
}

TEST(Files, AnAtomicFileAppearsOnlyWhole) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  const std::string path = folder.file("a");
  ASSERT_TRUE(write_file_atomically(path, "old").ok());
  {
    AtomicFile file = AtomicFile::create(path).value();
    ASSERT_TRUE(file.write("half of the n").ok());
    EXPECT_EQ(read_file(path).value(), "old");
  }
  EXPECT_EQ(list_folder(folder.path()), with_marker({"a"}));
  ASSERT_TRUE(write_file_atomically(path, "new").ok());
  EXPECT_EQ(read_file(path).value(), "new");
  EXPECT_EQ(list_folder(folder.path()), with_marker({"a"}));
}

TEST(Files, AnAtomicFileHasTheUsualPermissions) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  const mode_t before = ::umask(022);
  ASSERT_TRUE(write_file_atomically(folder.file("a"), "").ok());
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat(folder.file("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST(Files, ATemporaryFolderGoesWithItsOwner) {
  std::string path;
  {
    const TemporaryFolder folder = TemporaryFolder::create().value();
    path = folder.path();
    ASSERT_TRUE(make_folders(folder.file("x/y")).ok());
    EXPECT_EQ(list_folder(path), with_marker({"x"}));
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_TRUE(list_folder(path).empty());
}

TEST(Files, WhatAKilledOwnerLeftIsRemovedAndNothingElse) {
  const TemporaryFolder parent = TemporaryFolder::create().value();
  const TemporaryPlace place(parent.path());
  std::string orphan;
  const pid_t child = ::fork();
  if (child == 0) {
    const TemporaryFolder left = TemporaryFolder::create().value();
    ::_exit(make_folders(left.file("deep/er")).ok() ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  for (const std::string& name : list_folder(parent.path())) {
    if (name != kMarker) orphan = name;
  }
  ASSERT_EQ(orphan.size(), std::string("gradstone.XXXXXX").size());
  ASSERT_TRUE(make_folders(parent.file("other")).ok());
  {
    const TemporaryFolder first = TemporaryFolder::create().value();
    const TemporaryFolder second = TemporaryFolder::create().value();
    EXPECT_FALSE(path_exists(parent.file(orphan)));
    EXPECT_TRUE(path_exists(first.path()));
  }
  EXPECT_EQ(list_folder(parent.path()), with_marker({"other"}));
}

// Each looks like one in all but one respect.
TEST(Files, FoldersOfOthersAreNotTakenForOrphans) {
  const TemporaryFolder parent = TemporaryFolder::create().value();
  const std::string marker = read_file(parent.file(kMarker)).value();
  const auto make = [&](const std::string& name, const std::string& text) {
    ASSERT_TRUE(make_folders(parent.file(name)).ok());
    ASSERT_TRUE(write_file(parent.file(name + "/" + kMarker), text).ok());
  };
  make("gradstone.backup", "");
  ASSERT_TRUE(make_folders(parent.file("gradstone.nomark")).ok());
  make("gradstone.mine", marker);
  make("gradstone.results", marker);
  make("gradstone.a-b.cd", marker);
  make("outside", marker);
  ASSERT_EQ(::symlink("outside", parent.file("gradstone.linked").c_str()), 0);
  ASSERT_TRUE(make_folders(parent.file("gradstone.lnkmrk")).ok());
  ASSERT_EQ(
      ::symlink(("../" + kMarker).c_str(), parent.file("gradstone.lnkmrk/" + kMarker).c_str()), 0);
  make("gradstone.foreig", marker);
  const bool can_give = ::chown(parent.file("gradstone.foreig").c_str(), 12345, 12345) == 0;
  const std::vector<std::string> before = list_folder(parent.path());
  const TemporaryPlace place(parent.path());
  { const TemporaryFolder fresh = TemporaryFolder::create().value(); }
  std::vector<std::string> expected = before;
  if (!can_give) std::erase(expected, "gradstone.foreig");
  EXPECT_EQ(list_folder(parent.path()), expected);
  EXPECT_TRUE(path_exists(parent.file("outside/" + kMarker)));
}

TEST(Files, HomesFollowOneRule) {
  const auto set = [](const char* name, const char* value) {
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  };
  const char* const kNames[] = {"GRADSTONE_HOME", "XDG_DATA_HOME", "HOME"};
  std::vector<std::string> before;
  for (const char* name : kNames) before.push_back(environment_or(name, ""));
  for (const char* name : kNames) set(name, nullptr);
  EXPECT_EQ(gradstone_home(), "");
  set("HOME", "/home/a");
  EXPECT_EQ(gradstone_home(), "/home/a/.local/share/gradstone");
  set("XDG_DATA_HOME", "relative");
  EXPECT_EQ(gradstone_home(), "/home/a/.local/share/gradstone");
  set("XDG_DATA_HOME", "/data");
  EXPECT_EQ(gradstone_home(), "/data/gradstone");
  set("GRADSTONE_HOME", "/g");
  EXPECT_EQ(gradstone_home(), "/g");
  EXPECT_EQ(user_data_folder(), "/data/gradstone");
  for (std::size_t i = 0; i < before.size(); ++i) {
    set(kNames[i], before[i].empty() ? nullptr : before[i].c_str());
  }
}

TEST(Files, NoPlaceForTemporaryFoldersNamesTheVariable) {
  const TemporaryPlace place("/nowhere");
  const std::string message = TemporaryFolder::create().error().message;
  EXPECT_TRUE(message.starts_with("cannot create folder '/nowhere/gradstone.")) << message;
  EXPECT_TRUE(
      message.ends_with("No such file or directory; name a folder that can be written in TMPDIR"))
      << message;
}

TEST(Files, OnlyRegularFilesAreRead) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_file(folder.file("pipe")).error().message,
            "cannot read '" + folder.file("pipe") + "': a pipe or device, not a regular file");
  EXPECT_FALSE(read_file("/dev/zero").ok());
  EXPECT_EQ(read_file("/dev").error().message, "cannot read '/dev': a folder, not a regular file");
  ASSERT_TRUE(write_file(folder.file("a"), "12345").ok());
  EXPECT_TRUE(read_file(folder.file("a"), 5).ok());
  EXPECT_EQ(read_file(folder.file("a"), 4).error().message,
            "cannot read '" + folder.file("a") + "': longer than 4 bytes");
}

}  // namespace
}  // namespace gradstone
