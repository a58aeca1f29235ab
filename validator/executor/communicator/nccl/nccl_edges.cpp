// Messages of the pipeline: NcclJob's part that makes ways between two ranks and moves copies along them.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "validator/executor/communicator/clock.h"
#include "validator/executor/communicator/nccl/nccl_job.h"

namespace hexaplan::validator {
namespace {

/// Between looks at what still has to leave.
constexpr std::chrono::milliseconds kLookAtEdges{1};

}  // namespace

Edge& NcclJob::edge(const std::string& name, bool outgoing) {
  const auto named = [&](const Edge& edge) { return edge.name == name; };
  {
    const Lock lock{mutex_};
    throw_if_over();
    const auto found = std::find_if(edges_.begin(), edges_.end(), named);
    if (found != edges_.end()) return *found;
  }
  std::array<char, kHexaplanNcclIdBytes> id{};
  if (outgoing) {
    if (nccl_.make_id(id.data()) < 0) fail(FaultCause::Died, rank_, nccl_.last_error());
    publish(name, std::as_bytes(std::span{id}));
  } else {
    const Blob theirs = look_up(name);
    std::memcpy(id.data(), theirs.data(), std::min(theirs.size(), id.size()));
  }
  Lock lock{mutex_};
  throw_if_over();
  Edge& edge = edges_.emplace_back();
  edge.name = name;
  edge.stream = nccl_.make_stream();
  edge.communicator = nccl_.join_unblocked(id.data(), outgoing ? 0 : 1, 2);
  if (edge.stream == nullptr || edge.communicator == nullptr) end_by_nccl(lock);
  communicators_.push_back(edge.communicator);
  return edge;
}

void NcclJob::wait_until_open(Edge& edge) {
  hand_over(edge.communicator, [] { return kHexaplanNcclUnderWay; });
  const Lock lock{mutex_};
  edge.open = true;
}

void NcclJob::send(Edge& edge, Edge::Parcel parcel) {
  {
    const Lock lock{mutex_};
    throw_if_over();
    edge.queued.push_back(std::move(parcel));
    move_parcels();
  }
  wake_.notify_all();
}

/// Gives NCCL the first parcel that waits, if NCCL takes it without waiting.
bool NcclJob::move_first(Edge& edge) {
  Edge::Parcel& parcel = edge.queued.front();
  int state = edge.open && !edge.handing ? kHexaplanNcclReady : nccl_.state(edge.communicator);
  edge.open = edge.open || state == kHexaplanNcclReady;
  if (state == kHexaplanNcclReady && !edge.handing) {
    nccl_.wait(edge.stream, parcel.ready.get());
    state =
        nccl_.send(edge.communicator, edge.stream, parcel.copy.view().data, parcel.elements, parcel.type, 1);
    edge.handing = true;
  }
  if (state == kHexaplanNcclUnderWay) return false;
  if (state == kHexaplanNcclFailed) {
    suspect_nccl();
    return false;
  }
  edge.handing = false;
  parcel.sent = StreamMark{nccl_.mark(edge.stream), nccl_.release_mark};
  edge.sent.push_back(std::move(parcel));
  edge.queued.pop_front();
  return true;
}

/// Gives NCCL what it takes without waiting. Called with the lock held, by the rank and by the watcher.
void NcclJob::move_parcels() {
  for (Edge& edge : edges_) {
    while (!edge.queued.empty() && !fault_ && move_first(edge)) {
    }
  }
}

/// With the lock held.
bool NcclJob::has_left(const Edge::Parcel& parcel) const {
  return fault_ || nccl_.passed(parcel.sent.get()) != 0;
}

/// With the lock held; it is given up between two looks.
void NcclJob::wait_until_left(Edge& edge, Lock& lock, Clock::time_point deadline) {
  const auto all_left = [&] {
    return edge.queued.empty() && std::all_of(edge.sent.begin(), edge.sent.end(),
                                              [&](const Edge::Parcel& parcel) { return has_left(parcel); });
  };
  while (!fault_ && !all_left() && Clock::now() < deadline) {
    move_parcels();
    wake_.wait_for(lock, kLookAtEdges);
  }
}

/// With the lock held.
std::list<Edge> NcclJob::take_edges(std::string_view prefix) {
  std::list<Edge> taken;
  for (auto edge = edges_.begin(); edge != edges_.end();) {
    const auto at = edge++;
    if (!at->name.starts_with(prefix)) continue;
    communicators_.remove(at->communicator);
    taken.splice(taken.end(), edges_, at);
  }
  return taken;
}

void NcclJob::free_sent(std::string_view prefix, bool all) {
  std::vector<Tensor> free_now;  // on the rank's thread, without the lock
  std::list<Edge> ended;
  {
    Lock lock{mutex_};
    const auto deadline = Clock::now() + duration_of(options_.timeout);
    const bool waits = all && std::uncaught_exceptions() == 0;
    for (Edge& edge : edges_) {
      if (!edge.name.starts_with(prefix)) continue;
      if (waits) wait_until_left(edge, lock, deadline);
      for (; !edge.sent.empty() && (all || has_left(edge.sent.front())); edge.sent.pop_front())
        free_now.push_back(std::move(edge.sent.front().copy));
    }
    if (!all) return;
    ended = take_edges(prefix);
  }
  for (Edge& edge : ended) {
    nccl_.release(edge.communicator);
    nccl_.release_stream(edge.stream);
  }
}

}  // namespace hexaplan::validator
