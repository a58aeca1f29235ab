#include "validator/executor/checkpoint/durable_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace hexaplan::validator {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

int error_of(const std::string& path, const std::string& text = "new") {
  try {
    write_durably(path, text);
  } catch (const FileError& error) {
    EXPECT_EQ(error.path, path) << "as the caller named it";
    EXPECT_NE(std::string{error.what()}.find(path + " cannot be written: "), std::string::npos);
    return error.error;
  }
  return 0;
}

int check_of(const std::string& path) {
  try {
    check_can_write(path);
  } catch (const FileError& error) {
    return error.error;
  }
  return 0;
}

class DurableFileTest : public testing::Test {
 protected:
  [[nodiscard]] std::string at(const char* name) const { return folder_ / name; }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator{folder_}, fs::directory_iterator{}));
  }
  /// A device of this test's own with the numbers of /dev/null or /dev/full, which nobody else would miss.
  [[nodiscard]] bool made_device(const std::string& path, unsigned minor) const {
    return mknod(path.c_str(), S_IFCHR | 0666, makedev(1, minor)) == 0 && access(path.c_str(), W_OK) == 0 &&
           close(open(path.c_str(), O_WRONLY)) == 0;
  }

  tests::TemporaryFolder own_;
  fs::path folder_ = own_.path();
};

TEST_F(DurableFileTest, a_file_is_made_and_replaced_and_keeps_its_permissions) {
  write_durably(at("file"), "old");
  EXPECT_EQ(content_of(at("file")), "old");
  fs::permissions(at("file"), fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  write_durably(at("file"), "new");
  EXPECT_EQ(content_of(at("file")), "new");
  EXPECT_EQ(fs::status(at("file")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  EXPECT_EQ(entries(), 1U) << "no neighbour is left";
}

TEST_F(DurableFileTest, what_is_not_committed_leaves_the_file_as_it_was) {
  write_durably(at("file"), "old");
  {
    DurableFile file{at("file")};
    file.write("half of it");
  }
  EXPECT_EQ(content_of(at("file")), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(DurableFileTest, a_link_stays_and_its_target_is_written) {
  fs::create_directory(at("elsewhere"));
  write_durably(at("elsewhere/target"), "old");
  fs::create_symlink("elsewhere/target", at("relative"));
  fs::create_symlink(at("relative"), at("chain"));
  fs::create_symlink(at("elsewhere/not there yet"), at("dangling"));
  write_durably(at("chain"), "new");
  write_durably(at("dangling"), "made");
  EXPECT_TRUE(fs::is_symlink(at("relative")) && fs::is_symlink(at("chain")) &&
              fs::is_symlink(at("dangling")));
  EXPECT_EQ(content_of(at("elsewhere/target")), "new");
  EXPECT_EQ(content_of(at("elsewhere/not there yet")), "made");
  fs::create_symlink("round", at("round"));
  EXPECT_EQ(error_of(at("round")), ELOOP);
}

TEST_F(DurableFileTest, a_folder_is_an_error_also_behind_a_link_and_stays) {
  fs::create_directory(at("folder"));
  fs::create_symlink("folder", at("link"));
  for (const char* name : {"folder", "link"}) {
    EXPECT_EQ(error_of(at(name)), EISDIR);
    EXPECT_EQ(check_of(at(name)), EISDIR);
  }
  EXPECT_TRUE(fs::is_directory(at("folder")) && fs::is_symlink(at("link")));
}

TEST_F(DurableFileTest, a_fifo_is_written_to_and_stays) {
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  fs::create_symlink("fifo", at("link"));
  for (const char* name : {"fifo", "link"}) {
    EXPECT_EQ(check_of(at(name)), 0);
    EXPECT_FALSE(is_replaced(at(name)));
    std::string read;
    std::thread reader{[&] { read = content_of(at("fifo")); }};
    write_durably(at(name), "through");
    reader.join();
    EXPECT_EQ(read, "through");
    EXPECT_TRUE(fs::is_fifo(at("fifo")));
  }
}

TEST_F(DurableFileTest, a_device_is_written_to_and_stays_also_when_it_is_full) {
  const std::string null = at("null"), full = at("full");
  if (!made_device(null, 3) || !made_device(full, 7))
    GTEST_SKIP() << "no device can be made or opened here: that takes root and a file system that allows it";
  fs::create_symlink("full", at("link"));
  EXPECT_EQ(error_of(null), 0);
  EXPECT_EQ(error_of(full), ENOSPC);
  EXPECT_EQ(error_of(at("link")), ENOSPC);
  EXPECT_TRUE(fs::is_character_file(null) && fs::is_character_file(full) && fs::is_symlink(at("link")));
  EXPECT_EQ(entries(), 3U);
}

TEST_F(DurableFileTest, a_folder_that_is_not_there_is_found_out_before_anything_is_written) {
  EXPECT_EQ(check_of(at("nowhere/file")), ENOENT);
  EXPECT_EQ(error_of(at("nowhere/file")), ENOENT);
  write_durably(at("file"), "");
  EXPECT_EQ(check_of(at("file/below")), ENOTDIR);
  EXPECT_EQ(check_of(at("file")), 0);
  EXPECT_EQ(check_of(at("new")), 0);
  EXPECT_EQ(entries(), 1U) << "asking makes nothing";
}

TEST_F(DurableFileTest, folders_are_asked_for_without_being_made) {
  EXPECT_NO_THROW(check_can_make_folder(at("a/b/c")));
  EXPECT_NO_THROW(check_can_make_folder(folder_));
  EXPECT_EQ(entries(), 0U);
  write_durably(at("file"), "");
  EXPECT_THROW(check_can_make_folder(at("file")), FileError);
  EXPECT_THROW(check_can_make_folder(at("file/below")), FileError);
}

TEST_F(DurableFileTest, a_file_system_that_makes_no_folders_is_found_though_root_has_access) {
  const std::string processes = "/proc/self";
  if (!std::filesystem::exists(processes)) GTEST_SKIP() << "there is no " << processes;
  EXPECT_THROW(check_can_make_folder(processes + "/checkpoints/of_a_run"), FileError);
}

}  // namespace
}  // namespace hexaplan::validator
