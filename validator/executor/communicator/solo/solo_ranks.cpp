#include "validator/executor/communicator/solo/solo_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "validator/executor/communicator/device_buffer.h"
#include "validator/executor/communicator/rank_fault.h"
#include "validator/executor/communicator/stream_order.h"
#include "validator/executor/device/cpu/cpu_device.h"

namespace hexaplan::validator {
namespace {

/// Standard deviations of a stream between stages: what a pre-norm stack keeps is of the order of 1; the
/// gradient of a loss that is averaged over tokens is of the order of 1 / tokens of the global batch.
/// Estimates: arithmetic on them only has to run as on real data, without overflow in any type.
constexpr double kStreamScale = 1, kGradientScale = 1e-5;

/// What the real rank's communicators share.
struct SoloRank {
  std::unique_ptr<Device> host = make_cpu_device(Element::F64, {.instructions = InstructionSet::Baseline});
  Device* device = host.get();
  LastCall last;
  std::uint64_t seed = 1;  // of the next noise
};

class SoloCommunicator : public Communicator {
 public:
  SoloCommunicator(std::shared_ptr<SoloRank> self, int rank, int size, costmodel::Group kind,
                   std::shared_ptr<Traffic> traffic)
      : Communicator{rank, size, kind, std::move(traffic)}, self_{std::move(self)} {}
  [[nodiscard]] bool leads() const override { return true; }

 private:
  /// Puts on the communication stream what stands for a call.
  template <class Imitation>
  Work imitate(const Call& call, const char* what, const Imitation& imitation) {
    LastCall& last = self_->last;
    last.operation = call.operation;
    last.what = what;
    last.layer = call.layer;
    last.microbatch = call.microbatch;
    ++last.calls;
    Device& device = *self_->device;
    const Event done = on_communication_stream(device, [&] { imitation(device); });
    return Work{std::make_unique<Ordered>(device, done)};
  }

  Work do_all_reduce(Buffer /*data*/, Reduction /*reduction*/, const Call& call) override {
    return imitate(call, "all-reduce", [](Device&) {});
  }
  Work do_reduce_scatter(ConstBuffer in, Buffer out, Reduction /*reduction*/, const Call& call) override {
    return imitate(call, "reduce-scatter", [&](Device& device) {
      const View own = view_of(in).slice(rank() * out.elements, out.elements);
      if (own.data != out.data) device.copy(view_of(out), own, Stream::Communication);
    });
  }
  Work do_all_gather(ConstBuffer in, Buffer out, const Call& call) override {
    return imitate(call, "all-gather", [&](Device& device) { repeat(device, in, out, call); });
  }
  Work do_all_to_all_v(ConstBuffer in, std::span<const std::int64_t> /*send_counts*/, Buffer out,
                       std::span<const std::int64_t> /*receive_counts*/, const Call& call) override {
    return imitate(call, "all-to-all", [&](Device& device) { repeat(device, in, out, call); });
  }
  Work do_broadcast(Buffer data, int root, const Call& call) override {
    return imitate(call, "broadcast", [&](Device& device) {
      if (root != rank()) repeat(device, {nullptr, 0, data.type}, data, call);
    });
  }
  Work do_send(ConstBuffer /*data*/, int /*to*/, const Call& call, int /*tag*/) override {
    return imitate(call, "send", [](Device&) {});
  }
  Work do_receive(Buffer data, int /*from*/, const Call& call, int /*tag*/) override {
    return imitate(call, "receive", [&](Device& device) {
      repeat(device, {nullptr, 0, data.type}, data, call);
    });
  }
  Work do_exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                   const Call& call) override {
    return imitate(call, "send/recv", [&](Device& device) {
      for (std::size_t i = 0; i < receives.size(); ++i) {
        const Buffer& data = receives[i].data;
        const ConstBuffer alike = i < sends.size() ? sends[i].data : ConstBuffer{nullptr, 0, data.type};
        repeat(device, alike, data, call);
      }
    });
  }
  void do_barrier(const Call& /*call*/) override {}
  /// Only what is real.
  std::vector<std::vector<std::byte>> do_gather_bytes(std::span<const std::byte> mine) override {
    return {{mine.begin(), mine.end()}};
  }
  std::unique_ptr<Communicator> do_split(std::span<const int> members, int index,
                                         costmodel::Group kind) override {
    return std::make_unique<SoloCommunicator>(self_, index, static_cast<int>(members.size()), kind,
                                              shared_traffic());
  }
  void do_use(Device* device) override { self_->device = device != nullptr ? device : self_->host.get(); }

  /// `own` again and again until `out`, which may hold it, is full; where there is no own, noise.
  void repeat(Device& device, const ConstBuffer& own, const Buffer& out, const Call& call) const {
    const View to = view_of(out), from = view_of(own);
    const std::int64_t total = to.cols;
    if (total == 0) return;
    if (from.cols == 0) return make_up(device, to, call);
    std::int64_t filled = std::min(total, from.cols);
    if (from.data != to.data) device.copy(to.slice(0, filled), from.slice(0, filled), Stream::Communication);
    while (filled < total) {
      const std::int64_t more = std::min(filled, total - filled);
      device.copy(to.slice(filled, more), to.slice(0, more), Stream::Communication);
      filled += more;
    }
  }
  /// No numbers of this rank are alike. Integers steer sizes: nothing that came unasked for is large.
  void make_up(Device& device, const View& to, const Call& call) const {
    const double scale = call.pass == costmodel::Pass::Forward ? kStreamScale : kGradientScale;
    if (to.element == Element::I32) return device.fill(to, 0);
    device.fill_noise(to, self_->seed++, scale, Stream::Communication);
  }

  std::shared_ptr<SoloRank> self_;
};

}  // namespace

void SoloRanks::run(const RankOptions& options, const RankProgram& program) {
  if (rank_ < 0 || rank_ >= options.ranks) {
    throw std::out_of_range{
        fmt::format("there is no rank {}: the layout has ranks 0 to {}", rank_, options.ranks - 1)};
  }
  const auto self = std::make_shared<SoloRank>();
  self->last.rank = rank_;
  try {
    SoloCommunicator world{self, rank_, options.ranks, costmodel::Group::World, std::make_shared<Traffic>()};
    program(world);
  } catch (const std::exception& error) {
    RankFault fault{{.cause = FaultCause::Threw,
                     .rank = rank_,
                     .call = self->last,
                     .reason = error.what(),
                     .place = place_of(std::current_exception()),
                     .last_calls = {self->last}}};
    fault.original = std::current_exception();
    throw fault;
  }
}

}  // namespace hexaplan::validator
