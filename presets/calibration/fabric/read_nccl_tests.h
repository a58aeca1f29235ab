#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/compute/operation.h"
#include "costmodel/units/quantity.h"

namespace hexaplan::presets {

/// One size of a table: payload as nccl-tests counts it, times out of place and in place.
struct NcclTestRow {
  costmodel::Bytes payload;
  std::vector<costmodel::Seconds> times;  // one or two
};

/// One run of one of the nccl-tests.
struct NcclTest {
  costmodel::CollectiveKind kind = costmodel::CollectiveKind::AllReduce;
  int ranks = 0, nodes = 0;
  int ranks_per_host = 0;  // 0: not as many on each
  std::string device;      // as the driver names it: "NVIDIA H100 80GB HBM3"
  std::string version;     // of NCCL, "2.28.9"; empty: not printed
  std::vector<NcclTestRow> rows;
};

/// Reads what all_reduce_perf, all_gather_perf, reduce_scatter_perf, alltoall_perf, sendrecv_perf and
/// broadcast_perf print (NVIDIA/nccl-tests@a0b82b2 src/util.cu; older tables without the column "root", too),
/// also several runs one behind the other and lines that mpirun has tagged. The test's name stands in the
/// table's head, elsewhere in the file or in the file's name. InputError, with the line, for a run that
/// failed or found wrong values, rows that are cut off, a table whose bandwidths are another collective's, a
/// run on one rank, and files without any table.
[[nodiscard]] std::vector<NcclTest> read_nccl_tests(const std::filesystem::path& path);
/// The same from a text.
[[nodiscard]] std::vector<NcclTest> parse_nccl_tests(std::string_view text, const std::string& file);

}  // namespace hexaplan::presets
