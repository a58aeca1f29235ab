#include "validator/executor/communicator/threads/thread_ranks.h"

#include <numeric>
#include <thread>

#include "validator/executor/communicator/device_buffer.h"
#include "validator/executor/communicator/stream_order.h"
#include "validator/executor/communicator/threads/thread_job.h"
#include "validator/executor/device/cpu/cpu_device.h"

namespace hexaplan::validator {
namespace {

/// What a rank's communicators share: the device that its buffers lie on, and copies of what it sent.
struct RankMemory {
  std::unique_ptr<Device> host = make_cpu_device(Element::F64, {.instructions = InstructionSet::Baseline});
  Device* device = host.get();
  std::vector<std::shared_ptr<Message>> sent;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadJob> job, std::shared_ptr<ThreadGroup> group, int index,
                     costmodel::Group kind, std::shared_ptr<Traffic> traffic,
                     std::shared_ptr<RankMemory> memory)
      : Communicator{index, static_cast<int>(group->members.size()), kind, std::move(traffic)},
        job_{std::move(job)},
        group_{std::move(group)},
        memory_{std::move(memory)} {}

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
    void wait() override {
      const std::shared_ptr<Message> message =
          at_.job_->receive(*at_.group_, from_, at_.rank(), tag_, position_, data_.bytes(), call_);
      Device& device = *at_.memory_->device;
      device.wait(Stream::Communication, message->ready);
      const Event copied = on_communication_stream(device, [&] {
        if (data_.elements > 0) device.copy(view_of(data_), message->copy, Stream::Communication);
      });
      device.wait(Stream::Compute, copied);
      at_.job_->read(*message, copied);
    }

   private:
    ThreadCommunicator& at_;
    Buffer data_;
    int from_;
    Call call_;
    int tag_;
    std::uint64_t position_;
  };

  Work meet(Post post, const Call& call) {
    Device& device = *memory_->device;
    post.ready = device.record(Stream::Compute);
    job_->meet(*group_, rank(), post, &device, call);
    return Work{std::make_unique<Ordered>(device, post.done)};
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
    free_what_was_read();
    Device& device = *memory_->device;
    const View source = view_of(data);
    const auto message = std::make_shared<Message>();
    message->receiver = group_->members[static_cast<std::size_t>(to)];
    message->copy = device.allocate_message(source.element, source.cols);
    message->ready = on_communication_stream(device, [&] {
      if (data.elements > 0) device.copy(message->copy, source, Stream::Communication);
    });
    memory_->sent.push_back(message);
    job_->send(*group_, rank(), to, tag, message, call);
    return Work{std::make_unique<Ordered>(device, message->ready)};
  }
  Work do_receive(Buffer data, int from, const Call& call, int tag) override {
    return Work{std::make_unique<Arrival>(*this, data, from, call, tag)};
  }
  void do_barrier(const Call& call) override {
    Post post{.kind = MeetingKind::Barrier};
    job_->meet(*group_, rank(), post, nullptr, call);
  }
  std::vector<std::vector<std::byte>> do_gather_bytes(std::span<const std::byte> mine) override {
    Post post{.kind = MeetingKind::GatherBytes, .bytes = mine};
    job_->meet(*group_, rank(), post, nullptr, {.operation = "end of the run"});
    return std::move(post.gathered);
  }
  std::unique_ptr<Communicator> do_split(std::span<const int> members, int index,
                                         costmodel::Group kind) override {
    Post post{.kind = MeetingKind::Split, .members = members};
    job_->meet(*group_, rank(), post, nullptr, {.operation = name_of(kind)});
    return std::make_unique<ThreadCommunicator>(job_, post.group, index, kind, shared_traffic(), memory_);
  }
  void do_use(Device* device) override {
    const int world_rank = group_->members[static_cast<std::size_t>(rank())];
    job_->settle(world_rank, memory_->sent);
    for (const std::shared_ptr<Message>& message : memory_->sent) free(*message);
    memory_->sent.clear();
    memory_->device = device != nullptr ? device : memory_->host.get();
    job_->open(world_rank);
  }

  void free_what_was_read() {
    for (const std::shared_ptr<Message>& message : job_->take_read(memory_->sent)) free(*message);
  }
  /// Memory is given back behind what the compute stream was given.
  void free(Message& message) const {
    memory_->device->wait(Stream::Compute, message.copied);
    message.copy.free();
  }

  std::shared_ptr<ThreadJob> job_;
  std::shared_ptr<ThreadGroup> group_;
  std::shared_ptr<RankMemory> memory_;
};

void run_rank(const std::shared_ptr<ThreadJob>& job, const std::shared_ptr<ThreadGroup>& world, int rank,
              const RankProgram& program) {
  const auto memory = std::make_shared<RankMemory>();
  std::exception_ptr error;
  try {
    ThreadCommunicator communicator{job,   world, rank, costmodel::Group::World, std::make_shared<Traffic>(),
                                    memory};
    program(communicator);
    communicator.use(nullptr);
  } catch (...) {
    error = std::current_exception();
  }
  job->end_rank(rank, error);
  job->settle(rank, memory->sent);  // nobody reads from memory that goes now
  for (const std::shared_ptr<Message>& message : memory->sent) message->copy.free();
}

}  // namespace

void ThreadRanks::run(const RankOptions& options, const RankProgram& program) {
  const auto job = std::make_shared<ThreadJob>(options);
  std::vector<int> members(static_cast<std::size_t>(options.ranks));
  std::iota(members.begin(), members.end(), 0);
  const auto world = std::make_shared<ThreadGroup>(std::move(members));
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(options.ranks));
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
