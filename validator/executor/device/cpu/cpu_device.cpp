#include "validator/executor/device/cpu/cpu_device.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <deque>
#include <new>
#include <numeric>
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
#include "validator/executor/device/cpu/pieces.h"
#include "validator/executor/device/cpu/products.h"
#include "validator/executor/device/cpu/thread_team.h"
#include "validator/executor/device/timed.h"

namespace hexaplan::validator {
namespace {

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

template <class T>
class CpuDevice : public Device {
 public:
  CpuDevice(Element narrow, CpuDeviceOptions options)
      : narrow_{narrow},
        arena_{std::move(options.arena)},
        instructions_{options.instructions},
        kernels_{kernels_of<T>(options.instructions)},
        team_{options.threads} {}

  [[nodiscard]] std::string description() const override {
    if (narrow_ == Element::Bf16) return "cpu, bfloat16";
    if (narrow_ == Element::F16) return "cpu, float16";
    return sizeof(T) == sizeof(double) ? "cpu, float64" : "cpu, float32";
  }

  [[nodiscard]] std::vector<DeviceFact> facts() override {
    return {
        {.name = "instructions", .unit = {}, .text = std::string{name_of(instructions_)}},
        {.name = "threads", .value = static_cast<double>(team_.threads()), .unit = "threads", .text = {}}};
  }

  [[nodiscard]] Element element_of(costmodel::DType dtype) const override {
    return stored_element(dtype, kElementOf<T>, narrow_);
  }

  void fill(const View& to, double value) override {
    with_type(to.element, [&]<class To>(To* /*type*/) {
      by_numbers(
          team_,
          [value](const kernels::Matrix<To>& part) {
            for (std::int64_t r = 0; r < part.rows; ++r)
              std::fill_n(part.row(r), part.cols, converted<To>(value));
          },
          matrix<To>(to));
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
    const In input = read(x), w = read(weight), b = read(bias);
    const Out output = written(y), kept = written(statistics);
    rows(input, [&](std::int64_t first, std::int64_t count) {
      kernels::norm_forward<T>(form, input.rows(first, count), w.vector(), b.vector(),
                               output.rows(first, count), kept.rows(first, count));
    });
  }
  void norm_backward(const NormForm& form, const View& dy, const View& x, const View& weight,
                     const View& statistics, const View& dx, const View& dweight,
                     const View& dbias) override {
    const In gradient = read(dy), input = read(x), w = read(weight), kept = read(statistics);
    const InOut result = updated(dx), d_weight = updated(dweight), d_bias = updated(dbias);
    const std::int64_t groups = form.groups(x.cols);
    if (dweight.data != nullptr || dbias.data != nullptr) {
      by_columns(team_, x.rows * groups, x.cols / groups, [&](std::int64_t first, std::int64_t count) {
        kernels::norm_weight_gradients<T>(form, gradient, input, kept, first, count, d_weight.vector(),
                                          d_bias.vector());
      });
    }
    rows(input, [&](std::int64_t first, std::int64_t count) {
      kernels::norm_backward<T>(form, gradient.rows(first, count), input.rows(first, count), w.vector(),
                                kept.rows(first, count), result.rows(first, count));
    });
  }

  void rope(const View& x, const View& positions, const Rotation& rotation, bool inverse) override {
    const InOut turned = updated(x);
    const Ids at = indices(positions);
    rows(turned, [&](std::int64_t first, std::int64_t count) {
      kernels::rope<T>(turned.rows(first, count), at.vector() + first, rotation, inverse ? -1 : 1);
    });
  }
  void attention_merge(const View& o, const View& lse, const View& piece_o, const View& piece_lse,
                       [[maybe_unused]] std::int64_t heads) override {
    assert(lse.cols == heads && piece_lse.cols == heads);
    const InOut output = updated(o), sums = updated(lse);
    const In other = read(piece_o), other_sums = read(piece_lse);
    rows(output, [&](std::int64_t first, std::int64_t count) {
      kernels_.attention_merge(output.rows(first, count), sums.rows(first, count), other.rows(first, count),
                               other_sums.rows(first, count));
    });
  }
  void attention_delta(const View& d_o, const View& o, const View& delta) override {
    const In output = read(o), gradient = read(d_o);
    const Out sums = written(delta);
    rows(output, [&](std::int64_t first, std::int64_t count) {
      kernels_.attention_delta(output.rows(first, count), gradient.rows(first, count),
                               sums.rows(first, count));
    });
  }
  void sink_gradient(const View& sinks, const View& lse, const View& delta, const View& d_sinks) override {
    kernels_.sink_gradient(read(sinks).vector(), read(lse), read(delta), updated(d_sinks).vector());
  }

  void score_softmax(const AttentionBlock& block, const View& scores, const View& capped) override {
    assert(block.q_pitch == block.seq_q);
    const In slopes = read(block.slopes);
    const InOut in_place = updated(scores);
    const Out before = written(capped);
    each_head(widened(block, slopes), [&](const HeadsOf& part) {
      kernels_.score_softmax(part.block, part.queries(in_place.matrix(), block.seq_kv),
                             part.queries(before.matrix(), block.seq_kv));
    });
  }
  void score_softmax_backward(const AttentionBlock& block, const View& p, const View& capped, const View& d_p,
                              const View& d_scores) override {
    assert(block.q_pitch == block.seq_q);
    const In probabilities = read(p), before = read(capped), gradient = read(d_p);
    const Out result = written(d_scores);
    each_head(block, [&](const HeadsOf& part) {
      const auto scores = [&](const auto& of) { return part.queries(of.matrix(), block.seq_kv); };
      kernels_.score_softmax_backward(part.block, scores(probabilities), scores(before), scores(gradient),
                                      scores(result));
    });
  }

  void dropout(const DropoutForm& form, const View& x, const View& out, const View& mask) override {
    const Ids positions = indices(form.positions);
    const In input = read(x);
    const Out output = written(out);
    const auto kept = matrix<std::uint8_t>(mask);
    rows(input, [&](std::int64_t first, std::int64_t count) {
      DropoutForm part = form;
      part.first_row += first;
      kernels::dropout<T>(part, positions.vector() != nullptr ? positions.vector() + first : nullptr,
                          input.rows(first, count), output.rows(first, count), rows_of(kept, first, count));
    });
  }
  void dropout_backward(const DropoutForm& form, const View& d, const View& mask, const View& dx) override {
    const In gradient = read(d);
    const Out result = written(dx);
    const auto kept = matrix<const std::uint8_t>(mask);
    rows(gradient, [&](std::int64_t first, std::int64_t count) {
      kernels::dropout_backward<T>(form, gradient.rows(first, count), rows_of(kept, first, count),
                                   result.rows(first, count));
    });
  }

  void quantise(int bits, const View& x, const View& codes, const View& scales) override {
    kernels::quantise_blocks<T>(bits, read(x), matrix<std::uint8_t>(codes), written(scales));
  }
  void dequantise(int bits, const View& codes, const View& scales, const View& out,
                  bool accumulate) override {
    const auto run = [&](auto&& to) {
      kernels::dequantise_blocks<T>(bits, matrix<const std::uint8_t>(codes), read(scales), to, accumulate);
    };
    accumulate ? run(updated(out)) : run(written(out));
  }

  void dequantise_nf4(const Nf4Matrix& from, const View& out) override {
    kernels::dequantise_nf4<T>(from, read(from.scales.element == Element::U8 ? View{} : from.scales).vector(),
                               read(from.scales_of_scales).vector(),
                               written(out.reshaped(1, out.elements())).vector());
  }
  void activation(const ActivationForm& form, const View& x, const View& act) override {
    assert(x.cols == (form.gated ? 2 : 1) * act.cols);
    const In input = read(x);
    const Out output = written(act);
    rows(input, [&](std::int64_t first, std::int64_t count) {
      kernels_.activation_forward(form, input.rows(first, count), output.rows(first, count));
    });
  }
  void activation_backward(const ActivationForm& form, const View& d_act, const View& x,
                           const View& dx) override {
    assert(x.cols == (form.gated ? 2 : 1) * d_act.cols && dx.cols == x.cols);
    const In gradient = read(d_act), input = read(x);
    const Out result = written(dx);
    rows(input, [&](std::int64_t first, std::int64_t count) {
      kernels_.activation_backward(form, gradient.rows(first, count), input.rows(first, count),
                                   result.rows(first, count));
    });
  }

  void embedding_lookup(const View& ids, const View& table, std::int64_t first, const View& out) override {
    const Ids wanted = indices(ids);
    with_rows(table, out, [&]<class Row>(auto from, auto to, Row* /*type*/) {
      by_rows(team_, to.rows, to.cols, [&](std::int64_t begin, std::int64_t count) {
        kernels::embedding_lookup<Row>(wanted.vector() + begin, from, first, rows_of(to, begin, count));
      });
    });
  }
  void embedding_backward(const View& ids, const View& d_out, std::int64_t first,
                          const View& d_table) override {
    const Ids seen = indices(ids);
    const In gradient = read(d_out);
    const InOut table = updated(d_table);
    columns(gradient, [&](std::int64_t begin, std::int64_t count) {
      kernels::embedding_backward<T>(seen.vector(), gradient.columns(begin, count), first,
                                     table.columns(begin, count));
    });
  }
  void row_max(const View& logits, std::int64_t valid, const View& maxima) override {
    const In input = read(logits);
    const Out output = written(maxima);
    rows(input, [&](std::int64_t first, std::int64_t count) {
      kernels_.row_max(input.rows(first, count), valid, output.vector() + first);
    });
  }
  void cross_entropy_sums(const View& logits, std::int64_t valid, const View& maxima, const View& targets,
                          std::int64_t first, const View& sums) override {
    const In input = read(logits), largest = read(maxima);
    const Ids wanted = indices(targets);
    const Out output = written(sums);
    rows(input, [&](std::int64_t begin, std::int64_t count) {
      kernels_.cross_entropy_sums(input.rows(begin, count), valid, largest.vector() + begin,
                                  wanted.vector() + begin, first, output.rows(begin, count));
    });
  }
  void cross_entropy_gradient(const View& logits, std::int64_t valid, const View& maxima, const View& sums,
                              const View& targets, std::int64_t first, double factor, const View& d_logits,
                              const View& loss) override {
    const In input = read(logits), largest = read(maxima), kept = read(sums);
    const Ids wanted = indices(targets);
    const Out gradient = written(d_logits);
    std::vector<T> losses(static_cast<std::size_t>(input.count()));  // of a piece, where it begins
    rows(input, [&](std::int64_t begin, std::int64_t count) {
      losses[static_cast<std::size_t>(begin)] = kernels_.cross_entropy_gradient(
          input.rows(begin, count), valid, largest.vector() + begin, kept.rows(begin, count),
          wanted.vector() + begin, first, static_cast<T>(factor), gradient.rows(begin, count));
    });
    *updated(loss).vector() += std::accumulate(losses.begin(), losses.end(), T{0});
  }

  void add(const View& to, const View& other) override {
    const InOut sum = updated(to);
    const In addend = read(other);
    by_numbers(
        team_, [](const Numbers& t, const Known& f) { kernels::add<T>(t, f); }, sum.matrix(), addend.known());
  }
  void scale(const View& x, double factor) override {
    change(x, [&](const Numbers& part) { kernels::scale<T>(part, static_cast<T>(factor)); });
  }
  void add_bias(const View& x, const View& bias) override {
    assert(bias.elements() == x.cols);
    const In addend = read(bias);
    const InOut sum = updated(x);
    rows(sum, [&](std::int64_t first, std::int64_t count) {
      kernels::add_bias<T>(sum.rows(first, count), addend.vector());
    });
  }
  void soft_cap(const View& x, double cap) override {
    change(x, [&](const Numbers& part) { kernels::soft_cap<T>(part, static_cast<T>(cap)); });
  }
  void soft_cap_backward(const View& y, double cap, const View& d) override {
    change_by(d, y, [&](const Numbers& part, const Known& by) {
      kernels::soft_cap_backward<T>(by, static_cast<T>(cap), part);
    });
  }
  void clip(const View& x, double limit) override {
    change(x, [&](const Numbers& part) { kernels::clip<T>(part, static_cast<T>(limit)); });
  }
  void clip_backward(const View& x, double limit, const View& d) override {
    change_by(d, x, [&](const Numbers& part, const Known& by) {
      kernels::clip_backward<T>(by, static_cast<T>(limit), part);
    });
  }
  void squared_norm(const View& x, const View& sum) override {
    const In input = read(x);
    const Known all = input.known();
    // One number per piece of a matrix without gaps, per row of another, where it begins.
    std::vector<double> sums(
        static_cast<std::size_t>(std::max(all.rows, all.rows * all.cols / kNumbersOfPiece + 1)));
    if (without_gaps(all)) {
      in_pieces(team_, all.rows * all.cols, kNumbersOfPiece, [&](std::int64_t first, std::int64_t count) {
        sums[static_cast<std::size_t>(first / kNumbersOfPiece)] =
            kernels_.sum_of_squares(run_of(all, first, count));
      });
    } else {
      rows(input, [&](std::int64_t first, std::int64_t count) {
        sums[static_cast<std::size_t>(first)] = kernels_.sum_of_squares(rows_of(all, first, count));
      });
    }
    *updated(sum).vector() += static_cast<T>(std::accumulate(sums.begin(), sums.end(), 0.0));
  }

  void route(const RouterForm& form, const View& logits, const View& correction, const View& scores,
             const View& chosen, const View& weights) override {
    assert(logits.cols % form.groups == 0 && form.groups <= RouterForm::kMostGroups);
    kernels::route<T>(form, read(logits), read(correction).vector(), written(scores),
                      matrix<std::int32_t>(chosen), written(weights));
  }
  void route_backward(const RouterForm& form, const View& scores, const View& chosen, const View& weights,
                      const View& d_weights, const View& d_mean, const View& d_logits) override {
    kernels::route_backward<T>(form, read(scores), indices(chosen), read(weights), read(d_weights),
                               read(d_mean).vector(), written(d_logits));
  }
  void gather_rows(const View& x, const View& places, const View& out) override {
    const Ids at = indices(places);
    with_rows(x, out, [&]<class Row>(auto from, auto to, Row* /*type*/) {
      by_rows(team_, to.rows, to.cols, [&](std::int64_t first, std::int64_t count) {
        kernels::gather_rows<Row>(from, at.vector() + first, rows_of(to, first, count));
      });
    });
  }
  void scatter_rows(const View& x, const View& places, const View& factors, const View& out) override {
    const In input = read(x), by = read(factors);
    const Ids at = indices(places);
    const InOut sum = updated(out);
    columns(input, [&](std::int64_t first, std::int64_t count) {
      kernels::scatter_rows<T>(input.columns(first, count), at.vector(), by.vector(),
                               sum.columns(first, count));
    });
  }
  void row_dots(const View& a, const View& b, const View& dots) override {
    const In left = read(a), right = read(b);
    const Out output = written(dots);
    rows(left, [&](std::int64_t first, std::int64_t count) {
      kernels::row_dots<T>(left.rows(first, count), right.rows(first, count), output.vector() + first);
    });
  }
  void column_sums(const View& x, const View& sums) override {
    const In input = read(x);
    const InOut output = updated(sums);
    columns(input, [&](std::int64_t first, std::int64_t count) {
      kernels::column_sums<T>(input.columns(first, count), output.vector() + first);
    });
  }
  void scale_rows(const View& x, const View& factors) override {
    const In by = read(factors);
    const InOut scaled = updated(x);
    rows(scaled, [&](std::int64_t first, std::int64_t count) {
      kernels::scale_rows<T>(scaled.rows(first, count), by.vector() + first);
    });
  }
  void scale_columns(const View& x, const View& factors) override {
    const In by = read(factors);
    const InOut scaled = updated(x);
    rows(scaled, [&](std::int64_t first, std::int64_t count) {
      kernels::scale_columns<T>(scaled.rows(first, count), by.vector());
    });
  }
  void column_dots(const View& a, const View& b, const View& sums) override {
    const In left = read(a), right = read(b);
    const InOut output = updated(sums);
    columns(left, [&](std::int64_t first, std::int64_t count) {
      kernels::column_dots<T>(left.columns(first, count), right.columns(first, count),
                              output.vector() + first);
    });
  }
  void gate_rows(const View& gates, const View& x, const View& out) override {
    const In open = read(gates), input = read(x);
    const Out output = written(out);
    rows(input, [&](std::int64_t first, std::int64_t count) {
      kernels::gate_rows<T>(open.vector() + first, input.rows(first, count), output.rows(first, count));
    });
  }
  void gate_rows_backward(const View& d_out, const View& gates, const View& x, const View& dx,
                          const View& d_gates) override {
    const In gradient = read(d_out), open = read(gates), input = read(x);
    const Out result = written(dx), of_gates = written(d_gates);
    rows(input, [&](std::int64_t first, std::int64_t count) {
      kernels::gate_rows_backward<T>(gradient.rows(first, count), open.vector() + first,
                                     input.rows(first, count), result.rows(first, count),
                                     of_gates.vector() + first);
    });
  }
  void pointwise(costmodel::program::Function f, const View& a, const View& b, const View& out) override {
    const In first_operand = read(a), second_operand = read(b);
    const Out result = written(out);
    rows(first_operand, [&](std::int64_t first, std::int64_t count) {
      kernels::pointwise<T>(f, first_operand.rows(first, count), second_operand.rows(first, count),
                            result.rows(first, count));
    });
  }
  void pointwise_backward(costmodel::program::Function f, const View& d_out, const View& a, const View& b,
                          const View& da, const View& db) override {
    const In gradient = read(d_out), first_operand = read(a), second_operand = read(b);
    const Out of_first = written(da), of_second = written(db);
    rows(first_operand, [&](std::int64_t first, std::int64_t count) {
      kernels::pointwise_backward<T>(f, gradient.rows(first, count), first_operand.rows(first, count),
                                     second_operand.rows(first, count), of_first.rows(first, count),
                                     of_second.rows(first, count));
    });
  }
  void repeat_rows(const View& x, const View& out) override {
    assert(x.rows == 0 || out.rows % x.rows == 0);
    with_rows(x, out,
              [&]<class Row>(auto from, auto to, Row* /*type*/) { kernels::repeat_rows<Row>(from, to); });
  }
  void add_repeated_rows(const View& x, const View& out) override {
    assert(out.rows == 0 || x.rows % out.rows == 0);
    kernels::add_repeated_rows<T>(read(x), updated(out));
  }

  void update(const OptimizerUpdate& u) override {
    if (u.rule == UpdateRule::AdamW8bit || u.rule == UpdateRule::AdamW8bitMoments) {
      update_8bit(u);
    } else {
      update_numbers(u);
    }
    if (u.parameter.data != nullptr)
      copy(u.parameter.reshaped(1, u.parameter.elements()), u.master.reshaped(1, u.master.elements()));
  }

 protected:
  [[nodiscard]] std::byte* take(std::size_t bytes) override {
    auto* memory = arena_
                       ? arena_->take(bytes)
                       : static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), kAlignment));
    // A not-a-number in every width; the first to touch a page waits until it is there.
    constexpr std::int64_t kAtOnce = std::int64_t{1} << 18;
    in_pieces(team_, static_cast<std::int64_t>(bytes), kAtOnce, [&](std::int64_t first, std::int64_t count) {
      std::memset(memory + first, 0xff, static_cast<std::size_t>(count));
    });
    return memory;
  }
  void give_back(std::byte* memory, std::size_t bytes) noexcept override {
    if (arena_) return arena_->give_back(memory, bytes);
    ::operator delete(memory, kAlignment);
  }

  void run_copy(const View& to, const View& from, Stream /*stream*/) override {
    assert(to.rows == from.rows && to.cols == from.cols);
    with_type(to.element, [&]<class To>(To* /*type*/) {
      with_type(from.element, [&]<class From>(From* /*type*/) { conversion_.run<To, From>(to, from); });
    });
  }
  void run_gemm(const Gemm& g) override {
    const In a = read(g.a), b = read(g.b);
    const auto run = [&](const kernels::Matrix<T>& c) {
      multiply({Product<T>{a.known(), g.transpose_a, b.known(), g.transpose_b, g.accumulate, c}});
    };
    g.accumulate ? run(updated(g.c)) : run(written(g.c));
  }
  void run_grouped_gemm(const Gemm& g, std::span<const std::int64_t> offsets) override {
    const In a = read(g.a), b = read(g.b);
    const InOut c = updated(g.c);  // rows of no group stay
    multiply(products_of_groups<T>(g, offsets, a.known(), b.known(), c.matrix()));
  }
  void run_attention_forward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                             const View& o, const View& lse) override {
    const In slopes = read(block.slopes), sinks = read(block.sinks);
    const In queries = read(q), keys = read(k), values = read(v);
    const InOut output = updated(o), sums = updated(lse);
    each_head(widened(block, slopes, sinks), [&](const HeadsOf& part) {
      kernels_.attention_forward(
          part.block, part.queries(queries.known(), block.head_dim), part.keys(keys.known(), block.head_dim),
          part.keys(values.known(), block.v_head_dim), part.queries(output.matrix(), block.v_head_dim),
          part.queries(sums.matrix(), 1));
    });
  }
  void run_attention_backward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                              const View& d_o, const View& lse, const View& delta, const View& dq,
                              const View& dk, const View& dv) override {
    const View& sum = query_sum_of(block, dq);
    clear_overwritten(block, sum, dk, dv, [this](const View& part) { this->fill(part, 0); });
    add_attention_gradients(block, {.q = q, .k = k, .v = v, .d_o = d_o, .lse = lse, .delta = delta},
                            {.dq = sum, .dk = dk, .dv = dv});
    deliver_query_sum(block, dq, [this](const View& to, const View& from) { this->copy(to, from); });
  }

 private:
  using In = Read<T>;
  using Out = Write<T>;
  using InOut = Update<T>;
  using Ids = Read<std::int32_t>;
  using Numbers = kernels::Matrix<T>;
  using Known = kernels::Matrix<const T>;
  using Bits16 = std::uint16_t;  // of whatever is 16 bits wide and only copied

  [[nodiscard]] In read(const View& view) const { return {view, conversion_}; }
  [[nodiscard]] Out written(const View& view) const { return {view, conversion_}; }
  [[nodiscard]] InOut updated(const View& view) const { return {view, conversion_}; }
  [[nodiscard]] Ids indices(const View& view) const { return {view, conversion_}; }

  struct AttentionInputs {
    const View &q, &k, &v, &d_o, &lse, &delta;
  };
  struct AttentionGradients {
    const View &dq, &dk, &dv;
  };
  /// What is written in another type is there when this returns.
  void add_attention_gradients(const AttentionBlock& block, const AttentionInputs& from,
                               const AttentionGradients& to) {
    const In slopes = read(block.slopes);
    const In queries = read(from.q), keys = read(from.k), values = read(from.v), gradient = read(from.d_o);
    const In sums = read(from.lse), deltas = read(from.delta);
    const InOut d_queries = updated(to.dq), d_keys = updated(to.dk), d_values = updated(to.dv);
    each_key_head(widened(block, slopes), [&](const HeadsOf& part) {
      const auto of_queries = [&](const auto& of, std::int64_t width) {
        return part.queries(of.matrix(), width);
      };
      const auto of_keys = [&](const auto& of, std::int64_t width) { return part.keys(of.matrix(), width); };
      kernels_.attention_backward(part.block, of_queries(queries, block.head_dim),
                                  of_keys(keys, block.head_dim), of_keys(values, block.v_head_dim),
                                  of_queries(gradient, block.v_head_dim), of_queries(sums, 1),
                                  of_queries(deltas, 1), of_queries(d_queries, block.head_dim),
                                  of_keys(d_keys, block.head_dim), of_keys(d_values, block.v_head_dim));
    });
  }

  /// Calls run(first, count) for pieces of an operand's rows.
  template <class Run>
  void rows(const Operand<T>& of, const Run& run) {
    by_rows(team_, of.matrix().rows, of.matrix().cols, run);
  }
  /// … of its columns, for sums over rows.
  template <class Run>
  void columns(const Operand<T>& of, const Run& run) {
    by_columns(team_, of.matrix().rows, of.matrix().cols, run);
  }
  template <class Run>
  void change(const View& x, const Run& run) {
    const InOut in_place = updated(x);
    by_numbers(team_, run, in_place.matrix());
  }
  template <class Run>
  void change_by(const View& x, const View& by, const Run& run) {
    const InOut in_place = updated(x);
    const In other = read(by);
    by_numbers(team_, run, in_place.matrix(), other.known());
  }
  template <class Run>
  void each_head(const AttentionBlock& block, const Run& run) {
    team_.for_each(block.batch * block.heads,
                   [&](std::int64_t i) { run(one_head(block, i / block.heads, i % block.heads)); });
  }
  /// Heads that share keys and values, whose gradients they add up.
  template <class Run>
  void each_key_head(const AttentionBlock& block, const Run& run) {
    team_.for_each(block.batch * block.kv_heads,
                   [&](std::int64_t i) { run(one_key_head(block, i / block.kv_heads, i % block.kv_heads)); });
  }

  void update_numbers(const OptimizerUpdate& u) {
    const In gradient = read(u.gradient);
    const InOut first_moment = updated(u.first_moment), second_moment = updated(u.second_moment);
    const InOut master = updated(u.master), direction = updated(u.direction);
    const kernels::UpdateRates<T> rates = kernels::rates_of<T>(u);
    const std::int64_t all = u.gradient.data != nullptr ? u.gradient.elements() : u.direction.elements();
    in_pieces(team_, all, kNumbersOfPiece, [&](std::int64_t first, std::int64_t count) {
      kernels_.update(rates, {.count = count,
                              .gradient = gradient.from(first),
                              .first_moment = first_moment.from(first),
                              .second_moment = second_moment.from(first),
                              .master = master.from(first),
                              .direction = direction.from(first)});
    });
  }
  void update_8bit(const OptimizerUpdate& u) {
    static_assert(kNumbersOfPiece % costmodel::kMomentBlock == 0);
    const In gradient = read(u.gradient);
    const InOut first_scale = updated(u.first_scale), second_scale = updated(u.second_scale);
    const InOut master = updated(u.master);
    const kernels::UpdateRates<T> rates = kernels::rates_of<T>(u);
    in_pieces(team_, u.gradient.elements(), kNumbersOfPiece, [&](std::int64_t first, std::int64_t count) {
      kernels_.update_8bit(rates, {.first = u.first + first,
                                   .count = count,
                                   .gradient = gradient.from(first),
                                   .first_moment = u.first_moment.as<std::uint8_t>(),
                                   .second_moment = u.second_moment.as<std::uint8_t>(),
                                   .first_scale = first_scale.vector(),
                                   .second_scale = second_scale.vector(),
                                   .master = master.from(first)});
    });
  }

  static AttentionBlock widened(AttentionBlock block, const In& slopes) {
    block.slopes = slopes.view();
    return block;
  }
  static AttentionBlock widened(AttentionBlock block, const In& slopes, const In& sinks) {
    block.sinks = sinks.view();
    return widened(block, slopes);
  }
  template <class Number>
  void reduce_in(std::span<const View> parts, Reduction reduction, const View& to) {
    std::deque<Read<Number>> operands;
    for (const View& part : parts) operands.emplace_back(part, conversion_);
    const Update<Number> sum{to, conversion_};
    in_pieces(team_, to.elements(), kNumbersOfPiece, [&](std::int64_t first, std::int64_t count) {
      std::vector<const Number*> from;
      from.reserve(operands.size());
      for (const Read<Number>& operand : operands) from.push_back(operand.from(first));
      kernels::reduce_parts<Number>(from, reduction == Reduction::Max, count, sum.from(first));
    });
  }
  /// Calls run(from, to, type) for what only copies rows: narrow ones as they are, so that a table of which a
  /// few are read is not widened as a whole.
  template <class Run>
  void with_rows(const View& from, const View& to, const Run& run) {
    if (from.element == to.element && bytes_of(to.element) == sizeof(Bits16)) {
      run(matrix<const Bits16>(from), matrix<Bits16>(to), static_cast<Bits16*>(nullptr));
    } else {
      const In source = read(from);
      const Out target = written(to);
      run(source.known(), target.matrix(), static_cast<T*>(nullptr));
    }
  }

  /// Cut by their shapes alone.
  void multiply(const std::vector<Product<T>>& products) {
    std::vector<Product<T>> pieces;
    for (const Product<T>& product : products) append_pieces(product, pieces);
    team_.for_each(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t i) {
      const Product<T>& piece = pieces[static_cast<std::size_t>(i)];
      kernels_.gemm(piece.a, piece.transpose_a, piece.b, piece.transpose_b, piece.accumulate, piece.c);
    });
  }

  Element narrow_;
  std::unique_ptr<Arena> arena_;  // none: the heap
  InstructionSet instructions_;
  kernels::KernelTable<T> kernels_;
  ThreadTeam team_;
  Conversion conversion_{team_, kernels_.widen, kernels_.narrow};
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(Element element, CpuDeviceOptions options) {
  assert(element == Element::F64 || element == Element::F32 || element == Element::Bf16 ||
         element == Element::F16);
  assert(options.threads > 0);
  if (element == Element::F64) return std::make_unique<Timed<CpuDevice<double>>>(element, std::move(options));
  return std::make_unique<Timed<CpuDevice<float>>>(element, std::move(options));
}

}  // namespace hexaplan::validator
