#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/units/quantity.h"
#include "validator/executor/communicator/bootstrap/socket.h"

namespace hexaplan::validator {

/// Bytes that nobody here looks into.
using Blob = std::vector<std::byte>;

/// Who may come to a store.
struct StoreJob {
  std::string name;
  int ranks = 1;
  /// RankOptions::run. A server turns away who comes for another one, until that is its own.
  std::string run = {};
};

/// What processes of a job share before they have a communicator, and beside it: values under names, and
/// meetings. Lives in process 0, on a thread of its own.
class StoreServer {
 public:
  /// port 0: any free one. Throws BootstrapError.
  StoreServer(StoreJob job, int port);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;
  [[nodiscard]] int port() const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

/// A rank's connection to the store; it may have several. When the last of them ends and none said goodbye,
/// every wait of the others, under way or later, ends with a BootstrapError that names the rank. Calls of
/// several threads take turns.
class Store {
 public:
  /// Process 0 may be late, or still in the run before this one: tries until the time is over. Throws
  /// BootstrapError.
  Store(const Address& at, const StoreJob& job, int rank, costmodel::Seconds timeout);
  /// Says goodbye.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// All throw BootstrapError, with the rank that died if one did.
  void set(std::string_view key, std::span<const std::byte> value);
  [[nodiscard]] std::optional<Blob> find(std::string_view key);
  /// Waits until somebody has set it.
  [[nodiscard]] Blob get(std::string_view key);
  /// Returns when `size` ranks have come to the meeting of this name: what they brought, by index. A name
  /// can be used again.
  std::vector<Blob> meet(std::string_view name, int index, int size, std::span<const std::byte> mine);
  /// Ends what another thread waits for here, now and later, with a BootstrapError.
  void interrupt();

 private:
  /// Connects and says hello. What process 0 does instead of this run; nothing: it is here.
  std::optional<std::string> enter(const Address& at, const StoreJob& job, int rank, Deadline deadline);
  Blob ask(std::span<const std::byte> request);
  std::mutex mutex_;
  Socket socket_;
  costmodel::Seconds timeout_;
};

}  // namespace hexaplan::validator
