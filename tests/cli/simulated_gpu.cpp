// A module of a machine with H100s that are not there: nothing is computed, and every call takes as long on
// the device's own clock as the cost model says under curves that the test knows.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "costmodel/compute/kernel_time.h"
#include "tests/cli/simulated_cluster.h"
#include "validator/executor/device/cuda/cuda_module.h"
#include "validator/executor/device/cuda/gpu_error.h"
#include "validator/executor/device/e4m3.h"
#include "validator/executor/device/nf4.h"
#include "validator/executor/device/timed.h"
#include "validator/executor/device/unsupported_product.h"

namespace hexaplan::validator {
namespace {

using costmodel::Bytes;
using costmodel::GemmShape;
using costmodel::Precision;
using costmodel::Seconds;

/// Datasheet of the H100 SXM, as the preset has it.
costmodel::GpuSpec h100() {
  costmodel::GpuSpec gpu;
  gpu.peak[static_cast<std::size_t>(Precision::Bf16)] = costmodel::FlopsPerSecond{989.4e12};
  gpu.peak[static_cast<std::size_t>(Precision::Fp8)] = costmodel::FlopsPerSecond{1978.9e12};
  gpu.memory_bandwidth = costmodel::BytesPerSecond{3.35e12};
  gpu.sm_count = 132;
  return gpu;
}

/// What calibrate_simulated.sh expects to find again.
costmodel::Calibration truth() {
  costmodel::Calibration c;
  c.launch_floor = Seconds{2e-6};
  c.memory = {.share = 0.9, .ramp = Seconds{3e-6}};
  c.sustained = simulated_cluster().sustained;
  costmodel::GemmCurve& bf16 = c.gemm[static_cast<std::size_t>(Precision::Bf16)];
  bf16.share = 0.75;
  costmodel::GemmCurve& fp8 = c.gemm[static_cast<std::size_t>(Precision::Fp8)];
  fp8.share = 0.6;
  fp8.sustained = 0.95;
  return c;
}

/// Two processes that measure one GPU at the same time measure neither.
class OneProcessPerGpu {
 public:
  explicit OneProcessPerGpu(int gpu) {
    const SimulatedCluster& cluster = simulated_cluster();
    if (!cluster.has_links()) return;
    const std::string path =
        cluster.folder + "/gpu-" + std::to_string(simulated_host()) + "-" + std::to_string(gpu);
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (flock(file_, LOCK_EX | LOCK_NB) != 0)
      throw std::runtime_error{"GPU " + std::to_string(gpu) + " is used by another process"};
  }
  ~OneProcessPerGpu() {
    if (file_ >= 0) close(file_);
  }
  OneProcessPerGpu(const OneProcessPerGpu&) = delete;
  OneProcessPerGpu& operator=(const OneProcessPerGpu&) = delete;

 private:
  int file_ = -1;
};

class SimulatedGpu : public Device {
 public:
  explicit SimulatedGpu(const CudaDeviceOptions& options)
      : element_{options.element},
        number_{options.gpu % simulated_cluster().per_node},
        in_use_{number_},
        slowness_{simulated_process() == simulated_cluster().slow ? simulated_cluster().slowness : 1} {
    fail_if_told("open", number_);
  }

  [[nodiscard]] std::string description() const override {
    const bool other = simulated_process() == simulated_cluster().other;
    return "cuda:" + std::to_string(number_) +
           (other ? " NVIDIA A100-SXM4-80GB, bfloat16" : " NVIDIA H100 80GB HBM3, bfloat16");
  }
  [[nodiscard]] void* native_stream(Stream stream) override {
    return simulated_cluster().has_links() ? &on(stream) : nullptr;
  }
  [[nodiscard]] Event record(Stream stream) override { return {ticks(on(stream).now)}; }
  void wait(Stream stream, Event event) override {
    on(stream).now = std::max(on(stream).now, static_cast<double>(event.id) / kTicks);
  }
  [[nodiscard]] Element element_of(costmodel::DType dtype) const override {
    return stored_element(dtype, Element::F32, element_);
  }
  [[nodiscard]] std::vector<Precision> narrow_gemms() override { return {Precision::Fp8}; }
  void fill(const View& to, double /*value*/) override { move({to}); }
  void upload(const View& /*to*/, std::span<const double> /*from*/) override {}
  /// Integers are kept, so that what the host asks back are the experts and counts that it wrote.
  void upload(const View& to, std::span<const std::int32_t> from) override { write_integers(to.data, from); }
  void download(std::span<double> /*to*/, const View& /*from*/) override {}
  void download(std::span<std::int32_t> to, const View& from) override {
    const std::vector<std::int32_t> known = integers_at(from.data, to.size());
    std::copy(known.begin(), known.end(), to.begin());
  }
  [[nodiscard]] TimeMark mark(Stream stream) override { return {ticks(on(stream).now)}; }
  void synchronize() override {
    for (SimulatedStream& stream : streams_) stream.now = std::max(streams_[0].now, streams_[1].now);
  }
  [[nodiscard]] Seconds between(TimeMark begin, TimeMark end) const override {
    return Seconds{static_cast<double>(end.id - begin.id) / kTicks};
  }
  void reduce_parts(std::span<const View> parts, Reduction /*reduction*/, const View& to,
                    Stream /*stream*/) override {
    move({parts.front(), to});
  }
  void fill_noise(const View& /*to*/, std::uint64_t /*seed*/, double /*scale*/, Stream /*stream*/) override {}
  void norm(const NormForm& /*form*/, const View& x, const View& /*weight*/, const View& /*bias*/,
            const View& y, const View& /*statistics*/) override {
    move({x, y});
  }
  void norm_backward(const NormForm& /*form*/, const View& dy, const View& x, const View& /*weight*/,
                     const View& /*statistics*/, const View& dx, const View& /*dweight*/,
                     const View& /*dbias*/) override {
    move({dy, x, dx, dx});
  }
  void rope(const View& x, const View& /*positions*/, const Rotation& /*rotation*/,
            bool /*inverse*/) override {
    move({x, x});
  }
  void attention_merge(const View& o, const View& /*lse*/, const View& piece_o, const View& /*piece_lse*/,
                       std::int64_t /*heads*/) override {
    move({o, piece_o});
  }
  void attention_delta(const View& d_o, const View& o, const View& /*delta*/) override { move({d_o, o}); }
  void sink_gradient(const View& /*sinks*/, const View& lse, const View& delta,
                     const View& /*d_sinks*/) override {
    move({lse, delta});
  }
  void score_softmax(const AttentionBlock& /*block*/, const View& scores, const View& /*capped*/) override {
    move({scores, scores});
  }
  void score_softmax_backward(const AttentionBlock& /*block*/, const View& p, const View& /*capped*/,
                              const View& d_p, const View& d_scores) override {
    move({p, d_p, d_scores});
  }
  void dropout(const validator::DropoutForm& /*form*/, const View& x, const View& out,
               const View& mask) override {
    move({x, out, mask});
  }
  void quantise(int /*bits*/, const View& x, const View& codes, const View& scales) override {
    move({x, codes, scales});
  }
  void dequantise(int /*bits*/, const View& codes, const View& scales, const View& out,
                  bool /*accumulate*/) override {
    move({codes, scales, out});
  }
  void dequantise_nf4(const validator::Nf4Matrix& from, const View& out) override {
    move({from.codes, from.scales, out});
  }
  void dropout_backward(const validator::DropoutForm& /*form*/, const View& d, const View& mask,
                        const View& dx) override {
    move({d, mask, dx});
  }
  void activation(const ActivationForm& /*form*/, const View& x, const View& act) override { move({x, act}); }
  void activation_backward(const ActivationForm& /*form*/, const View& d_act, const View& x,
                           const View& dx) override {
    move({d_act, x, dx});
  }
  /// Held back by power as long as one product runs on.
  [[nodiscard]] std::optional<validator::DeviceState> state() override {
    constexpr double kClock = 1980, kPower = 520, kMostPower = 698, kTemperature = 61;
    return validator::DeviceState{.clock = kClock * (held_back_ ? truth_.sustained : 1),
                                  .power = held_back_ ? kMostPower : kPower,
                                  .temperature = kTemperature};
  }
  void embedding_lookup(const View& /*ids*/, const View& /*table*/, std::int64_t /*first*/,
                        const View& out) override {
    move({out, out});
  }
  void embedding_backward(const View& /*ids*/, const View& d_out, std::int64_t /*first*/,
                          const View& /*d_table*/) override {
    move({d_out});
  }
  void row_max(const View& logits, std::int64_t /*valid*/, const View& /*maxima*/) override {
    move({logits});
  }
  void cross_entropy_sums(const View& logits, std::int64_t /*valid*/, const View& /*maxima*/,
                          const View& /*targets*/, std::int64_t /*first*/, const View& /*sums*/) override {
    move({logits});
  }
  void cross_entropy_gradient(const View& logits, std::int64_t /*valid*/, const View& /*maxima*/,
                              const View& /*sums*/, const View& /*targets*/, std::int64_t /*first*/,
                              double /*factor*/, const View& d_logits, const View& /*loss*/) override {
    move({logits, d_logits});
  }
  void add(const View& to, const View& other) override { move({to, to, other}); }
  void scale(const View& x, double /*factor*/) override { move({x, x}); }
  void add_bias(const View& x, const View& /*bias*/) override { move({x, x}); }
  void soft_cap(const View& x, double /*cap*/) override { move({x, x}); }
  void soft_cap_backward(const View& y, double /*cap*/, const View& d) override { move({y, d, d}); }
  void clip(const View& x, double /*limit*/) override { move({x, x}); }
  void clip_backward(const View& x, double /*limit*/, const View& d) override { move({x, d, d}); }
  void squared_norm(const View& x, const View& /*sum*/) override { move({x}); }
  void route(const RouterForm& /*form*/, const View& logits, const View& /*correction*/,
             const View& /*scores*/, const View& /*chosen*/, const View& /*weights*/) override {
    move({logits});
  }
  void route_backward(const RouterForm& /*form*/, const View& scores, const View& /*chosen*/,
                      const View& /*weights*/, const View& /*d_weights*/, const View& /*d_mean*/,
                      const View& /*d_logits*/) override {
    move({scores});
  }
  void gather_rows(const View& x, const View& /*rows*/, const View& out) override { move({x, out}); }
  void scatter_rows(const View& x, const View& /*rows*/, const View& /*factors*/, const View& out) override {
    move({x, out});
  }
  void row_dots(const View& a, const View& b, const View& /*dots*/) override { move({a, b}); }
  void column_sums(const View& x, const View& /*sums*/) override { move({x}); }
  void scale_rows(const View& x, const View& /*factors*/) override { move({x, x}); }
  void scale_columns(const View& x, const View& /*factors*/) override { move({x, x}); }
  void column_dots(const View& a, const View& b, const View& /*sums*/) override { move({a, b}); }
  void gate_rows(const View& /*gates*/, const View& x, const View& out) override { move({x, out}); }
  void gate_rows_backward(const View& d_out, const View& /*gates*/, const View& x, const View& dx,
                          const View& /*d_gates*/) override {
    move({d_out, x, dx});
  }
  void pointwise(costmodel::program::Function /*f*/, const View& a, const View& b, const View& out) override {
    move({a, b, out});
  }
  void pointwise_backward(costmodel::program::Function /*f*/, const View& d_out, const View& a, const View& b,
                          const View& da, const View& db) override {
    move({d_out, a, b, da, db});
  }
  void repeat_rows(const View& x, const View& out) override { move({x, out}); }
  void add_repeated_rows(const View& x, const View& out) override { move({x, out, out}); }
  void update(const OptimizerUpdate& u) override {
    move({u.parameter, u.master, u.master, u.first_moment, u.first_moment, u.second_moment, u.second_moment,
          u.gradient, u.direction});
  }

 protected:
  /// Addresses that nobody looks behind.
  [[nodiscard]] std::byte* take(std::size_t bytes) override {
    fail_if_told("allocate", number_);
    constexpr std::uintptr_t kFirst = std::uintptr_t{1} << 40, kAlignment = 512;
    const std::uintptr_t at = kFirst + taken_;
    taken_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return reinterpret_cast<std::byte*>(at);  // NOLINT(*-reinterpret-cast, performance-no-int-to-ptr)
  }
  void give_back(std::byte* memory, std::size_t bytes) noexcept override { forget_integers(memory, bytes); }
  void run_copy(const View& to, const View& from, Stream /*stream*/) override {
    fail_if_told("copy", number_);
    if (to.element == Element::I32)  // gathered counts, where one rank stands for all
      write_integers(to.data, integers_at(from.data, static_cast<std::size_t>(from.elements())));
    move({to, from});
  }
  void run_gemm(const Gemm& g) override {
    fail_if_told("gemm", number_);
    multiply({.m = g.c.rows, .n = g.c.cols, .k = g.transpose_a ? g.a.rows : g.a.cols}, g);
  }
  void run_grouped_gemm(const Gemm& g, std::span<const std::int64_t> offsets) override {
    const auto groups = static_cast<std::int64_t>(offsets.size()) - 1;
    // Of weights' gradients the sum is over a group's tokens.
    const std::int64_t k = g.transpose_a ? g.a.rows / groups : g.a.cols;
    multiply({.m = g.c.rows / groups, .n = g.c.cols, .k = k, .batch = groups}, g);
  }
  void run_attention_forward(const AttentionBlock& block, const View& /*q*/, const View& /*k*/,
                             const View& /*v*/, const View& /*o*/, const View& /*lse*/) override {
    attend(block, costmodel::Direction::Forward);
  }
  void run_attention_backward(const AttentionBlock& block, const View& /*q*/, const View& /*k*/,
                              const View& /*v*/, const View& /*d_o*/, const View& /*lse*/,
                              const View& /*delta*/, const View& /*dq*/, const View& /*dk*/,
                              const View& /*dv*/) override {
    attend(block, costmodel::Direction::Backward);
  }

 private:
  static constexpr double kTicks = 1e12;
  /// Seconds of one shape, more than all samples of it: then power and heat hold it back.
  static constexpr double kShort = 2;

  [[nodiscard]] SimulatedStream& on(Stream stream) { return streams_.at(static_cast<std::size_t>(stream)); }
  [[nodiscard]] static std::uint64_t ticks(double seconds) {
    return static_cast<std::uint64_t>(seconds * kTicks);
  }
  void take_time(double seconds) { on(Stream::Compute).now += seconds * slowness_; }
  /// A product is slower while a message is under way.
  void take_time_of_product(double seconds) {
    const double beside = simulated_cluster().beside;
    const double under_way =
        std::max(0.0, messages_under_way() - on(Stream::Compute).now) / (beside * slowness_);
    take_time(seconds + (beside - 1) * std::min(seconds, under_way));
  }

  void move(std::initializer_list<View> views) {
    held_back_ = false;
    Bytes bytes;
    for (const View& v : views) bytes += Bytes{static_cast<double>(v.bytes())};
    take_time(bytes.value() > 4096 ? memory_bound_time(bytes, gpu_, truth_).value()
                                   : truth_.launch_floor.value());
  }
  /// Fast sums take nothing off here, but operands that lie otherwise than on a GPU are refused.
  void multiply(GemmShape shape, const Gemm& g) {
    constexpr double kAccumulated = 8;  // read and written
    // An expert to which no token went: nothing is launched.
    if (shape.m * shape.n * shape.k * shape.batch == 0) return;
    if (g.accumulate) shape.accumulate_bytes = kAccumulated;
    const bool narrow = g.a.element == Element::E4m3;
    if (narrow && (g.transpose_a || !g.transpose_b || shape.k % kE4m3Multiple != 0))
      throw UnsupportedProduct{"both operands lie along the sum"};
    const Precision precision = narrow ? Precision::Fp8 : Precision::Bf16;
    costmodel::Calibration short_run = truth_;
    short_run.sustained = 1;
    short_run.gemm[static_cast<std::size_t>(precision)].sustained = 1;
    const double alone = gemm_time(shape, precision, gpu_, short_run).value();
    const bool same =
        shape.m == last_.m && shape.n == last_.n && shape.k == last_.k && precision == precision_;
    busy_ = same ? busy_ + alone : alone;
    last_ = shape;
    precision_ = precision;
    held_back_ = busy_ > kShort;
    take_time_of_product(held_back_ ? gemm_time(shape, precision, gpu_, truth_).value() : alone);
  }
  void attend(const AttentionBlock& b, costmodel::Direction direction) {
    fail_if_told("attention", number_);
    const costmodel::AttentionShape shape{.batch = b.batch,
                                          .heads = b.heads,
                                          .kv_heads = b.kv_heads,
                                          .seq_q = b.seq_q,
                                          .seq_kv = b.seq_kv,
                                          .head_dim = b.head_dim,
                                          .v_head_dim = b.v_head_dim,
                                          .window = b.window,
                                          .causal = b.causal,
                                          .pairs = b.pairs};
    take_time_of_product(attention_time(shape, direction, Precision::Bf16, gpu_, truth_).value());
  }

  Element element_;
  int number_;
  OneProcessPerGpu in_use_;
  double slowness_;
  costmodel::GpuSpec gpu_ = h100();
  costmodel::Calibration truth_ = truth();
  std::array<SimulatedStream, 2> streams_{};
  double busy_ = 0;
  bool held_back_ = false;  // by power
  GemmShape last_;
  Precision precision_ = Precision::Bf16;
  std::uintptr_t taken_ = 0;
};

}  // namespace
}  // namespace hexaplan::validator

extern "C" const hexaplan::validator::CudaModule* hexaplan_cuda() {
  using namespace hexaplan::validator;
  static const CudaModule module{
      .probe =
          [] {
            return LibraryState{true, "1 × NVIDIA H100 80GB HBM3, simulated", {}};
          },
      .make_device =
          [](const CudaDeviceOptions& options) {
            return std::unique_ptr<Device>{std::make_unique<Timed<SimulatedGpu>>(options)};
          }};
  return &module;
}
