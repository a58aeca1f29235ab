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
  int type = 0, per_element = 1;
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
    throw std::length_error{
        fmt::format("an exchange of {} elements with one rank is more than MPI's counts hold; use "
                    "smaller micro-batches or --ranks threads",
                    elements)};
  return static_cast<int>(elements);
}

/// Calls run(first, count) for pieces of at most `most` of a message; once for an empty one, which the others
/// wait for, too.
template <class Run>
void in_pieces(std::int64_t elements, std::int64_t most, const Run& run) {
  std::int64_t done = 0;
  do {
    const std::int64_t count = std::min(most, elements - done);
    run(done, count);
    done += count;
  } while (done < elements);
}
std::int64_t bytes_before(costmodel::DType type, std::int64_t elements) {
  return elements * costmodel::bits_per_element(type) / 8;
}
Buffer piece_of(Buffer whole, std::int64_t first, std::int64_t count) {
  return {static_cast<std::byte*>(whole.data) + bytes_before(whole.type, first), count, whole.type};
}
ConstBuffer piece_of(ConstBuffer whole, std::int64_t first, std::int64_t count) {
  return {static_cast<const std::byte*>(whole.data) + bytes_before(whole.type, first), count, whole.type};
}
void copy_bytes(Buffer to, ConstBuffer from) {
  if (from.bytes() > 0) std::memcpy(to.data, from.data, static_cast<std::size_t>(from.bytes()));
}

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(std::shared_ptr<MpiJob> job, void* handle, costmodel::Group kind,
                  std::shared_ptr<Traffic> traffic, std::int64_t most_elements)
      : Communicator{job->mpi().rank(handle), job->mpi().size(handle), kind, std::move(traffic)},
        job_{std::move(job)},
        handle_{handle},
        most_{most_elements} {}
  ~MpiCommunicator() override {
    // Collective in MPI: after a fault nobody can count on the others.
    if (!job_->over()) job_->mpi().release(handle_);
  }

 private:
  class Arrival : public Work::Pending {
   public:
    /// One piece of a message.
    struct Piece {
      std::shared_ptr<MpiJob::Incoming> message;
      Buffer data;
    };
    Arrival(std::shared_ptr<MpiJob> job, std::vector<Piece> pieces, const Call& call)
        : job_{std::move(job)}, pieces_{std::move(pieces)}, call_{call} {}
    void wait() override {
      job_->begin_call(call_, "receive");
      for (const Piece& piece : pieces_) {
        int bytes = 0;
        job_->finish(piece.message->request, &bytes);
        piece.message->request = nullptr;
        if (bytes != piece.data.bytes()) {
          job_->fail(FaultCause::Mismatch, job_->mpi().rank(job_->world()),
                     fmt::format("expects {} bytes, was sent {}", piece.data.bytes(), bytes));
        }
        if (bytes > 0) std::memcpy(piece.data.data, piece.message->bytes.data(), piece.message->bytes.size());
      }
      job_->end_call();
    }

   private:
    std::shared_ptr<MpiJob> job_;
    std::vector<Piece> pieces_;
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
    in_pieces(data.elements, most_, [&](std::int64_t first, std::int64_t count) {
      all_reduce_piece(piece_of(data, first, count), reduction, call);
    });
    return {};
  }
  void all_reduce_piece(Buffer data, Reduction reduction, const Call& call) {
    if (is_narrow(data.type)) {
      std::vector<float> wide = widened(data);
      all_reduce_piece(Buffer{std::span{wide}}, reduction, call);
      return narrow_into(data, wide);
    }
    run(call, "all-reduce", [&](const HexaplanMpi& mpi) {
      return mpi.all_reduce(handle_, data.data, count_of(data.elements), mpi_type_of(data.type),
                            reduction_of(reduction));
    }).wait();
  }
  /// What every rank gives is size() blocks of `out`'s elements; a piece is the same elements of every block.
  Work do_reduce_scatter(ConstBuffer in, Buffer out, Reduction reduction, const Call& call) override {
    if (out.elements <= most_) {
      reduce_scatter_piece(in, out, reduction, call);
      return {};
    }
    std::vector<std::byte> blocks;
    in_pieces(out.elements, piece_of_block(), [&](std::int64_t first, std::int64_t count) {
      const Buffer all = room_for_blocks(blocks, count, in.type);
      for (int r = 0; r < size(); ++r)
        copy_bytes(piece_of(all, r * count, count), piece_of(in, r * out.elements + first, count));
      reduce_scatter_piece(all, piece_of(out, first, count), reduction, call);
    });
    return {};
  }
  void reduce_scatter_piece(ConstBuffer in, Buffer out, Reduction reduction, const Call& call) {
    if (is_narrow(in.type)) {
      const std::vector<float> wide = widened(in);
      std::vector<float> sums(static_cast<std::size_t>(out.elements));
      reduce_scatter_piece(ConstBuffer{std::span{wide}}, Buffer{std::span{sums}}, reduction, call);
      return narrow_into(out, sums);
    }
    // MPI forbids that `out` is a part of `in`, which the contract allows.
    std::vector<std::byte> result(static_cast<std::size_t>(out.bytes()));
    run(call, "reduce-scatter", [&](const HexaplanMpi& mpi) {
      return mpi.reduce_scatter(handle_, in.data, result.data(), count_of(out.elements), mpi_type_of(in.type),
                                reduction_of(reduction));
    }).wait();
    if (!result.empty()) std::memcpy(out.data, result.data(), result.size());
  }
  Work do_all_gather(ConstBuffer in, Buffer out, const Call& call) override {
    const Wire wire = wire_of(in.type);
    if (in.elements * wire.per_element <= most_) {
      const bool in_place = in.data == static_cast<std::byte*>(out.data) + rank() * in.bytes();
      return run(call, "all-gather", [&](const HexaplanMpi& mpi) {
        return mpi.all_gather(handle_, in_place ? nullptr : in.data, out.data,
                              count_of(in.elements * wire.per_element), wire.type);
      });
    }
    std::vector<std::byte> blocks;
    in_pieces(in.elements, piece_of_block(wire), [&](std::int64_t first, std::int64_t count) {
      const Buffer all = room_for_blocks(blocks, count, in.type);
      const ConstBuffer mine = piece_of(in, first, count);
      run(call, "all-gather", [&](const HexaplanMpi& mpi) {
        return mpi.all_gather(handle_, mine.data, all.data, count_of(count * wire.per_element), wire.type);
      }).wait();
      for (int r = 0; r < size(); ++r)
        copy_bytes(piece_of(out, r * in.elements + first, count), piece_of(all, r * count, count));
    });
    return {};
  }
  /// Of every block, so that a piece of them all is no longer than a message.
  [[nodiscard]] std::int64_t piece_of_block(Wire wire = {}) const {
    return std::max<std::int64_t>(1, most_ / size() / wire.per_element);
  }
  /// `count` elements for every rank.
  Buffer room_for_blocks(std::vector<std::byte>& room, std::int64_t count, costmodel::DType type) const {
    const Buffer all{nullptr, size() * count, type};
    room.resize(static_cast<std::size_t>(all.bytes()));
    return {room.data(), all.elements, type};
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
    const Wire wire = wire_of(data.type);
    in_pieces(data.elements, pieces_of(wire), [&](std::int64_t first, std::int64_t count) {
      run(call, "broadcast", [&](const HexaplanMpi& mpi) {
        return mpi.broadcast(handle_, piece_of(data, first, count).data, count_of(count * wire.per_element),
                             wire.type, root);
      }).wait();
    });
    return {};
  }
  [[nodiscard]] std::int64_t pieces_of(Wire wire) const {
    return std::max<std::int64_t>(1, most_ / wire.per_element);
  }
  Work do_send(ConstBuffer data, int to, const Call& call, int tag) override {
    job_->begin_call(call, "send");
    in_pieces(data.elements, most_, [&](std::int64_t first, std::int64_t count) {
      job_->send(handle_, piece_of(data, first, count), to, tag);
    });
    job_->end_call();
    return {};
  }
  Work do_receive(Buffer data, int from, const Call& call, int tag) override {
    std::vector<Arrival::Piece> pieces;
    in_pieces(data.elements, most_, [&](std::int64_t first, std::int64_t count) {
      const Buffer piece = piece_of(data, first, count);
      pieces.push_back({job_->expect(handle_, piece.bytes(), from, tag), piece});
    });
    return Work{std::make_unique<Arrival>(job_, std::move(pieces), call)};
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
    return std::make_unique<MpiCommunicator>(job_, part, kind, shared_traffic(), most_);
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
  std::int64_t most_;  // elements of one call
};

/// MPI can be initialised once per process.
class MpiRanks : public RankBackend {
 public:
  MpiRanks(const HexaplanMpi& mpi, std::int64_t most_elements) : mpi_{mpi}, most_{most_elements} {
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
      MpiCommunicator world{job, job->world(), costmodel::Group::World, std::make_shared<Traffic>(), most_};
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
  std::int64_t most_;
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

std::unique_ptr<RankBackend> make_mpi_ranks(std::int64_t most_elements) {
  const MpiLibrary& library = find_mpi();
  if (library.functions == nullptr) return nullptr;
  return std::make_unique<MpiRanks>(*library.functions, most_elements);
}

}  // namespace hexaplan::validator
