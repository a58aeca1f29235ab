#pragma once
#include <cstdint>
#include <memory>

#include "validator/executor/backends/module.h"
#include "validator/executor/communicator/mpi/mpi_functions.h"
#include "validator/executor/communicator/run_ranks.h"

namespace hexaplan::validator {

using MpiLibrary = FunctionTable<HexaplanMpi>;
/// Loads the module hexaplan_mpi, once per process.
[[nodiscard]] const MpiLibrary& find_mpi();

/// True in a process that mpirun, mpiexec or srun started as one of several: looks at the environment only.
[[nodiscard]] bool launched_by_mpi();

/// 1 GiB of float64: some libraries count bytes in an int as well.
inline constexpr std::int64_t kMostMpiElements = std::int64_t{1} << 27;

/// Ranks are the processes of one MPI job; every process runs its own rank. Initialises MPI. nullptr when
/// there is no MPI. RankBackend::run throws std::runtime_error when options.ranks is not the size of the job.
/// `most_elements`: what one call of MPI, whose counts are ints, is given; longer messages go in pieces.
[[nodiscard]] std::unique_ptr<RankBackend> make_mpi_ranks(std::int64_t most_elements = kMostMpiElements);

}  // namespace hexaplan::validator
