// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gradstone {
namespace {

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
  EXPECT_EQ(list_folder(folder.path()), std::vector<std::string>{"a"});
  ASSERT_TRUE(write_file_atomically(path, "new").ok());
  EXPECT_EQ(read_file(path).value(), "new");
  EXPECT_EQ(list_folder(folder.path()), std::vector<std::string>{"a"});
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
    EXPECT_EQ(list_folder(path), std::vector<std::string>{"x"});
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_TRUE(list_folder(path).empty());
}

TEST(Files, WhatAKilledOwnerLeftIsRemovedAndNothingElse) {
  const TemporaryFolder parent = TemporaryFolder::create().value();
  const std::string before = environment_or("TMPDIR", "");
  ::setenv("TMPDIR", parent.path().c_str(), 1);
  ASSERT_TRUE(make_folders(parent.file("gradstone.orphan/deep")).ok());
  ASSERT_TRUE(make_folders(parent.file("other")).ok());
  {
    const TemporaryFolder first = TemporaryFolder::create().value();
    const TemporaryFolder second = TemporaryFolder::create().value();
    EXPECT_EQ(list_folder(parent.path()).size(), 3u);
    EXPECT_EQ(::access(first.path().c_str(), F_OK), 0);
  }
  EXPECT_EQ(list_folder(parent.path()), std::vector<std::string>{"other"});
  before.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1);
}

}  // namespace
}  // namespace gradstone
