#include "validator/executor/communicator/mpi/mpi_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>

#include "validator/executor/communicator/mpi/mpi_job.h"
#include "validator/executor/device/bf16.h"
#include "validator/executor/device/device.h"
#include "validator/executor/device/fp16.h"

namespace hexaplan::validator {
namespace {

int mpi_type_of(costmodel::DType type) {
  switch (type) {
    case costmodel::DType::Fp64:
      return kHexaplanMpiF64;
    case costmodel::DType::Fp32:
      return kHexaplanMpiF32;
    case costmodel::DType::Int32:
      return kHexaplanMpiI32;
    default:
      throw std::logic_error{"ranks of MPI add float64, float32, bfloat16, float16 and int32 only"};
  }
}

/// Types that MPI does not have.
bool is_narrow(costmodel::DType type) {
  return type == costmodel::DType::Bf16 || type == costmodel::DType::Fp16;
}

/// How elements travel: those that MPI does not have as two bytes.
struct Wire {
  int type, per_element;
};
Wire wire_of(costmodel::DType type) {
  if (is_narrow(type)) return {kHexaplanMpiByte, 2};
  if (type == costmodel::DType::Int8) return {kHexaplanMpiByte, 1};
  return {mpi_type_of(type), 1};
}

/// 16-bit numbers as the fp32 that MPI can add, and back.
std::vector<float> widened(ConstBuffer narrow) {
  std::vector<float> wide(static_cast<std::size_t>(narrow.elements));
  const auto convert = [&](const auto* numbers) {
    std::transform(numbers, numbers + narrow.elements, wide.begin(), [](auto x) { return to_float(x); });
  };
  narrow.type == costmodel::DType::Bf16 ? convert(static_cast<const Bf16*>(narrow.data))
                                        : convert(static_cast<const Fp16*>(narrow.data));
  return wide;
}
void narrow_into(Buffer narrow, const std::vector<float>& wide) {
  if (narrow.type == costmodel::DType::Bf16) {
    std::transform(wide.begin(), wide.end(), static_cast<Bf16*>(narrow.data), to_bf16);
  } else {
    std::transform(wide.begin(), wide.end(), static_cast<Fp16*>(narrow.data), to_fp16);
  }
}

int count_of(std::int64_t elements) {
  if (elements > std::numeric_limits<int>::max() / 8)
    throw std::length_error{fmt::format("a message of {} elements is more than MPI's counts hold", elements)};
  return static_cast<int>(elements);
}

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(std::shared_ptr<MpiJob> job, void* handle, costmodel::Group kind,
                  std::shared_ptr<Traffic> traffic)
      : Communicator{job->mpi().rank(handle), job->mpi().size(handle), kind, std::move(traffic)},
        job_{std::move(job)},
        handle_{handle} {}
  ~MpiCommunicator() override {
    // Collective in MPI: after a fault nobody can count on the others.
    if (!job_->over()) job_->mpi().release(handle_);
  }

 private:
  class Arrival : public Work::Pending {
   public:
    Arrival(std::shared_ptr<MpiJob> job, std::shared_ptr<MpiJob::Incoming> message, Buffer data,
            const Call& call)
        : job_{std::move(job)}, message_{std::move(message)}, data_{data}, call_{call} {}
    void wait() override {
      job_->begin_call(call_, "receive");
      int bytes = 0;
      job_->finish(message_->request, &bytes);
      message_->request = nullptr;
      if (bytes != data_.bytes()) {
        job_->fail(FaultCause::Mismatch, job_->mpi().rank(job_->world()),
                   fmt::format("expects {} bytes, was sent {}", data_.bytes(), bytes));
      }
      if (bytes > 0) std::memcpy(data_.data, message_->bytes.data(), message_->bytes.size());
      job_->end_call();
    }

   private:
    std::shared_ptr<MpiJob> job_;
    std::shared_ptr<MpiJob::Incoming> message_;
    Buffer data_;
    Call call_;
  };

  template <class Start>
  Work run(const Call& call, std::string_view what, const Start& start) {
    job_->begin_call(call, what);
    job_->finish(start(job_->mpi()));
    job_->end_call();
    return {};
  }
  Work do_all_reduce(Buffer data, Reduction reduction, const Call& call) override {
    if (is_narrow(data.type)) {
      std::vector<float> wide = widened(data);
      do_all_reduce(Buffer{std::span{wide}}, reduction, call).wait();
      narrow_into(data, wide);
      return {};
    }
    return run(call, "all-reduce", [&](const HexaplanMpi& mpi) {
      return mpi.all_reduce(handle_, data.data, count_of(data.elements), mpi_type_of(data.type),
                            reduction_of(reduction));
    });
  }
  Work do_reduce_scatter(ConstBuffer in, Buffer out, Reduction reduction, const Call& call) override {
    if (is_narrow(in.type)) {
      const std::vector<float> wide = widened(in);
      std::vector<float> sums(static_cast<std::size_t>(out.elements));
      do_reduce_scatter(ConstBuffer{std::span{wide}}, Buffer{std::span{sums}}, reduction, call).wait();
      narrow_into(out, sums);
      return {};
    }
    // MPI forbids that `out` is a part of `in`, which the contract allows.
    std::vector<std::byte> result(static_cast<std::size_t>(out.bytes()));
    run(call, "reduce-scatter", [&](const HexaplanMpi& mpi) {
      return mpi.reduce_scatter(handle_, in.data, result.data(), count_of(out.elements), mpi_type_of(in.type),
                                reduction_of(reduction));
    }).wait();
    if (!result.empty()) std::memcpy(out.data, result.data(), result.size());
    return {};
  }
  Work do_all_gather(ConstBuffer in, Buffer out, const Call& call) override {
    const bool in_place = in.data == static_cast<std::byte*>(out.data) + rank() * in.bytes();
    return run(call, "all-gather", [&](const HexaplanMpi& mpi) {
      const Wire wire = wire_of(in.type);
      return mpi.all_gather(handle_, in_place ? nullptr : in.data, out.data,
                            count_of(in.elements * wire.per_element), wire.type);
    });
  }
  Work do_all_to_all_v(ConstBuffer in, std::span<const std::int64_t> send_counts, Buffer out,
                       std::span<const std::int64_t> receive_counts, const Call& call) override {
    const Wire wire = wire_of(in.type);
    const Parts sends{send_counts, wire.per_element}, receives{receive_counts, wire.per_element};
    return run(call, "all-to-all", [&](const HexaplanMpi& mpi) {
      return mpi.all_to_all_v(handle_, in.data, sends.counts.data(), sends.at.data(), out.data,
                              receives.counts.data(), receives.at.data(), wire.type);
    });
  }
  Work do_broadcast(Buffer data, int root, const Call& call) override {
    return run(call, "broadcast", [&](const HexaplanMpi& mpi) {
      const Wire wire = wire_of(data.type);
      return mpi.broadcast(handle_, data.data, count_of(data.elements * wire.per_element), wire.type, root);
    });
  }
  Work do_send(ConstBuffer data, int to, const Call& call, int tag) override {
    job_->begin_call(call, "send");
    (void)count_of(data.elements);
    job_->send(handle_, data, to, tag);
    job_->end_call();
    return {};
  }
  Work do_receive(Buffer data, int from, const Call& call, int tag) override {
    (void)count_of(data.elements);
    return Work{std::make_unique<Arrival>(job_, job_->expect(handle_, data.bytes(), from, tag), data, call)};
  }
  void do_barrier(const Call& call) override {
    run(call, "barrier", [&](const HexaplanMpi& mpi) { return mpi.barrier(handle_); }).wait();
  }
  std::unique_ptr<Communicator> do_split(std::span<const int> members, int index,
                                         costmodel::Group kind) override {
    // MPI's split blocks and cannot be timed: see first that everybody comes.
    run({.operation = name_of(kind)}, "split", [&](const HexaplanMpi& mpi) {
      return mpi.barrier(handle_);
    }).wait();
    const int colour = *std::min_element(members.begin(), members.end());
    void* const part = job_->mpi().split(handle_, colour, index);
    if (part == nullptr) job_->fail(FaultCause::Mismatch, rank(), "MPI cannot split the communicator");
    return std::make_unique<MpiCommunicator>(job_, part, kind, shared_traffic());
  }

  void do_use(Device* device) override {
    if (device != nullptr && device->native_stream(Stream::Communication) != nullptr) {
      throw std::runtime_error{
          "ranks of MPI exchange the host's memory, not a GPU's: use --ranks nccl, which mpirun starts as "
          "well"};
    }
  }

  /// Counts and displacements as MPI takes them.
  struct Parts {
    Parts(std::span<const std::int64_t> elements, int per_element) {
      for (const std::int64_t part : elements) {
        at.push_back(counts.empty() ? 0 : at.back() + counts.back());
        counts.push_back(count_of(part * per_element));
      }
    }
    std::vector<int> counts, at;
  };
  static int reduction_of(Reduction reduction) {
    return reduction == Reduction::Sum ? kHexaplanMpiSum : kHexaplanMpiMax;
  }

  std::shared_ptr<MpiJob> job_;
  void* handle_;
};

/// MPI can be initialised once per process.
class MpiRanks : public RankBackend {
 public:
  explicit MpiRanks(const HexaplanMpi& mpi) : mpi_{mpi} {
    if (mpi_.initialise() != 0) throw std::runtime_error{"MPI cannot be initialised"};
    void* const world = mpi_.world();
    rank_ = mpi_.rank(world);
    size_ = mpi_.size(world);
    mpi_.release(world);
  }
  ~MpiRanks() override {
    if (!faulted_) mpi_.finalise();
  }

  void run(const RankOptions& options, const RankProgram& program) override {
    if (size_ != options.ranks) {
      throw std::runtime_error{
          fmt::format("the layout has {} ranks, the MPI job {}: start it with mpirun -np {}", options.ranks,
                      size_, options.ranks)};
    }
    const auto job = std::make_shared<MpiJob>(mpi_, options);
    try {
      MpiCommunicator world{job, job->world(), costmodel::Group::World, std::make_shared<Traffic>()};
      run_program(*job, world, program);
    } catch (...) {
      faulted_ = true;
      throw;
    }
  }
  [[nodiscard]] int fixed_ranks() const override { return size_; }
  [[nodiscard]] int first_local_rank() const override { return rank_; }
  [[nodiscard]] bool holds(int world_rank) const override { return world_rank == rank_; }

 private:
  void run_program(MpiJob& job, MpiCommunicator& world, const RankProgram& program) const {
    try {
      program(world);
      job.leave();
    } catch (const RankFault&) {
      throw;
    } catch (const std::exception& error) {
      announce(job, error.what());
    } catch (...) {
      announce(job, "an error of unknown type");
    }
  }
  /// Tells the others and throws the same fault, with the original error inside.
  void announce(MpiJob& job, const std::string& reason) const {
    const std::exception_ptr original = std::current_exception();
    try {
      job.fail(FaultCause::Threw, rank_, reason, place_of(original));
    } catch (RankFault& fault) {
      fault.original = original;
      throw;
    }
  }

  const HexaplanMpi& mpi_;
  int rank_ = 0, size_ = 1;
  bool faulted_ = false;
};

}  // namespace

const MpiLibrary& find_mpi() {
  static const MpiLibrary library = load_functions<HexaplanMpi>("hexaplan_mpi", kHexaplanMpiVersion);
  return library;
}

bool launched_by_mpi() {
  // Open MPI; MPICH and Intel MPI (PMI); Slurm's srun with PMIx.
  constexpr const char* kVariables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
  return std::any_of(std::begin(kVariables), std::end(kVariables),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

std::unique_ptr<RankBackend> make_mpi_ranks() {
  const MpiLibrary& library = find_mpi();
  if (library.functions == nullptr) return nullptr;
  return std::make_unique<MpiRanks>(*library.functions);
}

}  // namespace hexaplan::validator
