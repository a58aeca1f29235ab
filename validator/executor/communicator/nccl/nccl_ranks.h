#pragma once
#include <optional>
#include <string>
#include <utility>

#include "validator/executor/backends/module.h"
#include "validator/executor/communicator/bootstrap/launcher.h"
#include "validator/executor/communicator/nccl/nccl_functions.h"
#include "validator/executor/communicator/run_ranks.h"

namespace hexaplan::validator {

using NcclLibrary = FunctionTable<HexaplanNccl>;
/// Loads the module hexaplan_nccl, once per process.
[[nodiscard]] const NcclLibrary& find_nccl();

struct NcclRanksOptions {
  /// Where this process stands among those of a launcher; nothing: it is alone.
  std::optional<JobPlace> place;
  /// GPUs of this process, each a thread; 0: one under a launcher, else as many as the layout has ranks.
  int gpus = 0;
};

/// Ranks are GPUs: one per process, or several per process with a thread each.
class NcclRanks : public RankBackend {
 public:
  NcclRanks(const HexaplanNccl& nccl, NcclRanksOptions options) : nccl_{nccl}, options_{std::move(options)} {}
  /// Throws BootstrapError when the processes cannot find each other, or are not as many ranks and GPUs as
  /// the layout needs.
  void run(const RankOptions& options, const RankProgram& program) override;
  [[nodiscard]] int fixed_ranks() const override;
  [[nodiscard]] int first_local_rank() const override;
  [[nodiscard]] bool holds(int world_rank) const override;
  [[nodiscard]] int gpu_of(int world_rank) const override;

 private:
  [[nodiscard]] int gpus_of_process(int ranks) const;
  const HexaplanNccl& nccl_;
  NcclRanksOptions options_;
};

}  // namespace hexaplan::validator
