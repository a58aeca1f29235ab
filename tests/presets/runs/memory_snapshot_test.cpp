// Snapshots of PyTorch's CUDA allocator, and pickles of Python's own module (README.md beside this file).
#include "presets/runs/memory_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "presets/json/input_error.h"
#include "presets/runs/pickle_data.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

using testing::HasSubstr;

const std::string kSnapshots = HEXAPLAN_SOURCE_DIR "/tests/presets/runs/snapshots/";

std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

std::string content_of_file(const std::string& path) {
  std::ifstream input{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{input}, {}};
}

class PickleFile {
 public:
  explicit PickleFile(const std::string& content) : path_{folder_.file("snapshot.pickle", content)} {}
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  tests::TemporaryFolder folder_;
  std::filesystem::path path_;
};

std::string error_of(const std::string& content) {
  const PickleFile file{content};
  try {
    (void)read_memory_snapshot(file.path());
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

#ifdef HEXAPLAN_TEST_ZLIB
// Replayed backwards by a program of its own over the same events, as Python unpickles them.
TEST(memory_snapshot, peaks_are_those_of_the_replayed_events) {
  const MemorySnapshot snapshot = read_memory_snapshot(kSnapshots + "fullstep.pickle.gz");
  ASSERT_EQ(snapshot.devices.size(), 1U);
  const SnapshotDevice& device = snapshot.devices[0];
  EXPECT_EQ(device.events, 19342);
  EXPECT_EQ(device.allocated.value(), 54873829888);
  EXPECT_EQ(device.reserved.value(), 61111009280);
  EXPECT_EQ(device.peak_allocated.value(), 55078640128);
  EXPECT_EQ(device.peak_reserved.value(), 61111009280);
  EXPECT_EQ(device.kinds[0].segments, 10);
  EXPECT_EQ(device.kinds[1].segments, 1000);
}

// Measured on a GPU: 6,771 allocations of a whole training step of a 3.4 B model, behind 324 that were there.
TEST(memory_snapshot, recorded_calls_reserve_by_the_allocators_rules_what_was_reserved_to_the_byte) {
  const SnapshotDevice device = read_memory_snapshot(kSnapshots + "fullstep.pickle.gz").devices[0];
  EXPECT_EQ(device.simulated_reserved, device.peak_reserved);
  // PyTorch 2.15's own allocator over the same calls, as in scripts/oracle/allocator.
  EXPECT_EQ(device.expandable_reserved, costmodel::Bytes{55511613440});
}

TEST(memory_snapshot, what_is_alive_at_the_peak_is_told_by_its_place) {
  const SnapshotDevice device = read_memory_snapshot(kSnapshots + "fullstep.pickle.gz").devices[0];
  ASSERT_GE(device.at_peak.size(), 3U);
  EXPECT_EQ(device.at_peak[1].where, "optimizers.py:82 step");  // first moments of AdamW
  EXPECT_EQ(device.at_peak[1].blocks, 291);
  EXPECT_EQ(device.at_peak[1].bytes.value(), 13627238400);
  EXPECT_EQ(device.at_peak[2].where, "optimizers.py:84 step");  // second ones
  double known = 0;
  for (const AliveGroup& group : device.at_peak) known += group.bytes.value();
  EXPECT_EQ(known, 41174114816);
  EXPECT_EQ(device.alive_before.value(), 55078640128 - 41174114816);  // the parameters
}
#endif

class Protocol : public testing::TestWithParam<int> {};
TEST_P(Protocol, of_pythons_own_pickle_module_is_read) {
  const MemorySnapshot snapshot =
      read_memory_snapshot(kSnapshots + "small_" + std::to_string(GetParam()) + ".pickle");
  ASSERT_EQ(snapshot.devices.size(), 1U);
  const SnapshotDevice& device = snapshot.devices[0];
  EXPECT_EQ(device.allocated.value(), 1024);
  EXPECT_EQ(device.reserved.value(), 2097152);
  EXPECT_EQ(device.peak_allocated.value(), 1024 + 700416);  // 700,000 rounded up to 512
  EXPECT_EQ(device.kinds[0].blocks, 1);
  EXPECT_EQ(device.kinds[0].free.value(), 2096128);
  EXPECT_EQ(device.ran_out, 1);
  EXPECT_EQ(device.asked.value(), 123456789);
  ASSERT_EQ(device.at_peak.size(), 2U);
  EXPECT_EQ(device.at_peak[0].where, "not recorded where");
  EXPECT_EQ(device.at_peak[1].where, "train.py:7 step");
}
INSTANTIATE_TEST_SUITE_P(versions, Protocol, testing::Values(0, 2, 5));

// pickle.dumps([1.5, -7, 2**40, -2**40, True, None, 'ä', b'z', (1,), (1, 2), (1, 2, 3), {}], protocol=4)
TEST(pickle_data, numbers_texts_tuples_and_dicts_are_what_they_were) {
  const PickleFile file{
      bytes_of_hex("80049542000000000000005d9428473ff80000000000004af9ffffff8a060000000000018a060000000000ff8"
                   "84e8c02c3a49443017a94"
                   "4b0185944b014b0286944b014b024b0387947d94652e")};
  const PickleDocument document = read_pickle(file.path());
  const auto& items = std::get<PickleValue::List>(document.root().data).items;
  ASSERT_EQ(items.size(), 12U);
  EXPECT_EQ(std::get<double>(document.at(items[0]).data), 1.5);
  EXPECT_EQ(std::get<std::int64_t>(document.at(items[1]).data), -7);
  EXPECT_EQ(std::get<std::int64_t>(document.at(items[2]).data), 1LL << 40);
  EXPECT_EQ(std::get<std::int64_t>(document.at(items[3]).data), -(1LL << 40));
  EXPECT_TRUE(std::get<bool>(document.at(items[4]).data));
  EXPECT_EQ(std::get<std::string>(document.at(items[6]).data), "ä");
  EXPECT_EQ(std::get<PickleValue::List>(document.at(items[10]).data).items.size(), 3U);
}

/// {'segments': [X()]} where X reduces to print('run'), in protocols 0, 2 and 4.
TEST(pickle_data, a_pickle_that_would_run_something_is_refused_with_the_place) {
  EXPECT_THAT(
      error_of(bytes_of_hex(
          "286470300a567365676d656e74730a70310a286c70320a635f5f6275696c74696e5f5f0a7072696e740a70"
          "330a285672756e0a70340a7470350a5270360a61732e")),
      HasSubstr(": byte 23: got GLOBAL, which makes or calls an object, expected a pickle of plain data"));
  EXPECT_THAT(error_of(bytes_of_hex(
                  "80027d710058080000007365676d656e747371015d7102635f5f6275696c74696e5f5f0a7072696e740a71"
                  "03580300000072756e710485710552710661732e")),
              HasSubstr("GLOBAL, which makes or calls an object"));
  EXPECT_THAT(error_of(bytes_of_hex(
                  "80049531000000000000007d948c087365676d656e7473945d948c086275696c74696e73948c057072696e"
                  "749493948c0372756e948594529461732e")),
              HasSubstr("STACK_GLOBAL, which makes or calls an object"));
}

TEST(memory_snapshot, cut_off_or_damaged_anywhere_it_is_a_snapshot_or_one_error) {
  for (const char* name : {"small_0.pickle", "small_2.pickle", "small_5.pickle"}) {
    const std::string whole = content_of_file(kSnapshots + name);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      EXPECT_NE(error_of(whole.substr(0, at)), "no error");
      for (const char hostile : {'\0', '\x80', '\xff', 'u', '.', 'h'}) {
        std::string changed = whole;
        changed[at] = hostile;
        (void)error_of(changed);
      }
    }
  }
}

TEST(memory_snapshot, another_pickle_is_one_clear_error) {
  EXPECT_THAT(error_of(bytes_of_hex("80047d942e")), HasSubstr("got a pickle without \"segments\""));
  EXPECT_THAT(error_of("80"), HasSubstr("opcode 0x38"));
}

TEST(pickle_data, a_list_that_contains_itself_is_no_end_of_the_world) {
  // l = []; l.append(l); {'segments': l}
  const PickleFile file{bytes_of_hex("80047d8c087365676d656e74735d94680061732e")};
  EXPECT_THROW((void)read_memory_snapshot(file.path()), InputError);
}

}  // namespace
}  // namespace hexaplan::presets
