#include "tests/validator/communicator/streamed_device.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "tests/validator/communicator/fake_stream.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/device/nf4.h"

namespace hexaplan::validator {
namespace {

/// As CpuDevice has it: the order in which vector code adds up depends on where a row begins.
constexpr std::align_val_t kAlignment{64};

/// Points in streams of all devices of this process, by number: others' devices wait for them, too.
class Marks {
 public:
  std::uint64_t add(FakeMark mark) {
    const std::scoped_lock lock{mutex_};
    marks_.emplace(++last_, std::move(mark));
    return last_;
  }
  FakeMark at(std::uint64_t id) {
    const std::scoped_lock lock{mutex_};
    const auto found = marks_.find(id);
    return found == marks_.end() ? FakeMark{} : found->second;
  }
  /// Those of a stream that ends have passed.
  void forget(const StreamHandle& stream) {
    const std::scoped_lock lock{mutex_};
    std::erase_if(marks_, [&](const auto& entry) { return entry.second.stream == stream; });
  }

 private:
  std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, FakeMark> marks_;
};

Marks& marks() {
  static Marks all;
  return all;
}

class StreamedDevice final : public Device {
 public:
  ~StreamedDevice() override {
    synchronize();
    for (const StreamHandle& stream : streams_) marks().forget(stream);
  }
  [[nodiscard]] std::string description() const override { return "cpu behind streams, float64"; }
  [[nodiscard]] Element element_of(costmodel::DType dtype) const override { return cpu_->element_of(dtype); }

  [[nodiscard]] Event record(Stream stream) override {
    return {marks().add(FakeMark::at_end_of(on(stream)))};
  }
  void wait(Stream stream, Event event) override { marks().at(event.id).hold_up(*on(stream)); }
  void synchronize() override {
    for (const StreamHandle& stream : streams_) FakeMark::at_end_of(stream).wait();
  }
  [[nodiscard]] void* native_stream(Stream stream) override { return &on(stream); }

  void upload(const View& to, std::span<const double> from) override { move(to, from); }
  void upload(const View& to, std::span<const std::int32_t> from) override { move(to, from); }
  void download(std::span<double> to, const View& from) override { fetch(to, from); }
  void download(std::span<std::int32_t> to, const View& from) override { fetch(to, from); }

  void fill(const View& to, double value) override {
    later([=](Device& d) { d.fill(to, value); });
  }
  void reduce_parts(std::span<const View> parts, Reduction reduction, const View& to,
                    Stream stream) override {
    later([kept = std::vector(parts.begin(), parts.end()), reduction, to,
           stream](Device& d) { d.reduce_parts(kept, reduction, to, stream); },
          stream);
  }
  void fill_noise(const View& to, std::uint64_t seed, double scale, Stream stream) override {
    later([=](Device& d) { d.fill_noise(to, seed, scale, stream); }, stream);
  }
  void norm(const NormForm& form, const View& x, const View& weight, const View& bias, const View& y,
            const View& statistics) override {
    later([=](Device& d) { d.norm(form, x, weight, bias, y, statistics); });
  }
  void norm_backward(const NormForm& form, const View& dy, const View& x, const View& weight,
                     const View& statistics, const View& dx, const View& dweight,
                     const View& dbias) override {
    later([=](Device& d) { d.norm_backward(form, dy, x, weight, statistics, dx, dweight, dbias); });
  }
  void rope(const View& x, const View& positions, const Rotation& rotation, bool inverse) override {
    later([=](Device& d) { d.rope(x, positions, rotation, inverse); });
  }
  void attention_merge(const View& o, const View& lse, const View& piece_o, const View& piece_lse,
                       std::int64_t heads) override {
    later([=](Device& d) { d.attention_merge(o, lse, piece_o, piece_lse, heads); });
  }
  void attention_delta(const View& d_o, const View& o, const View& delta) override {
    later([=](Device& d) { d.attention_delta(d_o, o, delta); });
  }
  void sink_gradient(const View& sinks, const View& lse, const View& delta, const View& d_sinks) override {
    later([=](Device& d) { d.sink_gradient(sinks, lse, delta, d_sinks); });
  }
  void score_softmax(const AttentionBlock& block, const View& scores, const View& capped) override {
    later([=](Device& d) { d.score_softmax(block, scores, capped); });
  }
  void score_softmax_backward(const AttentionBlock& block, const View& p, const View& capped, const View& d_p,
                              const View& d_scores) override {
    later([=](Device& d) { d.score_softmax_backward(block, p, capped, d_p, d_scores); });
  }
  void dropout(const validator::DropoutForm& form, const View& x, const View& out,
               const View& mask) override {
    later([=](Device& d) { d.dropout(form, x, out, mask); });
  }
  void quantise(int bits, const View& x, const View& codes, const View& scales) override {
    later([=](Device& d) { d.quantise(bits, x, codes, scales); });
  }
  void dequantise(int bits, const View& codes, const View& scales, const View& out,
                  bool accumulate) override {
    later([=](Device& d) { d.dequantise(bits, codes, scales, out, accumulate); });
  }
  void dequantise_nf4(const validator::Nf4Matrix& from, const View& out) override {
    later([=](Device& d) { d.dequantise_nf4(from, out); });
  }
  void dropout_backward(const validator::DropoutForm& form, const View& gradient, const View& mask,
                        const View& dx) override {
    later([=](Device& d) { d.dropout_backward(form, gradient, mask, dx); });
  }
  void activation(const ActivationForm& form, const View& x, const View& act) override {
    later([=](Device& d) { d.activation(form, x, act); });
  }
  void activation_backward(const ActivationForm& form, const View& d_act, const View& x,
                           const View& dx) override {
    later([=](Device& d) { d.activation_backward(form, d_act, x, dx); });
  }
  void embedding_lookup(const View& ids, const View& table, std::int64_t first, const View& out) override {
    later([=](Device& d) { d.embedding_lookup(ids, table, first, out); });
  }
  void embedding_backward(const View& ids, const View& d_out, std::int64_t first,
                          const View& d_table) override {
    later([=](Device& d) { d.embedding_backward(ids, d_out, first, d_table); });
  }
  void row_max(const View& logits, std::int64_t valid, const View& maxima) override {
    later([=](Device& d) { d.row_max(logits, valid, maxima); });
  }
  void cross_entropy_sums(const View& logits, std::int64_t valid, const View& maxima, const View& targets,
                          std::int64_t first, const View& sums) override {
    later([=](Device& d) { d.cross_entropy_sums(logits, valid, maxima, targets, first, sums); });
  }
  void cross_entropy_gradient(const View& logits, std::int64_t valid, const View& maxima, const View& sums,
                              const View& targets, std::int64_t first, double factor, const View& d_logits,
                              const View& loss) override {
    later([=](Device& d) {
      d.cross_entropy_gradient(logits, valid, maxima, sums, targets, first, factor, d_logits, loss);
    });
  }
  void add(const View& to, const View& other) override {
    later([=](Device& d) { d.add(to, other); });
  }
  void scale(const View& x, double factor) override {
    later([=](Device& d) { d.scale(x, factor); });
  }
  void add_bias(const View& x, const View& bias) override {
    later([=](Device& d) { d.add_bias(x, bias); });
  }
  void soft_cap(const View& x, double cap) override {
    later([=](Device& d) { d.soft_cap(x, cap); });
  }
  void soft_cap_backward(const View& y, double cap, const View& gradient) override {
    later([=](Device& d) { d.soft_cap_backward(y, cap, gradient); });
  }
  void clip(const View& x, double limit) override {
    later([=](Device& d) { d.clip(x, limit); });
  }
  void clip_backward(const View& x, double limit, const View& gradient) override {
    later([=](Device& d) { d.clip_backward(x, limit, gradient); });
  }
  void squared_norm(const View& x, const View& sum) override {
    later([=](Device& d) { d.squared_norm(x, sum); });
  }
  void route(const RouterForm& form, const View& logits, const View& correction, const View& scores,
             const View& chosen, const View& weights) override {
    later([=](Device& d) { d.route(form, logits, correction, scores, chosen, weights); });
  }
  void route_backward(const RouterForm& form, const View& scores, const View& chosen, const View& weights,
                      const View& d_weights, const View& d_mean, const View& d_logits) override {
    later([=](Device& d) { d.route_backward(form, scores, chosen, weights, d_weights, d_mean, d_logits); });
  }
  void gather_rows(const View& x, const View& rows, const View& out) override {
    later([=](Device& d) { d.gather_rows(x, rows, out); });
  }
  void scatter_rows(const View& x, const View& rows, const View& factors, const View& out) override {
    later([=](Device& d) { d.scatter_rows(x, rows, factors, out); });
  }
  void row_dots(const View& a, const View& b, const View& dots) override {
    later([=](Device& d) { d.row_dots(a, b, dots); });
  }
  void column_sums(const View& x, const View& sums) override {
    later([=](Device& d) { d.column_sums(x, sums); });
  }
  void scale_rows(const View& x, const View& factors) override {
    later([=](Device& d) { d.scale_rows(x, factors); });
  }
  void scale_columns(const View& x, const View& factors) override {
    later([=](Device& d) { d.scale_columns(x, factors); });
  }
  void column_dots(const View& a, const View& b, const View& sums) override {
    later([=](Device& d) { d.column_dots(a, b, sums); });
  }
  void gate_rows(const View& gates, const View& x, const View& out) override {
    later([=](Device& d) { d.gate_rows(gates, x, out); });
  }
  void gate_rows_backward(const View& d_out, const View& gates, const View& x, const View& dx,
                          const View& d_gates) override {
    later([=](Device& d) { d.gate_rows_backward(d_out, gates, x, dx, d_gates); });
  }
  void pointwise(costmodel::program::Function f, const View& a, const View& b, const View& out) override {
    later([=](Device& d) { d.pointwise(f, a, b, out); });
  }
  void pointwise_backward(costmodel::program::Function f, const View& d_out, const View& a, const View& b,
                          const View& da, const View& db) override {
    later([=](Device& d) { d.pointwise_backward(f, d_out, a, b, da, db); });
  }
  void repeat_rows(const View& x, const View& out) override {
    later([=](Device& d) { d.repeat_rows(x, out); });
  }
  void add_repeated_rows(const View& x, const View& out) override {
    later([=](Device& d) { d.add_repeated_rows(x, out); });
  }
  void update(const OptimizerUpdate& update) override {
    later([=](Device& d) { d.update(update); });
  }

 protected:
  [[nodiscard]] std::byte* take(std::size_t bytes) override {
    auto* memory = static_cast<std::byte*>(::operator new(bytes + 1, kAlignment));
    later([=](Device&) { std::fill_n(memory, bytes, std::byte{0xff}); });
    return memory;
  }
  void give_back(std::byte* memory, std::size_t bytes) noexcept override {
    later([=](Device&) {
      std::fill_n(memory, bytes, std::byte{0xff});
      ::operator delete(memory, kAlignment);
    });
  }
  void run_copy(const View& to, const View& from, Stream stream) override {
    later([=](Device& d) { d.copy(to, from, stream); }, stream);
  }
  void run_gemm(const Gemm& g) override {
    later([=](Device& d) { d.gemm({}, g); });
  }
  void run_grouped_gemm(const Gemm& g, std::span<const std::int64_t> offsets) override {
    later(
        [g, kept = std::vector(offsets.begin(), offsets.end())](Device& d) { d.grouped_gemm({}, g, kept); });
  }
  void run_attention_forward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                             const View& o, const View& lse) override {
    later([=](Device& d) { d.attention_forward({}, block, q, k, v, o, lse); });
  }
  void run_attention_backward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                              const View& d_o, const View& lse, const View& delta, const View& dq,
                              const View& dk, const View& dv) override {
    later([=](Device& d) { d.attention_backward({}, block, q, k, v, d_o, lse, delta, dq, dk, dv); });
  }

 private:
  [[nodiscard]] StreamHandle& on(Stream stream) { return streams_[static_cast<std::size_t>(stream)]; }
  template <class Operation>
  void later(const Operation& operation, Stream stream = Stream::Compute) {
    on(stream)->give([cpu = cpu_, operation] { operation(*cpu); });
  }
  template <class Host>
  void move(const View& to, std::span<const Host> from) {
    later([=](Device& d) { d.upload(to, from); });
    FakeMark::at_end_of(on(Stream::Compute)).wait();
  }
  template <class Host>
  void fetch(std::span<Host> to, const View& from) {
    later([=](Device& d) { d.download(to, from); });
    FakeMark::at_end_of(on(Stream::Compute)).wait();
  }

  std::shared_ptr<Device> cpu_ = make_cpu_device(Element::F64);
  std::array<StreamHandle, 2> streams_{std::make_shared<FakeStream>(), std::make_shared<FakeStream>()};
};

}  // namespace

std::unique_ptr<Device> make_streamed_device() {
  return std::make_unique<StreamedDevice>();
}

}  // namespace hexaplan::validator
