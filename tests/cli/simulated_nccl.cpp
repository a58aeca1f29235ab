// NCCL between GPUs that are not there, in one process or in several: nothing is moved, and every message
// takes as long on the streams' clocks as a ring of its group over links that the test knows; between hosts
// as long as NCCL's own model says over a network that the test knows.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "costmodel/communication/collective_time.h"
#include "presets/clusters/cluster_preset.h"
#include "tests/cli/simulated_cluster.h"
#include "validator/executor/communicator/nccl/nccl_functions.h"
#include "validator/executor/device/cuda/gpu_error.h"

namespace hexaplan::validator {
namespace {

using costmodel::CollectiveKind;
using Link = SimulatedCluster::Link;

/// What messages of one kind tell apart.
enum : std::uint64_t { kJoin = 1, kSplit, kPart, kCollective, kMessage, kAtOnce };

struct Group {
  std::uint64_t id = 0;
  int rank = 0, size = 0;
  std::vector<int> world_ranks;  // by rank; empty until all have come
  // Until then: the meeting, and whether it is a split of `parent`.
  std::uint64_t meeting = 0;
  const Group* parent = nullptr;
  int colour = 0;
  std::uint64_t calls = 0, splits = 0;
  /// Groups of the same size that one split made, this one included: they share cards when they talk at once.
  struct Sister {
    int world_rank, colour;
  };
  std::vector<Sister> sisters;  // all ranks of all of them; empty: no other group
  int among_sisters = 0;
  std::uint64_t family = 0, at_once = 0;
  std::atomic<bool> aborted{false};
  std::array<std::uint64_t, MeetingPlace::kMostRanks> sent{}, received{};
};

/// Of the calling thread.
int& world_rank() {
  static thread_local int rank = 0;
  return rank;
}
std::string& error_text() {
  static thread_local std::string text;
  return text;
}

Group& group_of(void* handle) {
  return *static_cast<Group*>(handle);
}
SimulatedStream& clock_of(void* stream) {
  return *static_cast<SimulatedStream*>(stream);
}

double bytes_of_elements(std::int64_t count, int type) {
  constexpr std::array kBytes{8.0, 4.0, 2.0, 4.0, 2.0, 1.0};  // by HexaplanNcclType
  return static_cast<double>(count) * kBytes.at(static_cast<std::size_t>(type));
}

bool in_one_node(const std::vector<int>& world_ranks) {
  const int per_node = simulated_cluster().per_node;
  return std::all_of(world_ranks.begin(), world_ranks.end(),
                     [&](int rank) { return rank / per_node == world_ranks.front() / per_node; });
}

/// A cluster of such hosts, as `calibrate` and `validate` are told of it.
const costmodel::ClusterSpec& cluster_of_hosts() {
  static const costmodel::ClusterSpec cluster = [] {
    constexpr int kHosts = 64;  // enough for any test
    const int per_node = simulated_cluster().per_node;
    costmodel::ClusterSpec made =
        presets::parse_cluster(std::to_string(kHosts) + "x" + std::to_string(per_node) + "xH100+ib400");
    for (costmodel::NetworkLevel& level : made.levels) {
      if (level.fabric == costmodel::Fabric::Network)
        level.bandwidth = costmodel::BytesPerSecond{simulated_cluster().network.rate};
    }
    return made;
  }();
  return cluster;
}

/// Between hosts a message takes what NCCL's own model says (NVIDIA/nccl src/graph/tuning.cc: of a ring's
/// steps those between nodes, 2 (nodes - 1) of an all-reduce, wait for the network) over cards that attain
/// the rate and add the latency to each of those steps.
double over_network(CollectiveKind kind, double payload, const std::vector<int>& world_ranks,
                    int sharing = 1) {
  const int per_node = simulated_cluster().per_node;
  std::set<int> hosts;
  for (const int rank : world_ranks) hosts.insert(rank / per_node);
  const auto ranks = static_cast<std::int64_t>(world_ranks.size());
  costmodel::GroupPlacement group;
  group.ranks = ranks;
  const costmodel::ClusterSpec& cluster = cluster_of_hosts();
  group.levels = static_cast<int>(cluster.levels.size());
  for (std::size_t i = 0; i < cluster.levels.size(); ++i) {
    const bool inside = cluster.levels[i].fabric != costmodel::Fabric::Network;
    group.within[i] = inside ? ranks / static_cast<std::int64_t>(hosts.size()) : ranks;
  }
  costmodel::Calibration links;
  links.network = {.bandwidth_efficiency = std::pow(1 - simulated_cluster().contention, std::log2(sharing)),
                   .hop_latency = costmodel::Seconds{simulated_cluster().network.latency},
                   .pair_share = simulated_cluster().pairs,
                   .exchange_share = simulated_cluster().exchange};
  return costmodel::collective_cost(kind, costmodel::Bytes{payload}, group, cluster, links).time.value();
}

/// How many groups talk through the cards of this group's hosts while it does, this one included. All ranks
/// of all groups have to come: a program that does not let them talk at once is found here.
int groups_that_share(Group& group, CollectiveKind kind, double payload, double begin) {
  if (group.sisters.empty() || simulated_cluster().contention == 0) return 1;
  constexpr double kPicosecond = 1e-12;
  const std::array key{group.family, std::uint64_t{kAtOnce}, group.at_once++};
  const auto ranks = static_cast<int>(group.sisters.size());
  const std::vector<std::int64_t> begins = MeetingPlace::here()
                                               .meet(mixed(key), ranks, group.among_sisters, begin,
                                                     group.aborted, std::llround(begin / kPicosecond))
                                               .values;
  const double lasts = over_network(kind, payload, group.world_ranks);
  const int per_node = simulated_cluster().per_node;
  const auto on_my_hosts = [&](int rank) {
    return std::any_of(group.world_ranks.begin(), group.world_ranks.end(),
                       [&](int mine) { return mine / per_node == rank / per_node; });
  };
  std::set<int> colours{group.colour};
  for (std::size_t i = 0; i < group.sisters.size(); ++i) {
    const bool at_once = std::abs(static_cast<double>(begins[i]) * kPicosecond - begin) < lasts;
    if (at_once && on_my_hosts(group.sisters[i].world_rank)) colours.insert(group.sisters[i].colour);
  }
  return static_cast<int>(colours.size());
}

void messages_until(double time) {
  messages_under_way() = std::max(messages_under_way(), time);
}

template <class Run>
int guarded(const char* call, const Run& run) {
  try {
    fail_if_told(call);
    run();
    return kHexaplanNcclReady;
  } catch (const std::exception& problem) {
    error_text() = problem.what();
    return kHexaplanNcclFailed;
  }
}

/// All ranks begin with the last. Inside a host: `rounds` of a ring, each of `bytes` along every link.
int collective(const char* call, void* handle, void* stream, CollectiveKind kind, double rounds,
               double bytes) {
  return guarded(call, [&] {
    Group& group = group_of(handle);
    SimulatedStream& clock = clock_of(stream);
    const std::array key{group.id, std::uint64_t{kCollective}, group.calls++};
    const double begin =
        MeetingPlace::here().meet(mixed(key), group.size, group.rank, clock.now, group.aborted).latest;
    const Link link = simulated_cluster().node;
    const bool all_in_one_round = kind == CollectiveKind::Broadcast;
    const double payload = bytes * (all_in_one_round ? 1 : group.size);
    clock.now = begin + (in_one_node(group.world_ranks)
                             ? rounds * (link.latency + bytes / link.rate)
                             : over_network(kind, payload, group.world_ranks,
                                            groups_that_share(group, kind, payload, begin)));
    messages_until(clock.now);
  });
}

int make_id(char* id) {
  const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  static std::uint64_t next = 0;
  const std::array numbers{now, static_cast<std::uint64_t>(getpid()), ++next};
  const std::uint64_t number = mixed(numbers);
  std::memset(id, 0, kHexaplanNcclIdBytes);
  std::memcpy(id, &number, sizeof number);
  return kHexaplanNcclReady;
}

void* join_group(const char* id, int rank, int size) {
  auto group = std::make_unique<Group>();
  std::memcpy(&group->id, id, sizeof group->id);
  group->rank = rank;
  group->size = size;
  const std::array key{group->id, std::uint64_t{kJoin}};
  group->meeting = mixed(key);
  MeetingPlace::here().announce(group->meeting, size, rank, 0, world_rank());
  return group.release();
}
void* join(const char* id, int rank, int size) {
  world_rank() = rank;
  return join_group(id, rank, size);
}

void* split(void* handle, int colour, int key) {
  if (guarded("split", [] {}) == kHexaplanNcclFailed) return nullptr;
  Group& parent = group_of(handle);
  auto group = std::make_unique<Group>();
  const std::array meeting{parent.id, std::uint64_t{kSplit}, parent.splits++};
  group->meeting = mixed(meeting);
  group->parent = &parent;
  group->colour = colour;
  group->rank = parent.rank;
  constexpr std::int64_t kColours = 1 << 16;
  MeetingPlace::here().announce(group->meeting, parent.size, parent.rank, 0, (colour + 1) * kColours + key);
  return group.release();
}

/// Among all parts of a split. Before the group's rank is that among its own members.
void find_sisters(Group& group, const std::vector<std::int64_t>& wishes) {
  constexpr std::int64_t kColours = 1 << 16;
  std::map<std::int64_t, int> sizes;
  for (const std::int64_t wish : wishes) ++sizes[wish / kColours - 1];
  for (std::size_t rank = 0; rank < wishes.size(); ++rank) {
    const std::int64_t colour = wishes[rank] / kColours - 1;
    if (colour < 0 || sizes[colour] != group.size) continue;
    if (static_cast<int>(rank) == group.rank) group.among_sisters = static_cast<int>(group.sisters.size());
    group.sisters.push_back({group.parent->world_ranks[rank], static_cast<int>(colour)});
  }
  if (static_cast<int>(group.sisters.size()) == group.size) group.sisters.clear();
  group.family = group.meeting;
}

/// All wishes are known: who is in this part, by key.
void part(Group& group, const std::vector<std::int64_t>& wishes) {
  constexpr std::int64_t kColours = 1 << 16;
  std::vector<std::pair<std::int64_t, int>> members;  // key, parent's rank
  for (int rank = 0; rank < static_cast<int>(wishes.size()); ++rank) {
    const std::int64_t wish = wishes[static_cast<std::size_t>(rank)];
    if (wish / kColours - 1 == group.colour) members.emplace_back(wish % kColours, rank);
  }
  std::sort(members.begin(), members.end());
  group.size = static_cast<int>(members.size());
  for (int rank = 0; rank < group.size; ++rank) {
    const int of_parent = members[static_cast<std::size_t>(rank)].second;
    group.world_ranks.push_back(group.parent->world_ranks[static_cast<std::size_t>(of_parent)]);
  }
  find_sisters(group, wishes);
  const std::array id{group.meeting, std::uint64_t{kPart}, static_cast<std::uint64_t>(group.colour)};
  const int of_parent = group.rank;
  const auto self = std::find_if(members.begin(), members.end(),
                                 [&](const auto& member) { return member.second == of_parent; });
  group.rank = static_cast<int>(self - members.begin());
  group.id = mixed(id);
}

int state(void* handle) {
  Group& group = group_of(handle);
  if (group.meeting == 0) return kHexaplanNcclReady;
  MeetingPlace::Result result;
  if (!MeetingPlace::here().complete(group.meeting, result)) return kHexaplanNcclUnderWay;
  if (group.parent == nullptr) {
    group.world_ranks.assign(result.values.begin(), result.values.end());
  } else if (group.colour >= 0) {
    part(group, result.values);
  }
  group.meeting = 0;
  return kHexaplanNcclReady;
}

double share(void* handle) {
  return 1.0 / group_of(handle).size;
}
double rounds(void* handle) {
  return group_of(handle).size - 1;
}

int all_reduce(void* handle, void* stream, void* /*data*/, std::int64_t count, int type, int /*reduction*/) {
  return collective("all_reduce", handle, stream, CollectiveKind::AllReduce, 2 * rounds(handle),
                    share(handle) * bytes_of_elements(count, type));
}
int reduce_scatter(void* handle, void* stream, const void* /*in*/, void* /*out*/, std::int64_t count,
                   int type, int /*reduction*/) {
  return collective("reduce_scatter", handle, stream, CollectiveKind::ReduceScatter, rounds(handle),
                    bytes_of_elements(count, type));
}
/// Nothing is moved; integers are taken to be the same on all ranks, as counts of tokens are that go to
/// experts in turn.
int all_gather(void* handle, void* stream, const void* in, void* out, std::int64_t count, int type) {
  if (type == kHexaplanNcclI32) {
    const auto own = static_cast<std::size_t>(count);
    const std::vector<std::int32_t> mine = integers_at(in, own);
    for (int rank = 0; rank < group_of(handle).size; ++rank)
      write_integers(static_cast<std::int32_t*>(out) + static_cast<std::size_t>(rank) * own, mine);
  }
  return collective("all_gather", handle, stream, CollectiveKind::AllGather, rounds(handle),
                    bytes_of_elements(count, type));
}
int broadcast(void* handle, void* stream, void* /*data*/, std::int64_t count, int type, int /*root*/) {
  return collective("broadcast", handle, stream, CollectiveKind::Broadcast, 1,
                    bytes_of_elements(count, type));
}

/// Sends and receives that run as one; what a GPU sends and what it receives go beside each other.
struct Messages {
  struct Message {
    int peer;
    double bytes;
  };
  bool open = false;
  void* stream = nullptr;
  std::vector<Message> sends, receives;
};
Messages& messages() {
  static thread_local Messages current;
  return current;
}

std::uint64_t message_key(const Group& group, int from, int to, std::uint64_t number) {
  const std::array key{group.id, std::uint64_t{kMessage}, static_cast<std::uint64_t>(from),
                       static_cast<std::uint64_t>(to), number};
  return mixed(key);
}

/// One to every other rank are an all-to-all, in which a rank's own part counts; others run beside each
/// other, as those of a ring.
double messages_over_network(Group& group, const Messages& run, double bytes, double begin) {
  const auto others = static_cast<double>(group.size - 1);
  const bool all = run.sends.size() > 1 && static_cast<double>(run.sends.size()) == others;
  const CollectiveKind kind = all ? CollectiveKind::AllToAll : CollectiveKind::SendRecv;
  const double payload = all ? bytes * group.size / others : bytes;
  return over_network(kind, payload, group.world_ranks, groups_that_share(group, kind, payload, begin));
}

int run_messages(void* handle, const Messages& run) {
  return guarded("send", [&] {
    Group& group = group_of(handle);
    SimulatedStream& clock = clock_of(run.stream);
    const Link link = simulated_cluster().node;
    for (const Messages::Message& m : run.sends) {
      const auto peer = static_cast<std::size_t>(m.peer);
      MeetingPlace::here().announce(message_key(group, group.rank, m.peer, group.sent[peer]++), 1, 0,
                                    clock.now, 0);
    }
    double begin = clock.now, sent = 0, received = 0, bytes = 0;
    for (const Messages::Message& m : run.sends) {
      sent += link.latency + m.bytes / link.rate;
      bytes += m.bytes;
    }
    for (const Messages::Message& m : run.receives) {
      const auto peer = static_cast<std::size_t>(m.peer);
      begin =
          std::max(begin, MeetingPlace::here().take(
                              message_key(group, m.peer, group.rank, group.received[peer]++), group.aborted));
      received += link.latency + m.bytes / link.rate;
      if (run.sends.empty()) bytes += m.bytes;
    }
    clock.now = begin + (in_one_node(group.world_ranks) ? std::max(sent, received)
                                                        : messages_over_network(group, run, bytes, begin));
    // A message between two stages is too small to slow anything down.
    if (run.sends.size() + run.receives.size() > 1) messages_until(clock.now);
  });
}

int add_message(void* handle, void* stream, std::vector<Messages::Message> Messages::*list,
                Messages::Message message) {
  if (messages().open) {
    messages().stream = stream;
    if (message.peer == group_of(handle).rank) return kHexaplanNcclReady;  // a copy
    (messages().*list).push_back(message);
    return kHexaplanNcclReady;
  }
  Messages one{.stream = stream};
  (one.*list).push_back(message);
  return run_messages(handle, one);
}
int send(void* handle, void* stream, const void* /*data*/, std::int64_t count, int type, int to) {
  return add_message(handle, stream, &Messages::sends, {to, bytes_of_elements(count, type)});
}
int receive(void* handle, void* stream, void* /*data*/, std::int64_t count, int type, int from) {
  return add_message(handle, stream, &Messages::receives, {from, bytes_of_elements(count, type)});
}
int group_begin() {
  messages() = {.open = true};
  return kHexaplanNcclReady;
}
int group_end(void* handle) {
  const Messages ended = std::exchange(messages(), {});
  return ended.sends.empty() && ended.receives.empty() ? int{kHexaplanNcclReady}
                                                       : run_messages(handle, ended);
}

void* mark(void* stream) {
  return new double{clock_of(stream).now};
}
void wait(void* stream, void* mark) {
  double& now = clock_of(stream).now;
  now = std::max(now, *static_cast<double*>(mark));
}

}  // namespace
}  // namespace hexaplan::validator

extern "C" const HexaplanNccl* hexaplan_nccl() {
  using namespace hexaplan::validator;
  static const HexaplanNccl functions{
      .version = kHexaplanNcclVersion,
      .library = "NCCL, simulated",
      .gpus = [] { return simulated_cluster().has_links() ? simulated_cluster().per_node : 0; },
      .adopt = [](void*) -> int {
        messages_under_way() = 0;
        return kHexaplanNcclReady;
      },
      .free_bytes = []() -> std::int64_t { return std::int64_t{80} << 30; },
      .last_error = [] { return error_text().c_str(); },
      .make_id = make_id,
      .join = join,
      .join_unblocked = join_group,
      .split = split,
      .state = state,
      .release = [](void* handle) { delete &group_of(handle); },
      .abort = [](void* handle) { group_of(handle).aborted = true; },
      .all_reduce = all_reduce,
      .reduce_scatter = reduce_scatter,
      .all_gather = all_gather,
      .broadcast = broadcast,
      .group_begin = group_begin,
      .group_end = group_end,
      .send = send,
      .receive = receive,
      .make_stream = []() -> void* { return new SimulatedStream; },
      .release_stream = [](void* stream) { delete static_cast<SimulatedStream*>(stream); },
      .mark = mark,
      .passed = [](void*) -> int { return kHexaplanNcclReady; },
      .wait = wait,
      .release_mark = [](void* handle) { delete static_cast<double*>(handle); },
      .timed_mark = mark,
      .between = [](void* begin,
                    void* end) { return *static_cast<double*>(end) - *static_cast<double*>(begin); },
  };
  return &functions;
}
