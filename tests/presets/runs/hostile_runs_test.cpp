// What real runs left, with bytes exchanged, cut off or repeated: every reader gives figures that are finite,
// or one clear error; never a signal or a hang. The same cases every time;
//   HEXAPLAN_FUZZ_SEED=7 HEXAPLAN_FUZZ_CASES=1000000 build/release/tests/hostile_runs_test
// explores (scripts/nightly.sh).
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "presets/json/input_error.h"
#include "presets/runs/byte_stream.h"
#include "presets/runs/kineto_trace.h"
#include "presets/runs/memory_snapshot.h"
#include "presets/runs/run_log.h"
#include "presets/runs/trace_profile.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLongestCase{20};

int from_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

std::string bytes_of(const fs::path& path) {
  ByteStream stream{path};
  std::string text;
  for (int byte = stream.next(); byte >= 0; byte = stream.next()) text += static_cast<char>(byte);
  return text;
}

class ByteMutator {
 public:
  ByteMutator()
      : random_{static_cast<std::uint32_t>(20261123 + 1000 * from_environment("HEXAPLAN_FUZZ_SEED", 0))} {}

  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>{0, n - 1}(random_); }
  std::string changed(std::string bytes) {
    for (std::size_t times = 1 + below(4); times-- > 0 && !bytes.empty();) change(bytes);
    return bytes;
  }

 private:
  void change(std::string& bytes) {
    static constexpr std::string_view kWords[] = {
        "-1", "1e308", "nan", "9223372036854775807", "[[[[", "}", "\"", "\\u", "0", ",", "\xff\xfe",
        "\n", ":",     "|"};
    const std::size_t at = below(bytes.size());
    switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 1:
        bytes.resize(at);
        break;
      case 2:
        bytes.insert(at, kWords[below(std::size(kWords))]);
        break;
      case 3:
        bytes.erase(at, 1 + below(40));
        break;
      default:
        bytes.insert(below(bytes.size()), bytes.substr(at, 1 + below(200)));
        break;
    }
  }
  std::mt19937 random_;
};

void read_log(const fs::path& path) {
  const RunLog log = read_run_log(path);
  for (const LoggedStep& step : log.steps) {
    ASSERT_TRUE(!step.time || (step.time->value() > 0 && std::isfinite(step.time->value())));
    ASSERT_GE(step.steps, 1);
  }
  (void)launch_script_of(log);
}
void read_trace(const fs::path& path) {
  const TraceProfile profile = profile_of(read_kineto_trace(path));
  ASSERT_TRUE(std::isfinite(profile.step) && std::isfinite(profile.busy));
  ASSERT_GE(profile.exposed_messages, 0);
  for (const GemmShare& share : profile.gemms) ASSERT_TRUE(std::isfinite(share.rate));
}
void read_snapshot(const fs::path& path) {
  for (const SnapshotDevice& device : read_memory_snapshot(path).devices)
    ASSERT_TRUE(device.peak_allocated >= device.allocated && device.peak_reserved >= device.reserved);
}

struct HostileCorpus {
  std::string folder;
  void (*read)(const fs::path& path);
};
class HostileRuns : public testing::TestWithParam<HostileCorpus> {};

TEST_P(HostileRuns, are_read_or_refused) {
  std::vector<std::string> corpus;
  for (const auto& entry :
       fs::directory_iterator{fs::path{HEXAPLAN_SOURCE_DIR} / "tests/presets/runs" / GetParam().folder}) {
    if (entry.file_size() < 40'000) corpus.push_back(bytes_of(entry.path()));
  }
  ASSERT_FALSE(corpus.empty());
  const tests::TemporaryFolder own;
  const fs::path path = own.path() / "hostile";
  ByteMutator mutator;
  for (int i = from_environment("HEXAPLAN_FUZZ_CASES", 300); i-- > 0;) {
    const std::string bytes = mutator.changed(corpus[mutator.below(corpus.size())]);
    std::ofstream{path, std::ios::binary} << bytes;
    const auto start = std::chrono::steady_clock::now();
    try {
      GetParam().read(path);
    } catch (const InputError& error) {
      ASSERT_NE(std::string{error.what()}, "");
    }
    ASSERT_LT(std::chrono::steady_clock::now() - start, kLongestCase) << bytes;
    if (HasFatalFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(kinds, HostileRuns,
                         testing::Values(HostileCorpus{"logs", read_log}, HostileCorpus{"traces", read_trace},
                                         HostileCorpus{"snapshots", read_snapshot}),
                         [](const auto& row) { return row.param.folder; });

}  // namespace
}  // namespace hexaplan::presets
