#include "validator/executor/device/cpu/cpu_device.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <deque>
#include <new>
#include <string>
#include <vector>

#include "validator/executor/device/cpu/instruction_set.h"
#include "validator/executor/device/cpu/kernels/activation.h"
#include "validator/executor/device/cpu/kernels/dropout.h"
#include "validator/executor/device/cpu/kernels/elementwise.h"
#include "validator/executor/device/cpu/kernels/embedding.h"
#include "validator/executor/device/cpu/kernels/kernel_table.h"
#include "validator/executor/device/cpu/kernels/noise.h"
#include "validator/executor/device/cpu/kernels/norm.h"
#include "validator/executor/device/cpu/kernels/optimizer.h"
#include "validator/executor/device/cpu/kernels/quantise.h"
#include "validator/executor/device/cpu/kernels/reduce.h"
#include "validator/executor/device/cpu/kernels/rope.h"
#include "validator/executor/device/cpu/kernels/router.h"
#include "validator/executor/device/cpu/kernels/rows.h"
#include "validator/executor/device/cpu/operands.h"
#include "validator/executor/device/timed.h"

namespace hexaplan::validator {
namespace {

/// Of a cache line, and of every vector register.
constexpr std::align_val_t kAlignment{64};

template <class Host>
void copy_from_host(const View& to, std::span<const Host> from) {
  assert(static_cast<std::int64_t>(from.size()) == to.elements());
  with_type(to.element, [&]<class T>(T* /*type*/) {
    const Host* next = from.data();
    for (std::int64_t r = 0; r < to.rows; ++r, next += to.cols)
      convert_row(next, to.cols, matrix<T>(to).row(r));
  });
}

template <class Host>
void copy_to_host(std::span<Host> to, const View& from) {
  assert(static_cast<std::int64_t>(to.size()) == from.elements());
  with_type(from.element, [&]<class T>(T* /*type*/) {
    Host* next = to.data();
    for (std::int64_t r = 0; r < from.rows; ++r, next += from.cols)
      convert_row(matrix<T>(from).row(r), from.cols, next);
  });
}

/// Groups own consecutive rows: block `group` of a matrix that is cut into `groups` equal parts.
template <class T>
kernels::Matrix<T> part(const kernels::Matrix<T>& m, std::int64_t group, std::int64_t groups) {
  const std::int64_t rows = m.rows / groups;
  return m.block(group * rows, rows, 0, m.cols);
}

template <class T>
class CpuDevice : public Device {
 public:
  CpuDevice(Element narrow, std::unique_ptr<Arena> arena, InstructionSet instructions)
      : narrow_{narrow},
        arena_{std::move(arena)},
        instructions_{instructions},
        kernels_{kernels_of<T>(instructions)} {}

  [[nodiscard]] std::string description() const override {
    if (narrow_ == Element::Bf16) return "cpu, bfloat16";
    if (narrow_ == Element::F16) return "cpu, float16";
    return sizeof(T) == sizeof(double) ? "cpu, float64" : "cpu, float32";
  }

  [[nodiscard]] std::vector<DeviceFact> facts() override {
    return {{.name = "instructions", .unit = {}, .text = std::string{name_of(instructions_)}}};
  }

  [[nodiscard]] Element element_of(costmodel::DType dtype) const override {
    return stored_element(dtype, kElementOf<T>, narrow_);
  }

  void fill(const View& to, double value) override {
    with_type(to.element, [&]<class To>(To* /*type*/) {
      for (std::int64_t r = 0; r < to.rows; ++r)
        std::fill_n(matrix<To>(to).row(r), to.cols, converted<To>(value));
    });
  }
  void upload(const View& to, std::span<const double> from) override { copy_from_host(to, from); }
  void upload(const View& to, std::span<const std::int32_t> from) override { copy_from_host(to, from); }
  void download(std::span<double> to, const View& from) override { copy_to_host(to, from); }
  void download(std::span<std::int32_t> to, const View& from) override { copy_to_host(to, from); }

  void reduce_parts(std::span<const View> parts, Reduction reduction, const View& to,
                    Stream /*stream*/) override {
    if (to.element == Element::I32) return reduce_in<std::int32_t>(parts, reduction, to);
    reduce_in<T>(parts, reduction, to);
  }
  void fill_noise(const View& to, std::uint64_t seed, double scale, Stream /*stream*/) override {
    with_type(to.element, [&]<class To>(To* /*type*/) {
      for (std::int64_t r = 0; r < to.rows; ++r) {
        To* const row = matrix<To>(to).row(r);
        const auto place = static_cast<std::uint64_t>(r * to.cols);
        for (std::uint64_t c = 0; c < static_cast<std::uint64_t>(to.cols); ++c)
          row[c] = converted<To>(scale * kernels::noise(seed, place + c));
      }
    });
  }

  void norm(const NormForm& form, const View& x, const View& weight, const View& bias, const View& y,
            const View& statistics) override {
    kernels::norm_forward<T>(form, In{x}, In{weight}.vector(), In{bias}.vector(), Out{y}, Out{statistics});
  }
  void norm_backward(const NormForm& form, const View& dy, const View& x, const View& weight,
                     const View& statistics, const View& dx, const View& dweight,
                     const View& dbias) override {
    kernels::norm_backward<T>(form, In{dy}, In{x}, In{weight}.vector(), In{statistics}, InOut{dx},
                              InOut{dweight}.vector(), InOut{dbias}.vector());
  }

  void rope(const View& x, const View& positions, const Rotation& rotation, bool inverse) override {
    kernels::rope<T>(InOut{x}, Ids{positions}.vector(), rotation, inverse ? -1 : 1);
  }
  void attention_merge(const View& o, const View& lse, const View& piece_o, const View& piece_lse,
                       [[maybe_unused]] std::int64_t heads) override {
    assert(lse.cols == heads && piece_lse.cols == heads);
    kernels_.attention_merge(InOut{o}, InOut{lse}, In{piece_o}, In{piece_lse});
  }
  void attention_delta(const View& d_o, const View& o, const View& delta) override {
    kernels_.attention_delta(In{o}, In{d_o}, Out{delta});
  }
  void sink_gradient(const View& sinks, const View& lse, const View& delta, const View& d_sinks) override {
    kernels_.sink_gradient(In{sinks}.vector(), In{lse}, In{delta}, InOut{d_sinks}.vector());
  }

  void score_softmax(const AttentionBlock& block, const View& scores, const View& capped) override {
    const In slopes{block.slopes}, sinks{block.sinks};
    kernels_.score_softmax(widened(block, slopes, sinks), InOut{scores}, Out{capped});
  }
  void score_softmax_backward(const AttentionBlock& block, const View& p, const View& capped, const View& d_p,
                              const View& d_scores) override {
    kernels_.score_softmax_backward(block, In{p}, In{capped}, In{d_p}, Out{d_scores});
  }

  void dropout(const DropoutForm& form, const View& x, const View& out, const View& mask) override {
    kernels::dropout<T>(form, Ids{form.positions}.vector(), In{x}, Out{out}, matrix<std::uint8_t>(mask));
  }
  void dropout_backward(const DropoutForm& form, const View& d, const View& mask, const View& dx) override {
    kernels::dropout_backward<T>(form, In{d}, matrix<const std::uint8_t>(mask), Out{dx});
  }

  void quantise(int bits, const View& x, const View& codes, const View& scales) override {
    kernels::quantise_blocks<T>(bits, In{x}, matrix<std::uint8_t>(codes), Out{scales});
  }
  void dequantise(int bits, const View& codes, const View& scales, const View& out,
                  bool accumulate) override {
    const auto run = [&](auto&& to) {
      kernels::dequantise_blocks<T>(bits, matrix<const std::uint8_t>(codes), In{scales}, to, accumulate);
    };
    accumulate ? run(InOut{out}) : run(Out{out});
  }

  void dequantise_nf4(const Nf4Matrix& from, const View& out) override {
    kernels::dequantise_nf4<T>(from, In{from.scales.element == Element::U8 ? View{} : from.scales}.vector(),
                               In{from.scales_of_scales}.vector(),
                               Out{out.reshaped(1, out.elements())}.vector());
  }
  void activation(const ActivationForm& form, const View& x, const View& act) override {
    assert(x.cols == (form.gated ? 2 : 1) * act.cols);
    kernels::activation_forward<T>(form, In{x}, Out{act});
  }
  void activation_backward(const ActivationForm& form, const View& d_act, const View& x,
                           const View& dx) override {
    assert(x.cols == (form.gated ? 2 : 1) * d_act.cols && dx.cols == x.cols);
    kernels::activation_backward<T>(form, In{d_act}, In{x}, Out{dx});
  }

  void embedding_lookup(const View& ids, const View& table, std::int64_t first, const View& out) override {
    with_rows(table, out, [&]<class Row>(auto from, auto to, Row* /*type*/) {
      kernels::embedding_lookup<Row>(Ids{ids}.vector(), from, first, to);
    });
  }
  void embedding_backward(const View& ids, const View& d_out, std::int64_t first,
                          const View& d_table) override {
    kernels::embedding_backward<T>(Ids{ids}.vector(), In{d_out}, first, InOut{d_table});
  }
  void row_max(const View& logits, std::int64_t valid, const View& maxima) override {
    kernels_.row_max(In{logits}, valid, Out{maxima}.vector());
  }
  void cross_entropy_sums(const View& logits, std::int64_t valid, const View& maxima, const View& targets,
                          std::int64_t first, const View& sums) override {
    kernels_.cross_entropy_sums(In{logits}, valid, In{maxima}.vector(), Ids{targets}.vector(), first,
                                Out{sums});
  }
  void cross_entropy_gradient(const View& logits, std::int64_t valid, const View& maxima, const View& sums,
                              const View& targets, std::int64_t first, double factor, const View& d_logits,
                              const View& loss) override {
    *InOut{loss}.vector() +=
        kernels_.cross_entropy_gradient(In{logits}, valid, In{maxima}.vector(), In{sums},
                                        Ids{targets}.vector(), first, static_cast<T>(factor), Out{d_logits});
  }

  void add(const View& to, const View& other) override { kernels::add<T>(InOut{to}, In{other}); }
  void scale(const View& x, double factor) override { kernels::scale<T>(InOut{x}, static_cast<T>(factor)); }
  void add_bias(const View& x, const View& bias) override {
    assert(bias.elements() == x.cols);
    kernels::add_bias<T>(InOut{x}, In{bias}.vector());
  }
  void soft_cap(const View& x, double cap) override { kernels::soft_cap<T>(InOut{x}, static_cast<T>(cap)); }
  void soft_cap_backward(const View& y, double cap, const View& d) override {
    kernels::soft_cap_backward<T>(In{y}, static_cast<T>(cap), InOut{d});
  }
  void clip(const View& x, double limit) override { kernels::clip<T>(InOut{x}, static_cast<T>(limit)); }
  void clip_backward(const View& x, double limit, const View& d) override {
    kernels::clip_backward<T>(In{x}, static_cast<T>(limit), InOut{d});
  }
  void squared_norm(const View& x, const View& sum) override {
    *InOut{sum}.vector() += static_cast<T>(kernels::sum_of_squares<T>(In{x}));
  }

  void route(const RouterForm& form, const View& logits, const View& correction, const View& scores,
             const View& chosen, const View& weights) override {
    assert(logits.cols % form.groups == 0 && form.groups <= RouterForm::kMostGroups);
    kernels::route<T>(form, In{logits}, In{correction}.vector(), Out{scores}, matrix<std::int32_t>(chosen),
                      Out{weights});
  }
  void route_backward(const RouterForm& form, const View& scores, const View& chosen, const View& weights,
                      const View& d_weights, const View& d_mean, const View& d_logits) override {
    kernels::route_backward<T>(form, In{scores}, Ids{chosen}, In{weights}, In{d_weights}, In{d_mean}.vector(),
                               Out{d_logits});
  }
  void gather_rows(const View& x, const View& rows, const View& out) override {
    with_rows(x, out, [&]<class Row>(auto from, auto to, Row* /*type*/) {
      kernels::gather_rows<Row>(from, Ids{rows}.vector(), to);
    });
  }
  void scatter_rows(const View& x, const View& rows, const View& factors, const View& out) override {
    kernels::scatter_rows<T>(In{x}, Ids{rows}.vector(), In{factors}.vector(), InOut{out});
  }
  void row_dots(const View& a, const View& b, const View& dots) override {
    kernels::row_dots<T>(In{a}, In{b}, Out{dots}.vector());
  }
  void column_sums(const View& x, const View& sums) override {
    kernels::column_sums<T>(In{x}, InOut{sums}.vector());
  }
  void scale_rows(const View& x, const View& factors) override {
    kernels::scale_rows<T>(InOut{x}, In{factors}.vector());
  }
  void scale_columns(const View& x, const View& factors) override {
    kernels::scale_columns<T>(InOut{x}, In{factors}.vector());
  }
  void column_dots(const View& a, const View& b, const View& sums) override {
    kernels::column_dots<T>(In{a}, In{b}, InOut{sums}.vector());
  }
  void gate_rows(const View& gates, const View& x, const View& out) override {
    kernels::gate_rows<T>(In{gates}.vector(), In{x}, Out{out});
  }
  void gate_rows_backward(const View& d_out, const View& gates, const View& x, const View& dx,
                          const View& d_gates) override {
    kernels::gate_rows_backward<T>(In{d_out}, In{gates}.vector(), In{x}, Out{dx}, Out{d_gates}.vector());
  }
  void repeat_rows(const View& x, const View& out) override {
    assert(x.rows == 0 || out.rows % x.rows == 0);
    with_rows(x, out,
              [&]<class Row>(auto from, auto to, Row* /*type*/) { kernels::repeat_rows<Row>(from, to); });
  }
  void add_repeated_rows(const View& x, const View& out) override {
    assert(out.rows == 0 || x.rows % out.rows == 0);
    kernels::add_repeated_rows<T>(In{x}, InOut{out});
  }

  void update(const OptimizerUpdate& u) override {
    if (u.rule == UpdateRule::AdamW8bit || u.rule == UpdateRule::AdamW8bitMoments) {
      update_8bit(u);
    } else {
      kernels_.update(kernels::rates_of<T>(u),
                      {.count = u.gradient.data != nullptr ? u.gradient.elements() : u.direction.elements(),
                       .gradient = In{u.gradient}.vector(),
                       .first_moment = InOut{u.first_moment}.vector(),
                       .second_moment = InOut{u.second_moment}.vector(),
                       .master = InOut{u.master}.vector(),
                       .direction = InOut{u.direction}.vector()});
    }
    if (u.parameter.data != nullptr)
      copy(u.parameter.reshaped(1, u.parameter.elements()), u.master.reshaped(1, u.master.elements()));
  }

 protected:
  [[nodiscard]] std::byte* take(std::size_t bytes) override {
    auto* memory = arena_
                       ? arena_->take(bytes)
                       : static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), kAlignment));
    std::memset(memory, 0xff, bytes);  // a not-a-number in every width
    return memory;
  }
  void give_back(std::byte* memory, std::size_t bytes) noexcept override {
    if (arena_) return arena_->give_back(memory, bytes);
    ::operator delete(memory, kAlignment);
  }

  void run_copy(const View& to, const View& from, Stream /*stream*/) override {
    assert(to.rows == from.rows && to.cols == from.cols);
    with_type(to.element, [&]<class To>(To* /*type*/) {
      with_type(from.element, [&]<class From>(From* /*type*/) { convert<To, From>(to, from); });
    });
  }
  void run_gemm(const Gemm& g) override {
    kernels_.gemm(In{g.a}, g.transpose_a, In{g.b}, g.transpose_b, g.accumulate, InOut{g.c});
  }
  void run_grouped_gemm(const Gemm& g, std::span<const std::int64_t> offsets) override {
    const auto groups = static_cast<std::int64_t>(offsets.size()) - 1;
    const In left{g.a}, right{g.b};
    const InOut result{g.c};
    const kernels::Matrix<const T> a = left, b = right;
    const kernels::Matrix<T> c = result;
    for (std::int64_t i = 0; i < groups; ++i) {
      const std::int64_t first = offsets[static_cast<std::size_t>(i)];
      const std::int64_t rows = offsets[static_cast<std::size_t>(i) + 1] - first;
      const kernels::Matrix<const T> tokens = a.block(first, rows, 0, a.cols);
      if (g.transpose_a) {
        kernels_.gemm(tokens, true, b.block(first, rows, 0, b.cols), g.transpose_b, g.accumulate,
                      part(c, i, groups));
      } else {
        kernels_.gemm(tokens, false, part(b, i, groups), g.transpose_b, g.accumulate,
                      c.block(first, rows, 0, c.cols));
      }
    }
  }
  void run_attention_forward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                             const View& o, const View& lse) override {
    const In slopes{block.slopes}, sinks{block.sinks};
    kernels_.attention_forward(widened(block, slopes, sinks), In{q}, In{k}, In{v}, InOut{o}, InOut{lse});
  }
  void run_attention_backward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                              const View& d_o, const View& lse, const View& delta, const View& dq,
                              const View& dk, const View& dv) override {
    const View& sum = query_sum_of(block, dq);
    clear_overwritten(block, sum, dk, dv, [this](const View& rows) { this->fill(rows, 0); });
    const In slopes{block.slopes}, sinks{block.sinks};
    kernels_.attention_backward(widened(block, slopes, sinks), In{q}, In{k}, In{v}, In{d_o}, In{lse},
                                In{delta}, InOut{sum}, InOut{dk}, InOut{dv});
    deliver_query_sum(block, dq, [this](const View& to, const View& from) { this->copy(to, from); });
  }

 private:
  void update_8bit(const OptimizerUpdate& u) {
    kernels_.update_8bit(kernels::rates_of<T>(u), {.first = u.first,
                                                   .count = u.gradient.elements(),
                                                   .gradient = In{u.gradient}.vector(),
                                                   .first_moment = u.first_moment.as<std::uint8_t>(),
                                                   .second_moment = u.second_moment.as<std::uint8_t>(),
                                                   .first_scale = InOut{u.first_scale}.vector(),
                                                   .second_scale = InOut{u.second_scale}.vector(),
                                                   .master = InOut{u.master}.vector()});
  }

  using In = Read<T>;
  using Out = Write<T>;
  using InOut = Update<T>;
  using Ids = Read<std::int32_t>;
  using Bits16 = std::uint16_t;  // of whatever is 16 bits wide and only copied

  static AttentionBlock widened(AttentionBlock block, const In& slopes, const In& sinks) {
    block.slopes = slopes.view();
    block.sinks = sinks.view();
    return block;
  }
  template <class Number>
  static void reduce_in(std::span<const View> parts, Reduction reduction, const View& to) {
    std::deque<Read<Number>> operands;
    std::vector<const Number*> from;
    for (const View& part : parts) from.push_back(operands.emplace_back(part).vector());
    kernels::reduce_parts<Number>(from, reduction == Reduction::Max, to.elements(),
                                  Update<Number>{to}.vector());
  }
  /// Calls run(from, to, type) for what only copies rows: narrow ones as they are, so that a table of which a
  /// few are read is not widened as a whole.
  template <class Run>
  static void with_rows(const View& from, const View& to, const Run& run) {
    if (from.element == to.element && bytes_of(to.element) == sizeof(Bits16)) {
      run(matrix<const Bits16>(from), matrix<Bits16>(to), static_cast<Bits16*>(nullptr));
    } else {
      const In source{from};
      const Out target{to};
      const kernels::Matrix<const T> in = source;
      const kernels::Matrix<T> out = target;
      run(in, out, static_cast<T*>(nullptr));
    }
  }

  Element narrow_;
  std::unique_ptr<Arena> arena_;  // none: the heap
  InstructionSet instructions_;
  kernels::KernelTable<T> kernels_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(Element element) {
  return make_cpu_device(element, nullptr);
}

std::unique_ptr<Device> make_cpu_device(Element element, std::unique_ptr<Arena> arena) {
  return make_cpu_device(element, std::move(arena), chosen_instruction_set());
}

std::unique_ptr<Device> make_cpu_device(Element element, std::unique_ptr<Arena> arena,
                                        InstructionSet instructions) {
  assert(element == Element::F64 || element == Element::F32 || element == Element::Bf16 ||
         element == Element::F16);
  if (element == Element::F64)
    return std::make_unique<Timed<CpuDevice<double>>>(element, std::move(arena), instructions);
  return std::make_unique<Timed<CpuDevice<float>>>(element, std::move(arena), instructions);
}

}  // namespace hexaplan::validator
