#include "validator/executor/communicator/nccl/nccl_job.h"

#include <fmt/format.h>

#include <utility>

#include "validator/executor/communicator/clock.h"

namespace hexaplan::validator {
namespace {

constexpr std::chrono::microseconds kPollNap{20};

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
  last_.begin(call, what);
}

void NcclJob::end_call() {
  const Lock lock{mutex_};
  last_.inside = false;
}

void NcclJob::nap(Lock& lock) {
  lock.unlock();
  std::this_thread::sleep_for(kPollNap);
  lock.lock();
  throw_if_over();
}

/// NCCL may keep the caller while ranks connect: without the lock, so that the watcher can end the job.
int NcclJob::start_call(const std::function<int()>& start) {
  {
    const Lock lock{mutex_};
    throw_if_over();
    starting_ = Clock::now();
  }
  const int state = start();
  const Lock lock{mutex_};
  starting_.reset();
  throw_if_over();
  return state;
}

void NcclJob::hand_over(void* communicator, const std::function<int()>& start) {
  const auto deadline = Clock::now() + duration_of(options_.timeout);
  int state = start_call(start);
  Lock lock{mutex_};
  while (state == kHexaplanNcclUnderWay) {
    if (Clock::now() > deadline) {
      declare(FaultCause::TimedOut, rank_,
              fmt::format("waited {:g} s: not all ranks have come", options_.timeout.value()));
    }
    nap(lock);
    state = nccl_.state(communicator);
  }
  if (state == kHexaplanNcclFailed) end_by_nccl(lock);
  throw_if_over();
}

void* NcclJob::open(const std::function<void*()>& make) {
  void* communicator = nullptr;
  {
    Lock lock{mutex_};
    throw_if_over();
    communicator = make();
    if (communicator == nullptr) end_by_nccl(lock);
    communicators_.push_back(communicator);
  }
  hand_over(communicator, [] { return kHexaplanNcclUnderWay; });
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
  return owned(nccl_.mark(stream));
}

StreamMark NcclJob::timed_mark(void* stream) {
  return owned(nccl_.timed_mark(stream));
}

StreamMark NcclJob::owned(void* made) {
  if (made == nullptr) fail(FaultCause::Died, rank_, nccl_.last_error());
  return {made, nccl_.release_mark};
}

void NcclJob::watch(const StreamMark& mark) {
  const Lock lock{mutex_};
  outstanding_.push_back({mark, Clock::now(), last_});
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

void NcclJob::fail(FaultCause cause, int rank, const std::string& reason, std::optional<StepPlace> place) {
  {
    const Lock lock{mutex_};
    declare(cause, rank, reason, std::move(place));
  }
  wake_.notify_all();
}

void NcclJob::declare(FaultCause cause, int rank, std::string reason, std::optional<StepPlace> place) {
  Fault fault{.cause = cause, .rank = rank, .reason = std::move(reason), .place = std::move(place)};
  fault.call = rank == rank_ ? last_ : LastCall{.rank = rank, .answered = false};
  fault.last_calls = {last_};
  declare(std::move(fault));
}

void NcclJob::suspect_nccl() {
  if (!suspicion_) suspicion_ = nccl_.last_error();
  wake_.notify_all();
}

void NcclJob::end_by_nccl(Lock& lock) {
  suspect_nccl();
  wake_.wait(lock, [&] { return fault_.has_value(); });
  throw RankFault{*fault_};
}

void NcclJob::declare(Fault fault) {
  if (fault_) return;
  fault_ = std::move(fault);
  wake_.notify_all();
}

}  // namespace hexaplan::validator
