#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace hexaplan::validator {

/// Hosts and links that are not there. Every rank has a clock of its own; only what ranks do together brings
/// clocks together, so that times do not depend on the machine that this runs on. Set by the environment
/// variable HEXAPLAN_SIMULATED, words of the form name=value:
///   folder=DIR        where processes meet (memory that they share); without it there is one GPU and no
///   links per_node=2        GPUs of a host node_us, node_GBps, network_us, network_GBps    latency and rate
///   of a link inside a host, and between beside=1.25       a product takes so much longer while a message is
///   under way slow=3 slowness=1.1    this rank's GPU takes so much longer for everything
struct SimulatedCluster {
  struct Link {
    double latency = 0, rate = 0;  // seconds, bytes per second
  };
  std::string folder;
  int per_node = 1;
  Link node, network;
  double beside = 1, sustained = 0.9, slowness = 1;
  int slow = -1, other = -1;

  [[nodiscard]] bool has_links() const { return !folder.empty(); }
};
[[nodiscard]] const SimulatedCluster& simulated_cluster();

/// This process among those of the job and its host among theirs, as torchrun says them (RANK, GROUP_RANK). 0
/// where it is alone.
[[nodiscard]] int simulated_process();
[[nodiscard]] int simulated_host();

/// A stream's clock, in seconds.
struct SimulatedStream {
  double now = 0;
};

/// What ranks of several processes tell each other, in shared memory.
class MeetingPlace {
 public:
  static constexpr int kMostRanks = 64;
  struct Result {
    double latest = 0;                 // of all times
    std::vector<std::int64_t> values;  // by index
  };
  [[nodiscard]] static MeetingPlace& here();

  /// Comes to the meeting `key` of `size`; does not wait.
  void announce(std::uint64_t key, int size, int index, double time, std::int64_t value);
  /// Whether all have come.
  [[nodiscard]] bool complete(std::uint64_t key, Result& result);
  /// announce, and waits. Whoever leaves last ends the meeting.
  [[nodiscard]] Result meet(std::uint64_t key, int size, int index, double time);
  /// The time of the one that announces a meeting of one; waits for it and ends the meeting.
  [[nodiscard]] double take(std::uint64_t key);

 private:
  MeetingPlace();
  struct Slot;
  struct Shared;
  [[nodiscard]] Slot& slot(std::uint64_t key);
  void wait_for(const Slot& slot);
  Shared* shared_ = nullptr;
};

/// One number of several.
[[nodiscard]] std::uint64_t mixed(std::span<const std::uint64_t> numbers);

}  // namespace hexaplan::validator
