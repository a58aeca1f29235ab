#include "validator/executor/checkpoint/checkpoint_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <span>

#include "tests/support/temporary_folder.h"

namespace hexaplan::validator {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A folder that goes with the test.
class Folder {
 public:
  [[nodiscard]] std::string path() const { return own_.path() / "checkpoint"; }

 private:
  tests::TemporaryFolder own_;
};

const StateKey kKey{.unit = 3, .name = "mlp.down.weight", .state = 1};
constexpr std::int64_t kElements = 24;

/// Two ranks that hold a 4 × 6 tensor by halves of its columns; element i has value i + step.
void write_checkpoint(const std::string& root, std::int64_t step, int element_bytes = 8) {
  const std::string folder = begin_checkpoint(root, step);
  for (int rank = 0; rank < 2; ++rank) {
    CheckpointWriter writer{
        {.step = step, .rank = rank, .ranks = 2, .element_bytes = element_bytes, .model = "layers 4"},
        folder};
    std::vector<ElementRun> runs;
    std::vector<double> values;
    for (std::int64_t row = 0; row < 4; ++row) {
      runs.push_back({row * 6 + rank * 3, 3});
      for (std::int64_t i = 0; i < 3; ++i)
        values.push_back(static_cast<double>(runs.back().begin + i + step));
    }
    writer.list(kKey, kElements, runs);
    // In pieces of any size.
    writer.add(std::span{values}.first(5));
    writer.add({});
    writer.add(std::span{values}.subspan(5));
    writer.commit();
  }
  commit_checkpoint(root, step);
}

std::vector<double> read_elements(const CheckpointReader& reader, std::int64_t begin, std::int64_t count) {
  std::vector<double> out(static_cast<std::size_t>(count));
  reader.read(kKey, kElements, {begin, count}, out);
  return out;
}

template <class Run>
std::string error_of(const Run& run) {
  try {
    run();
  } catch (const CheckpointError& error) {
    return error.what();
  }
  return "no error";
}

TEST(checkpoint, elements_are_found_by_their_place_in_the_unsharded_tensor) {
  const Folder folder;
  for (const int element_bytes : {8, 4}) {
    write_checkpoint(folder.path(), 7, element_bytes);
    const CheckpointReader reader{find_checkpoint(folder.path())};
    EXPECT_EQ(reader.header().step, 7);
    std::vector<double> expected(24);
    std::iota(expected.begin(), expected.end(), 7.0);
    EXPECT_EQ(read_elements(reader, 0, 24), expected);
    EXPECT_EQ(read_elements(reader, 2, 3), (std::vector<double>{9, 10, 11}));
    EXPECT_TRUE(reader.holds(kKey));
    EXPECT_FALSE(reader.holds({.unit = 4, .name = kKey.name, .state = 1}));
  }
}

TEST(checkpoint, the_latest_one_is_found_and_an_older_one_by_its_name) {
  const Folder folder;
  write_checkpoint(folder.path(), 2);
  write_checkpoint(folder.path(), 4);
  write_checkpoint(folder.path(), 4);  // saved again
  EXPECT_EQ(CheckpointReader{find_checkpoint(folder.path())}.header().step, 4);
  EXPECT_EQ(CheckpointReader{find_checkpoint(folder.path() + "/step-00000002")}.header().step, 2);
}

TEST(checkpoint, one_that_was_not_finished_does_not_count_and_is_cleared_away) {
  const Folder folder;
  write_checkpoint(folder.path(), 2);
  const std::string unfinished = begin_checkpoint(folder.path(), 3);
  EXPECT_EQ(CheckpointReader{find_checkpoint(folder.path())}.header().step, 2);
  write_checkpoint(folder.path(), 4);
  EXPECT_FALSE(fs::exists(unfinished));
}

TEST(checkpoint, every_way_of_being_unusable_is_named) {
  const Folder folder;
  EXPECT_THAT(error_of([&] { (void)find_checkpoint(folder.path()); }), HasSubstr("holds no checkpoint"));
  write_checkpoint(folder.path(), 2);
  const std::string latest = find_checkpoint(folder.path()), file = latest + "/rank-00001.hxp";
  const auto open = [&] { const CheckpointReader reader{latest}; };
  const CheckpointReader reader{latest};
  EXPECT_THAT(error_of([&] { read_elements(reader, 20, 5); }), HasSubstr("lacks element 24"));
  std::vector<double> out(1);
  EXPECT_THAT(error_of([&] {
                reader.read(kKey, 25, {0, 1}, out);
              }),
              HasSubstr("has 24 elements; the model needs 25"));
  EXPECT_THAT(error_of([&] {
                reader.read({.unit = 9, .name = "x"}, 1, {0, 1}, out);
              }),
              HasSubstr("holds no x of unit 9"));

  const auto size = fs::file_size(file);
  {
    std::fstream damage{file, std::ios::in | std::ios::out | std::ios::binary};
    damage.seekp(static_cast<std::streamoff>(size) - 40);
    damage.put('\x55');
  }
  EXPECT_THAT(error_of(open), HasSubstr("checksum"));
  for (const auto left : {size - 1, size / 2, std::uintmax_t{20}, std::uintmax_t{3}}) {
    fs::resize_file(file, left);
    EXPECT_THAT(error_of(open), HasSubstr("cut off")) << left << " bytes left";
  }
  std::ofstream{file} << "something else altogether, long enough";
  EXPECT_THAT(error_of(open), HasSubstr("no file of a checkpoint"));
  fs::remove(file);
  EXPECT_THAT(error_of(open), HasSubstr("No such file"));
}

TEST(checkpoint, its_bytes_are_those_of_its_format) {
  const Folder folder;
  write_checkpoint(folder.path(), 2, 4);
  std::ifstream file{find_checkpoint(folder.path()) + "/rank-00000.hxp", std::ios::binary};
  const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
  // Magic, format, step, rank, ranks, bytes of an element, model | records | unit, name, state, elements,
  // four runs | twelve elements | checksum.
  constexpr std::size_t kHeader = 8 + 4 + 8 + 4 + 4 + 4 + (4 + 8),
                        kTable = 8 + 4 + (4 + 15) + 4 + 8 + 4 + 4 * 16;
  ASSERT_EQ(bytes.size(), kHeader + kTable + 12 * 4 + 8);
  std::uint64_t hash = 14695981039346656037ULL, stored = 0;
  for (const char byte : bytes.substr(0, bytes.size() - 8))
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  std::memcpy(&stored, bytes.data() + bytes.size() - 8, 8);
  EXPECT_EQ(stored, hash) << "FNV-1a";
}

/// Memory of this process that is its own or of files, in bytes: what /proc/self/status says under `row`.
double status(const std::string& row) {
  std::ifstream file{"/proc/self/status"};
  for (std::string name; file >> name;) {
    double kib = 0;
    if (name == row + ":" && file >> kib) return kib * 1024;
    std::getline(file, name);
  }
  return 0;
}

TEST(checkpoint, never_lies_in_memory_as_a_whole) {
  const Folder folder;
  constexpr std::int64_t kMany = std::int64_t{1} << 24;  // 128 MB of float64
  const std::string path = begin_checkpoint(folder.path(), 1);
  std::vector<double> values(std::size_t{1} << 16, 1.5);
  if (status("VmHWM") == 0) GTEST_SKIP() << "no /proc tells what memory a process has";
  std::ofstream{"/proc/self/clear_refs"} << "5";  // the peak begins anew
  const double before = status("VmRSS");
  {
    CheckpointWriter writer{{.step = 1, .model = "layers 4"}, path};
    writer.list(kKey, kMany, {{0, kMany}});
    for (std::int64_t done = 0; done < kMany; done += std::ssize(values)) writer.add(values);
    writer.commit();
  }
  commit_checkpoint(folder.path(), 1);
  const CheckpointReader reader{find_checkpoint(folder.path())};
  for (std::int64_t done = 0; done < kMany; done += std::ssize(values)) {
    reader.read(kKey, kMany, {done, std::ssize(values)}, values);
    reader.let_go();
    ASSERT_EQ(values.front() + values.back(), 3.0);
  }
  EXPECT_LT(status("VmHWM") - before, 32e6);
}

TEST(checkpoint, a_folder_that_cannot_be_written_is_named) {
  EXPECT_THAT(error_of([] { (void)begin_checkpoint("/proc/no/such/place", 1); }),
              HasSubstr("/proc/no/such/place"));
}

}  // namespace
}  // namespace hexaplan::validator
