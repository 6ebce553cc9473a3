// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

#include "reference/error.hpp"
#include "reference/input_file.hpp"
#include "reference/output_file.hpp"

namespace shardmark::reference {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() { fs::create_directories(folder_); }
  ~OutputFileTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string text(const std::string& name) const { return file_text(path(name)).value_or(""); }
  /// Names of all that is in the folder, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

 private:
  fs::path folder_ = fs::temp_directory_path() / ("shardmark_output_" + std::to_string(getpid()));
};

using Names = std::vector<std::string>;

TEST_F(OutputFileTest, AFileIsReplacedAsAWhole) {
  write_file(path("a"), "old");
  {
    const OutputFile unfinished(path("a"));
    std::ofstream(unfinished.path()) << "half";
    EXPECT_EQ(text("a"), "old");
    EXPECT_EQ(names().size(), 2U);
  }
  EXPECT_EQ(names(), Names{"a"});
  write_file(path("a"), "new");
  EXPECT_EQ(text("a"), "new");
  EXPECT_EQ(names(), Names{"a"});
}

TEST_F(OutputFileTest, LinksAreFollowed) {
  fs::create_directory(path("there"));
  write_file(path("there/a"), "old");
  fs::create_symlink("there/a", path("one"));
  fs::create_symlink(path("one"), path("two"));
  write_file(path("two"), "new");
  EXPECT_EQ(text("there/a"), "new");
  EXPECT_TRUE(fs::is_symlink(path("one")) && fs::is_symlink(path("two")));

  fs::create_symlink("there/made", path("dangling"));
  write_file(path("dangling"), "made");
  EXPECT_EQ(text("there/made"), "made");
  EXPECT_TRUE(fs::is_symlink(path("dangling")));

  fs::create_symlink("circle", path("circle"));
  EXPECT_THROW(write_file(path("circle"), ""), InputError);
}

TEST_F(OutputFileTest, PipesAndDevicesAreWrittenToAndStay) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", path("link"));
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  for (const char* name : {"pipe", "link"}) {
    write_file(path(name), "text");
    std::array<char, 16> buffer{};
    EXPECT_EQ(std::string(buffer.data(), std::max<ssize_t>(0, read(reader, buffer.data(), buffer.size()))), "text");
  }
  close(reader);
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_EQ(names(), (Names{"link", "pipe"}));
  // Not "/dev/null" itself: were it replaced, the machine would lack it.
  if (mknod(path("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) return;
  write_file(path("null"), "text");
  EXPECT_TRUE(fs::is_character_file(path("null")));
}

TEST_F(OutputFileTest, WhatCannotBeWrittenIsNamedAndLeavesNothing) {
  for (const char* name : {"", "no/a", ".", "./"}) EXPECT_THROW(write_file(path(name), "text"), InputError);
  EXPECT_THROW(write_file("", "text"), InputError);
  EXPECT_TRUE(names().empty());
  try {
    write_file("/dev/full", "text");
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "/dev/full: cannot write this file: No space left on device");
  }
}

TEST_F(OutputFileTest, WhatExistsIsReplacedOnlyByForce) {
  require_new(path("a"), false);
  write_file(path("a"), "old");
  fs::create_symlink("a", path("link"));
  fs::create_symlink("none", path("dangling"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const char* name : {"a", "link"}) {
    require_new(path(name), true);
    try {
      require_new(path(name), false);
      ADD_FAILURE() << name;
    } catch (const InputError& error) {
      EXPECT_EQ(error.what(), path(name) + ": exists already; name another file, or --force to replace it");
    }
  }
  for (const char* name : {"dangling", "pipe"}) require_new(path(name), false);
  require_new("/dev/null", false);
  EXPECT_THROW(require_new(path(""), false), InputError);  // a folder
}

TEST_F(OutputFileTest, AnOpenFileOfAProcessIsWrittenTo) {
  const int file = open(path("a").c_str(), O_WRONLY | O_CREAT, 0600);
  struct stat before = {}, after = {};
  ASSERT_EQ(fstat(file, &before), 0);
  write_file("/proc/self/fd/" + std::to_string(file), "text");
  ASSERT_EQ(stat(path("a").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(text("a"), "text");
  close(file);
}

}  // namespace
}  // namespace shardmark::reference
