#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "validator/communicator/run_ranks.h"

namespace hexaplan::validator {

/// What a backend of the executor provides.
enum class BackendRole : std::uint8_t { Device, Ranks };

/// One way of computing or of having ranks, and whether this machine can.
struct BackendState {
  std::string name;  // as --device and --ranks take it
  BackendRole role = BackendRole::Ranks;
  std::string what;  // "ranks are processes on one or several hosts"
  bool available = false;
  std::string detail;  // what was found: "Open MPI v4.1.4", or why it is missing
  std::string remedy;  // what to install or do; empty when available
};

/// Every backend that Hexaplan knows, available or not.
[[nodiscard]] std::vector<BackendState> list_backends();

/// A backend for ranks. nullptr when it is not available or not known: list_backends says why.
[[nodiscard]] std::unique_ptr<RankBackend> make_rank_backend(std::string_view name);

}  // namespace hexaplan::validator
