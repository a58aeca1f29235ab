// What nvidia-smi --query-gpu=… --format=csv -l 1 writes beside a run.
#include "presets/runs/gpu_log.h"

#include <gmock/gmock.h>

#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

using costmodel::Bytes;
using testing::HasSubstr;

constexpr double kMebi = 1024.0 * 1024.0;

/// Idle at first; two GPUs take turns.
constexpr char kLog[] =
    "timestamp, name, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W], "
    "clocks.current.sm [MHz], clocks.max.sm [MHz], temperature.gpu\n"
    "2026/11/20 10:00:00.000, NVIDIA H100 80GB HBM3, 0, 0 %, 1024 MiB, 81559 MiB, 75.25 W, 345 MHz, 1980 "
    "MHz, 31\n"
    "2026/11/20 10:00:00.001, NVIDIA H100 80GB HBM3, 1, 0 %, 512 MiB, 81559 MiB, 74.75 W, 345 MHz, 1980 MHz, "
    "30\n"
    "2026/11/20 10:00:01.000, NVIDIA H100 80GB HBM3, 0, 98 %, 61234 MiB, 81559 MiB, 655.50 W, 1755 MHz, 1980 "
    "MHz, 63\n"
    "2026/11/20 10:00:01.001, NVIDIA H100 80GB HBM3, 1, 100 %, 61000 MiB, 81559 MiB, 660.00 W, 1740 MHz, "
    "1980 MHz, 64\n"
    "2026/11/20 10:00:02.000, NVIDIA H100 80GB HBM3, 0, 100 %, 60000 MiB, 81559 MiB, 664.50 W, 1725 MHz, "
    "1980 MHz, 65\n"
    "2026/11/20 10:00:03.000, NVIDIA H100 80GB HBM3, 0, 99 %, 60000 MiB, 81559 MiB, [N/A], 1755 MHz, 1980 "
    "MHz, 64\n";

TEST(gpu_log, says_of_every_gpu_what_its_busy_samples_have) {
  const GpuLog log = parse_gpu_log(kLog, "smi.csv");
  ASSERT_EQ(log.gpus.size(), 2U);
  const LoggedGpu& first = log.gpus[0];
  EXPECT_EQ(first.gpu, "0");
  EXPECT_EQ(first.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(first.samples, 4U);
  EXPECT_EQ(first.busy, 3U) << "it was idle at first";
  EXPECT_EQ(first.memory, Bytes{61234 * kMebi});
  EXPECT_EQ(first.capacity, Bytes{81559 * kMebi});
  EXPECT_DOUBLE_EQ(first.utilisation.value(), 99);
  EXPECT_DOUBLE_EQ(first.watts.value(), 660) << "of the samples that have it";
  EXPECT_DOUBLE_EQ(first.sm_mhz.value(), 1755);
  EXPECT_DOUBLE_EQ(first.most_sm_mhz.value(), 1980);
  EXPECT_DOUBLE_EQ(first.celsius.value(), 65);
  EXPECT_EQ(log.gpus[1].samples, 2U);
}

TEST(gpu_log, is_read_without_units_and_with_few_columns) {
  const GpuLog log = parse_gpu_log("memory.used [MiB]\n100\n300\n200\n", "smi.csv");
  ASSERT_EQ(log.gpus.size(), 1U);
  EXPECT_EQ(log.gpus[0].memory, Bytes{300 * kMebi});
  EXPECT_EQ(log.gpus[0].busy, 3U) << "nothing says which samples are busy";
  EXPECT_EQ(log.gpus[0].watts, std::nullopt);
}

struct Refused {
  const char* name;
  const char* text;
  const char* message;
};
class RefusedGpuLog : public testing::TestWithParam<Refused> {};

TEST_P(RefusedGpuLog, is_refused_in_one_line) {
  try {
    static_cast<void>(parse_gpu_log(GetParam().text, "smi.csv"));
    FAIL() << "read";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
  }
}

INSTANTIATE_TEST_SUITE_P(
    table, RefusedGpuLog,
    testing::Values(
        Refused{"words", "memory.used [MiB]\n12 MiB\nmany MiB\n",
                "smi.csv:3: memory.used: got \"many MiB\", expected a number, with or without its unit"},
        Refused{"less_than_nothing", "power.draw [W]\n-1 W\n", "got \"-1 W\""},
        Refused{"no_sample", "power.draw [W]\n", "got a header alone, expected samples of nvidia-smi"},
        Refused{"other_columns", "timestamp, pstate\n1, P0\n", "got none of these columns"},
        Refused{"a_short_row", "index, power.draw [W]\n0\n",
                "smi.csv:2: got 1 cells, expected 2, as many as the header has"}),
    [](const auto& info) { return std::string{info.param.name}; });

}  // namespace
}  // namespace hexaplan::presets
