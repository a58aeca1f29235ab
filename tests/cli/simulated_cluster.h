#pragma once
#include <atomic>
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
///   folder=DIR             where processes meet (memory that they share); without it: one GPU and no links
///   per_node=2             GPUs of a host
///   node_us, node_GBps     latency and rate of a link inside a host
///   network_us, network_GBps   what the network adds to each of NCCL's own steps between hosts, and what
///                          one of its cards attains
///   contention=0.1         of a card's rate, lost per doubling of the groups of a split that talk through a
///                          host's cards at the same time
///   pairs=0.8 exchange=0.7 of that rate, what messages between two ranks and all-to-alls attain
///   beside=1.25            a product takes so much longer while a message is under way
///   slow=3 slowness=1.1    this rank's GPU takes so much longer for everything
///   fails=gemm:cudaErrorLaunchFailure failing=1    this call fails with this code, in process 1 alone: open,
///                          allocate, gemm, attention, copy of the GPU; split, all_reduce, all_gather,
///                          reduce_scatter, send of NCCL
struct SimulatedCluster {
  struct Link {
    double latency = 0, rate = 0;  // seconds, bytes per second
  };
  std::string folder;
  int per_node = 1;
  Link node, network;
  double contention = 0, pairs = 1, exchange = 1;
  double beside = 1, sustained = 0.9, slowness = 1;
  int slow = -1, other = -1, failing = 0;
  std::string failing_call, failing_code;

  [[nodiscard]] bool has_links() const { return !folder.empty(); }
};
[[nodiscard]] const SimulatedCluster& simulated_cluster();

/// Throws what this call fails with here, as the module of the library that the code belongs to says it; -1:
/// of no GPU.
void fail_if_told(const char* call, int gpu = -1);

/// This process among those of the job and its host among theirs, as torchrun says them (RANK, GROUP_RANK). 0
/// where it is alone.
[[nodiscard]] int simulated_process();
[[nodiscard]] int simulated_host();

/// A stream's clock, in seconds.
struct SimulatedStream {
  double now = 0;
};

/// Until when messages of the calling thread's rank are under way, on whichever of its streams.
[[nodiscard]] double& messages_under_way();

/// Integers in the memory of this thread's GPU, which nobody else keeps: experts and counts that the host
/// wrote, and copies of them. 0 where nobody wrote.
void write_integers(const void* at, std::span<const std::int32_t> numbers);
[[nodiscard]] std::vector<std::int32_t> integers_at(const void* at, std::size_t count);
void forget_integers(const void* at, std::size_t bytes);

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
  /// announce, and waits, until `given_up` is set. Whoever leaves last ends the meeting.
  [[nodiscard]] Result meet(std::uint64_t key, int size, int index, double time,
                            const std::atomic<bool>& given_up, std::int64_t value = 0);
  /// The time of the one that announces a meeting of one; waits for it and ends the meeting.
  [[nodiscard]] double take(std::uint64_t key, const std::atomic<bool>& given_up);

 private:
  MeetingPlace();
  struct Slot;
  struct Shared;
  [[nodiscard]] Slot& slot(std::uint64_t key);
  void wait_for(const Slot& slot, const std::atomic<bool>& given_up);
  Shared* shared_ = nullptr;
};

/// One number of several.
[[nodiscard]] std::uint64_t mixed(std::span<const std::uint64_t> numbers);

}  // namespace hexaplan::validator
