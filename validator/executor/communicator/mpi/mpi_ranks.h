#pragma once
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

/// Ranks are the processes of one MPI job; every process runs its own rank. Initialises MPI. nullptr when
/// there is no MPI. RankBackend::run throws std::runtime_error when options.ranks is not the size of the job.
[[nodiscard]] std::unique_ptr<RankBackend> make_mpi_ranks();

}  // namespace hexaplan::validator
