#include "validator/communicator/threads/thread_ranks.h"

#include <numeric>
#include <thread>

#include "validator/communicator/threads/thread_job.h"

namespace hexaplan::validator {
namespace {

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadJob> job, std::shared_ptr<ThreadGroup> group, int index,
                     costmodel::Group kind, std::shared_ptr<Traffic> traffic)
      : Communicator{index, static_cast<int>(group->members.size()), kind, std::move(traffic)},
        job_{std::move(job)},
        group_{std::move(group)} {}

 private:
  class Arrival : public Work::Pending {
   public:
    Arrival(ThreadCommunicator& at, Buffer data, int from, const Call& call, int tag)
        : at_{at},
          data_{data},
          from_{from},
          call_{call},
          tag_{tag},
          position_{at.job_->expect(*at.group_, from, at.rank(), tag)} {}
    void wait() override { at_.job_->receive(*at_.group_, from_, at_.rank(), tag_, position_, data_, call_); }

   private:
    ThreadCommunicator& at_;
    Buffer data_;
    int from_;
    Call call_;
    int tag_;
    std::uint64_t position_;
  };

  Work meet(Post post, const Call& call) {
    job_->meet(*group_, rank(), post, call);
    return {};
  }
  Work do_all_reduce(Buffer data, Reduction reduction, const Call& call) override {
    return meet({.kind = MeetingKind::AllReduce, .in = data, .out = data, .reduction = reduction}, call);
  }
  Work do_reduce_scatter(ConstBuffer in, Buffer out, Reduction reduction, const Call& call) override {
    return meet({.kind = MeetingKind::ReduceScatter, .in = in, .out = out, .reduction = reduction}, call);
  }
  Work do_all_gather(ConstBuffer in, Buffer out, const Call& call) override {
    return meet({.kind = MeetingKind::AllGather, .in = in, .out = out}, call);
  }
  Work do_all_to_all_v(ConstBuffer in, std::span<const std::int64_t> send_counts, Buffer out,
                       std::span<const std::int64_t> receive_counts, const Call& call) override {
    return meet({.kind = MeetingKind::AllToAll,
                 .in = in,
                 .out = out,
                 .send_counts = send_counts,
                 .receive_counts = receive_counts},
                call);
  }
  Work do_broadcast(Buffer data, int root, const Call& call) override {
    return meet({.kind = MeetingKind::Broadcast, .in = data, .out = data, .root = root}, call);
  }
  Work do_send(ConstBuffer data, int to, const Call& call, int tag) override {
    job_->send(*group_, rank(), to, tag, data, call);
    return {};
  }
  Work do_receive(Buffer data, int from, const Call& call, int tag) override {
    return Work{std::make_unique<Arrival>(*this, data, from, call, tag)};
  }
  void do_barrier(const Call& call) override { meet({.kind = MeetingKind::Barrier}, call).wait(); }
  std::unique_ptr<Communicator> do_split(int colour, int key, costmodel::Group kind) override {
    Post post{.kind = MeetingKind::Split, .colour = colour, .key = key};
    job_->meet(*group_, rank(), post, {.operation = name_of(kind)});
    return std::make_unique<ThreadCommunicator>(job_, post.group, post.index, kind, shared_traffic());
  }

  std::shared_ptr<ThreadJob> job_;
  std::shared_ptr<ThreadGroup> group_;
};

void run_rank(const std::shared_ptr<ThreadJob>& job, const std::shared_ptr<ThreadGroup>& world, int rank,
              const RankProgram& program) {
  std::exception_ptr error;
  try {
    ThreadCommunicator communicator{job, world, rank, costmodel::Group::World, std::make_shared<Traffic>()};
    program(communicator);
  } catch (...) {
    error = std::current_exception();
  }
  job->end_rank(rank, error);
}

}  // namespace

void ThreadRanks::run(const RankOptions& options, const RankProgram& program) {
  const auto job = std::make_shared<ThreadJob>(options);
  std::vector<int> members(static_cast<std::size_t>(options.ranks));
  std::iota(members.begin(), members.end(), 0);
  const auto world = std::make_shared<ThreadGroup>(std::move(members));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.ranks; ++rank)
    threads.emplace_back([=] { run_rank(job, world, rank, program); });
  const bool all_ended = job->wait_for_ranks();
  for (std::thread& thread : threads) all_ended ? thread.join() : thread.detach();
  if (std::optional<RankFault> fault = job->fault()) {
    fault->ranks_left_behind = !all_ended;
    throw std::move(*fault);
  }
}

}  // namespace hexaplan::validator
