#include "validator/executor/communicator/threads/thread_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "validator/executor/communicator/clock.h"

namespace hexaplan::validator {
namespace {

constexpr std::array<std::string_view, 8> kMeetingNames = {"all-reduce", "reduce-scatter",   "all-gather",
                                                           "all-to-all", "broadcast",        "barrier",
                                                           "split",      "gathering reports"};

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an error of unknown type";
  }
}

bool is_rank_fault(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RankFault&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// Members that have not come to the meeting.
std::vector<int> absent_from(const ThreadGroup& group) {
  std::vector<int> absent;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    if (group.posts[i] == nullptr) absent.push_back(group.members[i]);
  }
  return absent;
}

}  // namespace

ThreadJob::ThreadJob(const RankOptions& options)
    : options_{options}, ranks_(static_cast<std::size_t>(options.ranks)), running_{options.ranks} {
  for (int rank = 0; rank < options.ranks; ++rank) ranks_[static_cast<std::size_t>(rank)].last.rank = rank;
}

void ThreadJob::begin_call(int rank, const Call& call, std::string_view what) {
  ranks_[static_cast<std::size_t>(rank)].last.begin(call, what);
}

void ThreadJob::throw_if_faulted() const {
  if (fault_) throw RankFault{*fault_};
}

void ThreadJob::declare(FaultCause cause, int rank, std::string reason, std::optional<StepPlace> place) {
  if (fault_) return;
  Fault fault{.cause = cause,
              .rank = rank,
              .call = ranks_[static_cast<std::size_t>(rank)].last,
              .reason = std::move(reason),
              .place = std::move(place)};
  for (const RankState& state : ranks_) fault.last_calls.push_back(state.last);
  fault_.emplace(std::move(fault));
  fault_time_ = Clock::now();
  for (RankState& state : ranks_) state.wake.notify_all();
  ended_.notify_all();
  settled_.notify_all();
}

int ThreadJob::find_culprit(const std::vector<int>& missing) const {
  const auto waits_for_nobody = [&](int rank) { return !ranks_[static_cast<std::size_t>(rank)].last.inside; };
  const auto named = std::find_if(missing.begin(), missing.end(), waits_for_nobody);
  if (named != missing.end()) return *named;
  const auto any = std::find_if(ranks_.begin(), ranks_.end(),
                                [](const RankState& state) { return !state.last.inside && !state.ended; });
  return any != ranks_.end() ? any->last.rank : missing.front();
}

void ThreadJob::give_up(int rank, const std::vector<int>& missing) {
  const int culprit = find_culprit(missing);
  const RankState& state = ranks_[static_cast<std::size_t>(culprit)];
  const std::string place =
      fmt::format("{}, where rank {} waits", describe(ranks_[static_cast<std::size_t>(rank)].last), rank);
  if (state.ended) return declare(FaultCause::Died, culprit, "ended without coming to " + place);
  const char* why = state.last.inside ? " (all ranks wait for each other: their calls do not match)" : "";
  declare(FaultCause::TimedOut, culprit,
          fmt::format("did not come within {:g} s to {}{}", options_.timeout.value(), place, why));
}

template <class Ready, class Busy, class Missing>
void ThreadJob::wait(Lock& lock, int rank, const Ready& ready, const Busy& busy, const Missing& missing) {
  RankState& self = ranks_[static_cast<std::size_t>(rank)];
  const auto deadline = Clock::now() + duration_of(options_.timeout);
  const auto has_ended = [&](int other) { return ranks_[static_cast<std::size_t>(other)].ended; };
  while (!ready()) {
    if (busy()) {
      self.wake.wait(lock);
      continue;
    }
    throw_if_faulted();
    const std::vector<int> absent = missing();
    const auto gone = std::find_if(absent.begin(), absent.end(), has_ended);
    if (gone != absent.end()) {
      give_up(rank, {*gone});
    } else if (self.wake.wait_until(lock, deadline) == std::cv_status::timeout && !ready() && !busy()) {
      give_up(rank, missing());
    }
  }
}

void ThreadJob::meet(ThreadGroup& group, int index, Post& post, Device* device, const Call& call) {
  const auto at = static_cast<std::size_t>(index);
  const int rank = group.members[at];
  Lock lock{mutex_};
  throw_if_faulted();
  begin_call(rank, call, kMeetingNames[static_cast<std::size_t>(post.kind)]);
  group.posts[at] = &post;
  group.calls[at] = call;
  ++group.arrived;
  const std::uint64_t meeting = group.meetings;
  if (group.arrived < group.members.size()) {
    wait(
        lock, rank, [&] { return group.meetings != meeting; }, [&] { return group.at_work; },
        [&] { return absent_from(group); });
  } else {
    const std::string mismatch = find_mismatch(group);
    if (!mismatch.empty()) declare(FaultCause::Mismatch, group.members[0], mismatch);
    throw_if_faulted();
    group.at_work = true;
    lock.unlock();
    carry_out(group, device);
    lock.lock();
    group.at_work = false;
    group.arrived = 0;
    std::fill(group.posts.begin(), group.posts.end(), nullptr);
    ++group.meetings;
    for (const int member : group.members) ranks_[static_cast<std::size_t>(member)].wake.notify_one();
  }
  ranks_[static_cast<std::size_t>(rank)].last.inside = false;
}

void ThreadJob::send(ThreadGroup& group, int from, int to, int tag, std::shared_ptr<Message> message,
                     const Call& call) {
  const int rank = group.members[static_cast<std::size_t>(from)];
  const Lock lock{mutex_};
  throw_if_faulted();
  begin_call(rank, call, "send");
  ThreadGroup::Mailbox& box = group.mailboxes[{from, to, tag}];
  box.messages.emplace(box.sent++, std::move(message));
  ranks_[static_cast<std::size_t>(group.members[static_cast<std::size_t>(to)])].wake.notify_one();
  ranks_[static_cast<std::size_t>(rank)].last.inside = false;
}

std::uint64_t ThreadJob::expect(ThreadGroup& group, int from, int to, int tag) {
  const Lock lock{mutex_};
  throw_if_faulted();
  return group.mailboxes[{from, to, tag}].awaited++;
}

std::shared_ptr<Message> ThreadJob::receive(ThreadGroup& group, int from, int to, int tag,
                                            std::uint64_t position, std::int64_t bytes, const Call& call) {
  const int rank = group.members[static_cast<std::size_t>(to)];
  const int sender = group.members[static_cast<std::size_t>(from)];
  Lock lock{mutex_};
  throw_if_faulted();
  begin_call(rank, call, "receive");
  ThreadGroup::Mailbox& box = group.mailboxes[{from, to, tag}];
  wait(
      lock, rank,
      [&] {
        const auto found = box.messages.find(position);
        return found != box.messages.end() && found->second->state != Message::State::Gone;
      },
      [] { return false; }, [&] { return std::vector<int>{sender}; });
  std::shared_ptr<Message> message = std::move(box.messages.at(position));
  box.messages.erase(position);
  const std::size_t sent = message->copy.view().bytes();
  if (sent != static_cast<std::size_t>(bytes)) {
    declare(FaultCause::Mismatch, rank,
            fmt::format("expects {} bytes of rank {}, which sent {}", bytes, sender, sent));
  }
  throw_if_faulted();
  message->state = Message::State::BeingRead;
  ranks_[static_cast<std::size_t>(rank)].last.inside = false;
  return message;
}

void ThreadJob::read(Message& message, Event copied) {
  const Lock lock{mutex_};
  message.copied = copied;
  message.state = Message::State::Read;
  settled_.notify_all();
}

std::vector<std::shared_ptr<Message>> ThreadJob::take_read(std::vector<std::shared_ptr<Message>>& messages) {
  const Lock lock{mutex_};
  const auto is_read = [](const auto& message) { return message->state == Message::State::Read; };
  std::vector<std::shared_ptr<Message>> taken;
  std::copy_if(messages.begin(), messages.end(), std::back_inserter(taken), is_read);
  messages.erase(std::remove_if(messages.begin(), messages.end(), is_read), messages.end());
  return taken;
}

void ThreadJob::open(int rank) {
  const Lock lock{mutex_};
  ranks_[static_cast<std::size_t>(rank)].settled = false;
}

void ThreadJob::settle(int rank, const std::vector<std::shared_ptr<Message>>& messages) {
  Lock lock{mutex_};
  ranks_[static_cast<std::size_t>(rank)].settled = true;
  settled_.notify_all();
  const auto needs_nobody = [&](const std::shared_ptr<Message>& message) {
    const RankState& receiver = ranks_[static_cast<std::size_t>(message->receiver)];
    return message->state == Message::State::Read ||
           (message->state == Message::State::UnderWay && (receiver.ended || receiver.settled));
  };
  // Of a rank that fails the others hear by its error, not by what they wait for.
  const bool fails = std::uncaught_exceptions() > 0;
  settled_.wait_for(lock, duration_of(options_.timeout), [&] {
    return fails || fault_ || std::all_of(messages.begin(), messages.end(), needs_nobody);
  });
  for (const std::shared_ptr<Message>& message : messages) {
    // Who has begun to read ends: nothing in between waits for others.
    settled_.wait(lock, [&] { return message->state != Message::State::BeingRead; });
    if (message->state == Message::State::UnderWay) message->state = Message::State::Gone;
  }
}

void ThreadJob::end_rank(int rank, const std::exception_ptr& error) {
  const Lock lock{mutex_};
  if (error && !is_rank_fault(error) && !fault_) {
    declare(FaultCause::Threw, rank, text_of(error), place_of(error));
    fault_->original = error;
  }
  ranks_[static_cast<std::size_t>(rank)].ended = true;
  --running_;
  for (RankState& state : ranks_) state.wake.notify_all();
  ended_.notify_all();
  settled_.notify_all();
}

bool ThreadJob::wait_for_ranks() {
  Lock lock{mutex_};
  ended_.wait(lock, [&] { return running_ == 0 || fault_; });
  const auto limit = fault_time_ + duration_of(options_.grace);
  return fault_ ? ended_.wait_until(lock, limit, [&] { return running_ == 0; }) : true;
}

std::optional<RankFault> ThreadJob::fault() {
  const Lock lock{mutex_};
  return fault_;
}

}  // namespace hexaplan::validator
