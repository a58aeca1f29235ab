#include "validator/executor/communicator/mpi/mpi_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "validator/executor/communicator/clock.h"
#include "validator/executor/communicator/mpi/supervisor.h"
#include "validator/executor/communicator/mpi/text_field.h"

namespace hexaplan::validator {
namespace {

constexpr int kFaultTag = 1;   // "the job is over, because …"
constexpr int kAnswerTag = 2;  // "I was doing …"
constexpr int kAskTag = 3;     // "I have waited too long: what are you doing?"
/// Polls before a waiting rank sleeps between them: messages between processes of one host take microseconds.
constexpr int kEagerPolls = 200;
constexpr std::chrono::microseconds kNap{50};

}  // namespace

/// What ranks tell each other of a fault, as it travels.
struct MpiJob::Notice {
  FaultCause cause = FaultCause::Threw;
  std::int32_t culprit = 0;
  // The sender's, or (in an announcement of somebody else's fault) still the sender's last call.
  std::int32_t sender = 0, layer = -1, microbatch = -1;
  bool inside = false;
  // Where the fault says it lies, and whether it does.
  bool placed = false;
  std::int32_t place_layer = -1, place_microbatch = -1;
  std::int64_t calls = 0;
  std::array<char, 64> operation{}, what{}, place_operation{};
  std::array<char, 1024> reason{};

  [[nodiscard]] LastCall last_call() const {
    return {.rank = sender,
            .operation = operation.data(),
            .what = what.data(),
            .layer = layer,
            .microbatch = microbatch,
            .calls = calls,
            .inside = inside};
  }
  [[nodiscard]] std::optional<StepPlace> place() const {
    if (!placed) return std::nullopt;
    return StepPlace{.text = {},
                     .operation = place_operation.data(),
                     .layer = place_layer,
                     .microbatch = place_microbatch};
  }
};

MpiJob::MpiJob(const HexaplanMpi& mpi, const RankOptions& options)
    : mpi_{mpi}, options_{options}, world_{mpi.world()}, rank_{mpi.rank(world_)}, size_{mpi.size(world_)} {
  last_.rank = rank_;
  control_ = mpi_.split(world_, 0, rank_);
  tell_supervisor(last_);
}

void MpiJob::begin_call(const Call& call, std::string_view what) {
  if (fault_) throw RankFault{*fault_};
  last_.begin(call, what);
  tell_supervisor(last_);
  hear();
}

void MpiJob::end_call() {
  last_.inside = false;
  tell_supervisor(last_);
}

void MpiJob::finish(void* request, int* bytes) {
  if (request == nullptr) fail(FaultCause::Mismatch, rank_, "MPI refused the call");
  const auto deadline = Clock::now() + duration_of(options_.timeout);
  for (int polls = 0;; ++polls) {
    const int state = mpi_.test(request, bytes);
    if (state > 0) break;
    if (state < 0) fail(FaultCause::Mismatch, rank_, "MPI reports that the ranks' calls do not fit together");
    hear();
    if (Clock::now() > deadline) time_out();
    if (polls < kEagerPolls) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
  reap_sent();
}

void MpiJob::send(void* communicator, ConstBuffer data, int to, int tag) {
  Sending& message = sending_.emplace_back();
  const auto* first = static_cast<const std::byte*>(data.data);
  message.bytes.assign(first, first + data.bytes());
  message.request = mpi_.send(communicator, message.bytes.data(), static_cast<int>(data.bytes()),
                              kHexaplanMpiByte, to, tag);
  reap_sent();
}

std::shared_ptr<MpiJob::Incoming> MpiJob::expect(void* communicator, std::int64_t bytes, int from, int tag) {
  const auto done = [](const std::shared_ptr<Incoming>& message) { return message->request == nullptr; };
  incoming_.erase(std::remove_if(incoming_.begin(), incoming_.end(), done), incoming_.end());
  auto message = incoming_.emplace_back(std::make_shared<Incoming>());
  message->bytes.resize(static_cast<std::size_t>(bytes));
  message->request =
      mpi_.receive(communicator, message->bytes.data(), static_cast<int>(bytes), kHexaplanMpiByte, from, tag);
  return message;
}

void MpiJob::reap_sent() {
  sending_.remove_if([&](const Sending& message) { return mpi_.test(message.request, nullptr) != 0; });
}

void MpiJob::tell(int to, int tag, const Notice& notice) {
  send(control_, {&notice, sizeof notice, costmodel::DType::Int8}, to, tag);
}

std::optional<MpiJob::Notice> MpiJob::receive_notice(int tag) {
  int from = 0;
  if (mpi_.probe(control_, tag, &from) == 0) return {};
  Notice notice;
  void* const request = mpi_.receive(control_, &notice, sizeof notice, kHexaplanMpiByte, from, tag);
  int state = 0;
  while (state == 0) state = mpi_.test(request, nullptr);  // it is there already
  return notice;
}

MpiJob::Notice MpiJob::notice_of(const Fault& fault) const {
  Notice notice{.cause = fault.cause, .culprit = fault.rank, .sender = rank_};
  notice.layer = last_.layer;
  notice.microbatch = last_.microbatch;
  notice.inside = last_.inside;
  notice.calls = last_.calls;
  put_text(notice.operation, last_.operation);
  put_text(notice.what, last_.what);
  put_text(notice.reason, fault.reason);
  notice.placed = fault.place.has_value();
  if (!fault.place) return notice;
  put_text(notice.place_operation, fault.place->operation);
  notice.place_layer = fault.place->layer;
  notice.place_microbatch = fault.place->microbatch;
  return notice;
}

/// Another rank's fault ends this one, too; one that only asks is answered.
void MpiJob::hear() {
  if (const std::optional<Notice> question = receive_notice(kAskTag))
    tell(question->sender, kAnswerTag, notice_of({.rank = rank_}));
  const std::optional<Notice> notice = receive_notice(kFaultTag);
  if (!notice) return;
  Fault fault{.cause = notice->cause,
              .rank = notice->culprit,
              .reason = notice->reason.data(),
              .place = notice->place()};
  fault.call = {.rank = notice->culprit, .answered = false};
  if (notice->culprit == notice->sender) fault.call = notice->last_call();
  if (notice->culprit == rank_) fault.call = last_;
  fault.last_calls = {last_, notice->last_call()};
  tell(notice->sender, kAnswerTag, notice_of(fault));
  end_with(std::move(fault));
}

std::vector<LastCall> MpiJob::ask_others(const Notice& notice, int tag) {
  std::vector<LastCall> calls(static_cast<std::size_t>(size_));
  for (int rank = 0; rank < size_; ++rank) {
    calls[static_cast<std::size_t>(rank)] = {.rank = rank, .answered = false};
    if (rank != rank_) tell(rank, tag, notice);
  }
  calls[static_cast<std::size_t>(rank_)] = last_;
  const auto unheard = [&] {
    return std::any_of(calls.begin(), calls.end(), [](const LastCall& call) { return !call.answered; });
  };
  const auto deadline = Clock::now() + duration_of(options_.grace) / 2;
  while (unheard() && Clock::now() < deadline) {
    // A rank that gives up at the same time asks or announces a fault: that is an answer as well.
    for (const int kind : {kAnswerTag, kAskTag, kFaultTag}) {
      const std::optional<Notice> heard = receive_notice(kind);
      if (!heard) continue;
      calls[static_cast<std::size_t>(heard->sender)] = heard->last_call();
      if (kind == kAskTag) tell(heard->sender, kAnswerTag, notice);
    }
    reap_sent();
    std::this_thread::sleep_for(kNap);
  }
  return calls;
}

void MpiJob::time_out() {
  Fault fault{.cause = FaultCause::TimedOut, .rank = rank_};
  fault.reason = fmt::format("waited {:g} s in {}", options_.timeout.value(), describe(last_));
  fault.last_calls = ask_others(notice_of(fault), kAskTag);
  std::vector<int> silent;
  for (const LastCall& call : fault.last_calls) {
    if (!call.answered) silent.push_back(call.rank);
  }
  fault.rank = silent.empty() ? rank_ : silent.front();
  fault.call = fault.last_calls[static_cast<std::size_t>(fault.rank)];
  fault.reason = silent.empty()
                     ? fmt::format("waited {:g} s; all ranks wait for each other: their calls do not match",
                                   options_.timeout.value())
                     : fmt::format(
                           "did not come within {:g} s to {}, where rank {} waits, and does not answer "
                           "(silent: {})",
                           options_.timeout.value(), describe(last_), rank_, fmt::join(silent, ", "));
  const Notice verdict = notice_of(fault);
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != rank_) tell(rank, kFaultTag, verdict);
  }
  end_with(std::move(fault));
}

void MpiJob::fail(FaultCause cause, int rank, const std::string& reason, std::optional<StepPlace> place) {
  if (fault_) throw RankFault{*fault_};
  Fault fault{.cause = cause, .rank = rank, .call = last_, .reason = reason, .place = std::move(place)};
  fault.last_calls = ask_others(notice_of(fault), kFaultTag);
  end_with(std::move(fault));
}

void MpiJob::end_with(Fault fault) {
  fault_ = fault;
  // Answers and announcements are small and leave at once; this gives the library the time to do so.
  const auto deadline = Clock::now() + std::chrono::milliseconds{200};
  while (!sending_.empty() && Clock::now() < deadline) {
    reap_sent();
    std::this_thread::sleep_for(kNap);
  }
  throw RankFault{std::move(fault)};
}

void MpiJob::leave() {
  begin_call({.operation = "end of the run"}, "barrier");
  finish(mpi_.barrier(control_));
  const auto deadline = Clock::now() + duration_of(options_.grace);
  while (!sending_.empty() && Clock::now() < deadline) reap_sent();
}

}  // namespace hexaplan::validator
