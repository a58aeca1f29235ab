// NcclJob's thread that looks at what the rank's thread cannot: streams, NCCL's errors, other ranks' faults.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "validator/executor/communicator/bootstrap/store_messages.h"
#include "validator/executor/communicator/clock.h"
#include "validator/executor/communicator/nccl/nccl_job.h"

namespace hexaplan::validator {
namespace {

using store_messages::Packer;
using store_messages::Unpacker;

constexpr const char* kFaultKey = "fault";
/// The watcher looks this often; more often while something waits to be sent.
constexpr std::chrono::milliseconds kLook{50}, kLookSoon{1};
/// Asking the store costs a message to process 0 per rank.
constexpr std::chrono::milliseconds kListen{250};

Blob packed(const Fault& fault) {
  Packer out{fault.cause};
  out.number(std::int32_t{fault.rank}).text(fault.reason);
  const LastCall& call = fault.call;
  out.text(call.operation).text(call.what).number(call.layer).number(call.microbatch).number(call.calls);
  out.number(call.inside).number(call.answered);
  const StepPlace place = fault.place.value_or(StepPlace{});
  out.number(fault.place.has_value()).text(place.operation).number(place.layer).number(place.microbatch);
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
  const bool placed = in.number<bool>();
  StepPlace place{.text = {}, .operation = in.text()};
  place.layer = in.number<int>();
  place.microbatch = in.number<int>();
  if (placed) fault.place = std::move(place);
  return fault;
}

}  // namespace

void NcclJob::watch_streams() {
  auto listened = Clock::now();
  void* adopted = nullptr;
  Lock lock{mutex_};
  while (!stops_) {
    const bool sends =
        std::any_of(edges_.begin(), edges_.end(), [](const Edge& e) { return !e.queued.empty(); });
    wake_.wait_for(lock, sends ? kLookSoon : kLook,
                   [&] { return stops_ || (fault_ ? !aborted_ : suspicion_.has_value()); });
    if (stream_ != adopted) nccl_.adopt(adopted = stream_);
    if (!fault_) {
      move_parcels();
      look_at_streams();
    }
    if (!fault_ && suspicion_) settle_suspicion(lock);
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
  if (starting_ && Clock::now() - *starting_ > duration_of(options_.timeout)) {
    return declare(FaultCause::TimedOut, rank_,
                   fmt::format("waited {:g} s: not all ranks have come", options_.timeout.value()));
  }
  for (void* communicator : communicators_) {
    if (nccl_.state(communicator) == kHexaplanNcclFailed) return suspect_nccl();
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

void NcclJob::settle_suspicion(Lock& lock) {
  hear_of_faults(lock);
  declare(FaultCause::Died, rank_, *suspicion_);
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

/// As one group: what waits on a stream behind another communicator's work ends only with that (as pytorch's
/// ProcessGroupNCCL::abortComms).
void NcclJob::abort_all() {
  nccl_.group_begin();
  for (void* communicator : communicators_) nccl_.abort(communicator);
  nccl_.group_end(nullptr);
  aborted_ = true;
}

}  // namespace hexaplan::validator
