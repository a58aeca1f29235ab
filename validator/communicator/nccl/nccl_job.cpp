#include "validator/communicator/nccl/nccl_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "validator/communicator/bootstrap/store_messages.h"

namespace hexaplan::validator {
namespace {

using store_messages::Packer;
using store_messages::Unpacker;

constexpr const char* kFaultKey = "fault";
constexpr std::chrono::microseconds kNap{20};
/// The watcher looks this often; more often while something waits to be sent.
constexpr std::chrono::milliseconds kLook{50}, kLookSoon{1};
/// Asking the store costs a message to process 0 per rank.
constexpr std::chrono::milliseconds kListen{250};

std::chrono::steady_clock::duration duration_of(costmodel::Seconds time) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>{time.value()});
}

Blob packed(const Fault& fault) {
  Packer out{fault.cause};
  out.number(std::int32_t{fault.rank}).text(fault.reason);
  const LastCall& call = fault.call;
  out.text(call.operation).text(call.what).number(call.layer).number(call.microbatch).number(call.calls);
  out.number(call.inside).number(call.answered);
  const Blob& bytes = out.finish();
  return {bytes.begin() + sizeof(std::uint32_t), bytes.end()};
}

Fault unpacked(const Blob& bytes) {
  Unpacker in{bytes};
  Fault fault{.cause = in.number<FaultCause>(), .rank = in.number<std::int32_t>(), .reason = in.text()};
  fault.call = {.rank = fault.rank, .operation = in.text(), .what = in.text()};
  fault.call.layer = in.number<int>();
  fault.call.microbatch = in.number<int>();
  fault.call.calls = in.number<std::int64_t>();
  fault.call.inside = in.number<bool>();
  fault.call.answered = in.number<bool>();
  return fault;
}

}  // namespace

NcclJob::NcclJob(const HexaplanNccl& nccl, const RankOptions& options, int rank, const Address& at,
                 const StoreJob& job)
    : nccl_{nccl},
      options_{options},
      rank_{rank},
      store_{at, job, rank, options.timeout},
      notices_{at, job, rank, options.timeout} {
  last_.rank = rank;
  watcher_ = std::thread{[this] { watch_streams(); }};
}

NcclJob::~NcclJob() {
  {
    const Lock lock{mutex_};
    stops_ = true;
  }
  wake_.notify_all();
  watcher_.join();
}

void NcclJob::adopt(void* stream) {
  if (nccl_.adopt(stream) < 0) throw std::runtime_error{nccl_.last_error()};
  const Lock lock{mutex_};
  stream_ = stream;
}

void NcclJob::throw_fault() {
  throw RankFault{*fault()};
}

std::optional<Fault> NcclJob::fault() {
  const Lock lock{mutex_};
  return fault_;
}

void NcclJob::throw_if_over() {
  if (fault_) throw RankFault{*fault_};
}

void NcclJob::begin_call(const Call& call, std::string_view what) {
  const Lock lock{mutex_};
  throw_if_over();
  last_.operation = call.operation;
  last_.what = what;
  last_.layer = call.layer;
  last_.microbatch = call.microbatch;
  last_.inside = true;
  ++last_.calls;
}

void NcclJob::end_call() {
  const Lock lock{mutex_};
  last_.inside = false;
}

void NcclJob::nap(Lock& lock) {
  lock.unlock();
  std::this_thread::sleep_for(kNap);
  lock.lock();
  throw_if_over();
}

void NcclJob::hand_over(void* communicator, const std::function<int()>& start) {
  const auto deadline = Clock::now() + duration_of(options_.timeout);
  Lock lock{mutex_};
  throw_if_over();
  int state = start();
  while (state == kHexaplanNcclUnderWay) {
    if (Clock::now() > deadline) {
      declare(FaultCause::TimedOut, rank_,
              fmt::format("waited {:g} s: not all ranks have come", options_.timeout.value()));
    }
    nap(lock);
    state = nccl_.state(communicator);
  }
  if (state == kHexaplanNcclFailed) declare(FaultCause::Died, rank_, nccl_.last_error());
  throw_if_over();
}

void* NcclJob::open(const std::function<void*()>& make) {
  void* communicator = nullptr;
  {
    const Lock lock{mutex_};
    throw_if_over();
    communicator = make();
    if (communicator == nullptr) declare(FaultCause::Died, rank_, nccl_.last_error());
    throw_if_over();
    communicators_.push_back(communicator);
  }
  hand_over(communicator, [&] { return nccl_.state(communicator); });
  return communicator;
}

void NcclJob::release(void* communicator) {
  if (communicator == nullptr) return;
  {
    const Lock lock{mutex_};
    communicators_.remove(communicator);
  }
  nccl_.release(communicator);
}

StreamMark NcclJob::mark(void* stream) {
  void* const made = nccl_.mark(stream);
  if (made == nullptr) fail(FaultCause::Died, rank_, nccl_.last_error());
  return {made, nccl_.release_mark};
}

void NcclJob::watch(const StreamMark& mark) {
  const Lock lock{mutex_};
  outstanding_.push_back({mark, Clock::now(), last_});
}

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
  const Lock lock{mutex_};
  throw_if_over();
  Edge& edge = edges_.emplace_back();
  edge.name = name;
  edge.stream = nccl_.make_stream();
  edge.communicator = nccl_.join(id.data(), outgoing ? 0 : 1, 2);
  if (edge.stream == nullptr || edge.communicator == nullptr)
    declare(FaultCause::Died, rank_, nccl_.last_error());
  throw_if_over();
  communicators_.push_back(edge.communicator);
  return edge;
}

void NcclJob::wait_until_open(Edge& edge) {
  hand_over(edge.communicator, [&] { return nccl_.state(edge.communicator); });
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

/// Gives NCCL what it takes without waiting. Called with the lock held, by the rank and by the watcher.
void NcclJob::move_parcels() {
  for (Edge& edge : edges_) {
    while (!edge.queued.empty() && !fault_) {
      Edge::Parcel& parcel = edge.queued.front();
      int state = edge.open && !edge.handing ? kHexaplanNcclReady : nccl_.state(edge.communicator);
      edge.open = edge.open || state == kHexaplanNcclReady;
      if (state == kHexaplanNcclReady && !edge.handing) {
        nccl_.wait(edge.stream, parcel.ready.get());
        state = nccl_.send(edge.communicator, edge.stream, parcel.copy.view().data, parcel.elements,
                           parcel.type, 1);
        edge.handing = true;
      }
      if (state == kHexaplanNcclUnderWay) break;
      if (state == kHexaplanNcclFailed) return declare(FaultCause::Died, rank_, nccl_.last_error());
      edge.handing = false;
      parcel.sent = StreamMark{nccl_.mark(edge.stream), nccl_.release_mark};
      edge.sent.push_back(std::move(parcel));
      edge.queued.pop_front();
    }
  }
}

void NcclJob::free_sent(std::string_view prefix, bool all) {
  std::vector<Tensor> free_now;  // on the rank's thread, without the lock
  std::list<Edge> ended;
  {
    Lock lock{mutex_};
    const auto deadline = Clock::now() + duration_of(options_.timeout);
    const bool waits = all && std::uncaught_exceptions() == 0;
    const auto belongs = [&](const Edge& edge) { return edge.name.starts_with(prefix); };
    const auto has_left = [&](const Edge::Parcel& parcel) {
      return fault_ || nccl_.passed(parcel.sent.get()) != 0;
    };
    for (Edge& edge : edges_) {
      if (!belongs(edge)) continue;
      while (waits && !fault_ &&
             !(edge.queued.empty() && std::all_of(edge.sent.begin(), edge.sent.end(), has_left)) &&
             Clock::now() < deadline) {
        move_parcels();
        wake_.wait_for(lock, kLookSoon);
      }
      while (!edge.sent.empty() && (all || has_left(edge.sent.front()))) {
        free_now.push_back(std::move(edge.sent.front().copy));
        edge.sent.pop_front();
      }
    }
    if (!all) return;
    for (auto edge = edges_.begin(); edge != edges_.end();) {
      const auto next = std::next(edge);
      if (belongs(*edge)) {
        communicators_.remove(edge->communicator);
        ended.splice(ended.end(), edges_, edge);
      }
      edge = next;
    }
  }
  for (Edge& edge : ended) {
    nccl_.release(edge.communicator);
    nccl_.release_stream(edge.stream);
  }
}

template <class Talk>
auto NcclJob::talk(const Talk& with_store) {
  try {
    return with_store();
  } catch (const BootstrapError& error) {
    const bool died = error.rank.has_value();
    fail(died ? FaultCause::Died : FaultCause::TimedOut, error.rank.value_or(rank_), error.what());
    throw_fault();
  }
}

std::vector<Blob> NcclJob::meet(const std::string& name, int index, int size,
                                std::span<const std::byte> mine) {
  return talk([&] { return store_.meet(name, index, size, mine); });
}

void NcclJob::publish(const std::string& key, std::span<const std::byte> value) {
  talk([&] { store_.set(key, value); });
}

Blob NcclJob::look_up(const std::string& key) {
  return talk([&] { return store_.get(key); });
}

void NcclJob::fail(FaultCause cause, int rank, const std::string& reason) {
  {
    const Lock lock{mutex_};
    declare(cause, rank, reason);
  }
  wake_.notify_all();
}

void NcclJob::declare(FaultCause cause, int rank, std::string reason) {
  Fault fault{.cause = cause, .rank = rank, .reason = std::move(reason)};
  fault.call = rank == rank_ ? last_ : LastCall{.rank = rank, .answered = false};
  fault.last_calls = {last_};
  declare(std::move(fault));
}

void NcclJob::declare(Fault fault) {
  if (fault_) return;
  fault_ = std::move(fault);
  wake_.notify_all();
}

void NcclJob::abort_all() {
  for (void* communicator : communicators_) nccl_.abort(communicator);
  aborted_ = true;
}

// --- the watcher ---

void NcclJob::watch_streams() {
  auto listened = Clock::now();
  void* adopted = nullptr;
  Lock lock{mutex_};
  while (!stops_) {
    const bool sends =
        std::any_of(edges_.begin(), edges_.end(), [](const Edge& e) { return !e.queued.empty(); });
    wake_.wait_for(lock, sends ? kLookSoon : kLook, [&] { return stops_ || (fault_ && !aborted_); });
    if (stream_ != adopted) nccl_.adopt(adopted = stream_);
    if (!fault_) {
      move_parcels();
      look_at_streams();
    }
    if (!fault_ && Clock::now() - listened > kListen) {
      hear_of_faults(lock);
      listened = Clock::now();
    }
    if (fault_ && !told_) tell_of_fault(lock);
    if (fault_ && !aborted_) abort_all();
  }
  if (fault_ && !told_) tell_of_fault(lock);
}

void NcclJob::look_at_streams() {
  while (!outstanding_.empty() && nccl_.passed(outstanding_.front().mark.get()) == kHexaplanNcclReady)
    outstanding_.pop_front();
  if (!outstanding_.empty() && Clock::now() - outstanding_.front().since > duration_of(options_.timeout)) {
    const LastCall& call = outstanding_.front().call;
    Fault fault{.cause = FaultCause::TimedOut, .rank = rank_, .call = call};
    fault.reason =
        fmt::format("the GPU waits since {:g} s for ranks that do not come", options_.timeout.value());
    fault.last_calls = {last_};
    return declare(std::move(fault));
  }
  for (void* communicator : communicators_) {
    if (nccl_.state(communicator) == kHexaplanNcclFailed)
      return declare(FaultCause::Died, rank_, nccl_.last_error());
  }
}

void NcclJob::hear_of_faults(Lock& lock) {
  lock.unlock();
  std::optional<Fault> heard;
  try {
    if (const auto notice = notices_.find(kFaultKey)) heard = unpacked(*notice);
  } catch (const BootstrapError& error) {
    heard = Fault{.cause = FaultCause::Died, .rank = error.rank.value_or(0), .reason = error.what()};
    heard->call = {.rank = heard->rank, .answered = false};
  }
  lock.lock();
  if (!heard || fault_) return;
  told_ = true;  // they know
  heard->last_calls = {last_};
  declare(std::move(*heard));
  store_.interrupt();
}

void NcclJob::tell_of_fault(Lock& lock) {
  told_ = true;
  const Blob notice = packed(*fault_);
  lock.unlock();
  try {
    // The first to tell is the one whom all name.
    if (!notices_.find(kFaultKey)) notices_.set(kFaultKey, notice);
  } catch (const BootstrapError&) {
    // Process 0 is gone: the others see that as well.
  }
  store_.interrupt();
  lock.lock();
}

}  // namespace hexaplan::validator
