#include "validator/executor/device/cpu/cpu_device.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

#include "validator/executor/device/cpu/kernels/adamw.h"
#include "validator/executor/device/cpu/kernels/attention.h"
#include "validator/executor/device/cpu/kernels/cross_entropy.h"
#include "validator/executor/device/cpu/kernels/embedding.h"
#include "validator/executor/device/cpu/kernels/gemm.h"
#include "validator/executor/device/cpu/kernels/noise.h"
#include "validator/executor/device/cpu/kernels/norm.h"
#include "validator/executor/device/cpu/kernels/reduce.h"
#include "validator/executor/device/cpu/kernels/rope.h"
#include "validator/executor/device/cpu/kernels/router.h"
#include "validator/executor/device/cpu/kernels/rows.h"
#include "validator/executor/device/cpu/kernels/swiglu.h"
#include "validator/executor/device/timed.h"

namespace hexaplan::validator {
namespace {

/// Of a cache line, and of every vector register.
constexpr std::align_val_t kAlignment{64};

template <class T>
kernels::Matrix<T> matrix(const View& v) {
  return {v.as<T>(), v.rows, v.cols, v.stride};
}

/// A view with one number per row, or a row of numbers.
template <class T>
T* vector(const View& v) {
  assert(v.contiguous() || v.stride == 1);
  return v.as<T>();
}

template <class To, class From>
void convert_row(const From* from, std::int64_t count, To* to) {
  std::transform(from, from + count, to, [](From x) { return static_cast<To>(x); });
}

template <class To, class From>
void convert(const View& to, const View& from) {
  for (std::int64_t r = 0; r < to.rows; ++r)
    convert_row(matrix<From>(from).row(r), from.cols, matrix<To>(to).row(r));
}

/// Calls `visit` with a null pointer of the C++ type of `element`.
template <class Visitor>
void with_type(Element element, const Visitor& visit) {
  switch (element) {
    case Element::F64:
      return visit(static_cast<double*>(nullptr));
    case Element::F32:
      return visit(static_cast<float*>(nullptr));
    case Element::I32:
      return visit(static_cast<std::int32_t*>(nullptr));
    case Element::Bf16:
    case Element::E4m3:
      assert(false && "the CPU device computes in float32 and float64");
  }
}

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
  [[nodiscard]] std::string description() const override {
    return sizeof(T) == sizeof(double) ? "cpu, float64" : "cpu, float32";
  }

  [[nodiscard]] Element element_of(costmodel::DType dtype) const override {
    constexpr Element kComputed = sizeof(T) == sizeof(double) ? Element::F64 : Element::F32;
    return stored_element(dtype, kComputed, kComputed);
  }

  void fill(const View& to, double value) override {
    with_type(to.element, [&]<class To>(To* /*type*/) {
      for (std::int64_t r = 0; r < to.rows; ++r) {
        std::fill_n(matrix<To>(to).row(r), to.cols, static_cast<To>(value));
      }
    });
  }
  void upload(const View& to, std::span<const double> from) override { copy_from_host(to, from); }
  void upload(const View& to, std::span<const std::int32_t> from) override { copy_from_host(to, from); }
  void download(std::span<double> to, const View& from) override { copy_to_host(to, from); }
  void download(std::span<std::int32_t> to, const View& from) override { copy_to_host(to, from); }

  void reduce_parts(std::span<const View> parts, Reduction reduction, const View& to,
                    Stream /*stream*/) override {
    with_type(to.element, [&]<class To>(To* /*type*/) {
      std::vector<const To*> from;
      for (const View& part : parts) from.push_back(vector<To>(part));
      kernels::reduce_parts<To>(from, reduction == Reduction::Max, to.elements(), vector<To>(to));
    });
  }
  void fill_noise(const View& to, std::uint64_t seed, double scale, Stream /*stream*/) override {
    with_type(to.element, [&]<class To>(To* /*type*/) {
      for (std::int64_t r = 0; r < to.rows; ++r) {
        To* const row = matrix<To>(to).row(r);
        const auto place = static_cast<std::uint64_t>(r * to.cols);
        for (std::uint64_t c = 0; c < static_cast<std::uint64_t>(to.cols); ++c)
          row[c] = static_cast<To>(scale * kernels::noise(seed, place + c));
      }
    });
  }

  void rms_norm(const View& x, const View& weight, double epsilon, const View& y, const View& rstd) override {
    kernels::rms_norm_forward<T>(matrix<T>(x), vector<T>(weight), static_cast<T>(epsilon), matrix<T>(y),
                                 vector<T>(rstd));
  }
  void rms_norm_backward(const View& dy, const View& x, const View& weight, const View& rstd, const View& dx,
                         const View& dweight) override {
    kernels::rms_norm_backward<T>(matrix<T>(dy), matrix<T>(x), vector<T>(weight), vector<T>(rstd),
                                  matrix<T>(dx), vector<T>(dweight));
  }

  void rope(const View& x, const View& positions, const Rotation& rotation, bool inverse) override {
    kernels::rope<T>(matrix<T>(x), vector<std::int32_t>(positions), rotation, inverse ? -1 : 1);
  }
  void attention_merge(const View& o, const View& lse, const View& piece_o, const View& piece_lse,
                       [[maybe_unused]] std::int64_t heads) override {
    assert(lse.cols == heads && piece_lse.cols == heads);
    kernels::attention_merge<T>(matrix<T>(o), matrix<T>(lse), matrix<T>(piece_o), matrix<T>(piece_lse));
  }
  void attention_delta(const View& d_o, const View& o, const View& delta) override {
    kernels::attention_delta<T>(matrix<T>(o), matrix<T>(d_o), matrix<T>(delta));
  }

  void swiglu(const View& gate_up, const View& act) override {
    const std::int64_t f = act.cols;
    kernels::swiglu_forward<T>(matrix<T>(gate_up.column_range(0, f)), matrix<T>(gate_up.column_range(f, f)),
                               matrix<T>(act));
  }
  void swiglu_backward(const View& d_act, const View& gate_up, const View& d_gate_up) override {
    const std::int64_t f = d_act.cols;
    kernels::swiglu_backward<T>(
        matrix<T>(d_act), matrix<T>(gate_up.column_range(0, f)), matrix<T>(gate_up.column_range(f, f)),
        matrix<T>(d_gate_up.column_range(0, f)), matrix<T>(d_gate_up.column_range(f, f)));
  }

  void embedding_lookup(const View& ids, const View& table, std::int64_t first, const View& out) override {
    kernels::embedding_lookup<T>(vector<std::int32_t>(ids), matrix<T>(table), first, matrix<T>(out));
  }
  void embedding_backward(const View& ids, const View& d_out, std::int64_t first,
                          const View& d_table) override {
    kernels::embedding_backward<T>(vector<std::int32_t>(ids), matrix<T>(d_out), first, matrix<T>(d_table));
  }
  void row_max(const View& logits, std::int64_t valid, const View& maxima) override {
    kernels::row_max<T>(matrix<T>(logits), valid, vector<T>(maxima));
  }
  void cross_entropy_sums(const View& logits, std::int64_t valid, const View& maxima, const View& targets,
                          std::int64_t first, const View& sums) override {
    kernels::cross_entropy_sums<T>(matrix<T>(logits), valid, vector<T>(maxima), vector<std::int32_t>(targets),
                                   first, matrix<T>(sums));
  }
  void cross_entropy_gradient(const View& logits, std::int64_t valid, const View& maxima, const View& sums,
                              const View& targets, std::int64_t first, double factor, const View& d_logits,
                              const View& loss) override {
    *vector<T>(loss) += kernels::cross_entropy_gradient<T>(
        matrix<T>(logits), valid, vector<T>(maxima), matrix<T>(sums), vector<std::int32_t>(targets), first,
        static_cast<T>(factor), matrix<T>(d_logits));
  }

  void add(const View& to, const View& other) override {
    assert(to.rows == other.rows && to.cols == other.cols);
    for (std::int64_t r = 0; r < to.rows; ++r) {
      T* sum = matrix<T>(to).row(r);
      const T* addend = matrix<T>(other).row(r);
      for (std::int64_t c = 0; c < to.cols; ++c) sum[c] += addend[c];
    }
  }
  void scale(const View& x, double factor) override {
    for (std::int64_t r = 0; r < x.rows; ++r) {
      for (std::int64_t c = 0; c < x.cols; ++c) matrix<T>(x).row(r)[c] *= static_cast<T>(factor);
    }
  }
  /// Summed in float64: the norm of many float32 gradients must not depend on how they are cut.
  void squared_norm(const View& x, const View& sum) override {
    double squares = 0;
    for (std::int64_t r = 0; r < x.rows; ++r) {
      for (std::int64_t c = 0; c < x.cols; ++c) {
        const auto value = static_cast<double>(matrix<T>(x).row(r)[c]);
        squares += value * value;
      }
    }
    *vector<T>(sum) += static_cast<T>(squares);
  }

  void route(const View& logits, bool given, bool renormalise, const View& probabilities, const View& chosen,
             const View& weights) override {
    kernels::route<T>(matrix<T>(logits), given, renormalise, matrix<T>(probabilities),
                      matrix<std::int32_t>(chosen), matrix<T>(weights));
  }
  void route_backward(const View& probabilities, const View& chosen, const View& weights, bool renormalise,
                      const View& d_weights, const View& d_mean, const View& d_logits) override {
    kernels::route_backward<T>(matrix<T>(probabilities), matrix<std::int32_t>(chosen), matrix<T>(weights),
                               renormalise, matrix<T>(d_weights),
                               d_mean.data != nullptr ? vector<T>(d_mean) : nullptr, matrix<T>(d_logits));
  }
  void gather_rows(const View& x, const View& rows, const View& out) override {
    kernels::gather_rows<T>(matrix<T>(x), vector<std::int32_t>(rows), matrix<T>(out));
  }
  void scatter_rows(const View& x, const View& rows, const View& factors, const View& out) override {
    kernels::scatter_rows<T>(matrix<T>(x), vector<std::int32_t>(rows),
                             factors.data != nullptr ? vector<T>(factors) : nullptr, matrix<T>(out));
  }
  void row_dots(const View& a, const View& b, const View& dots) override {
    kernels::row_dots<T>(matrix<T>(a), matrix<T>(b), vector<T>(dots));
  }
  void column_sums(const View& x, const View& sums) override {
    kernels::column_sums<T>(matrix<T>(x), vector<T>(sums));
  }
  void scale_rows(const View& x, const View& factors) override {
    kernels::scale_rows<T>(matrix<T>(x), vector<T>(factors));
  }

  void adamw(const AdamW& u) override {
    assert(u.master.elements() == u.gradient.elements() && u.parameter.elements() == u.gradient.elements());
    kernels::adamw<T>({.learning_rate = u.learning_rate,
                       .beta1 = u.beta1,
                       .beta2 = u.beta2,
                       .epsilon = u.epsilon,
                       .weight_decay = u.weight_decay,
                       .gradient_factor = u.gradient_factor,
                       .step = u.step},
                      vector<T>(u.gradient), u.gradient.elements(), vector<T>(u.first_moment),
                      vector<T>(u.second_moment), vector<T>(u.master));
    copy(u.parameter.reshaped(1, u.parameter.elements()), u.master.reshaped(1, u.master.elements()));
  }

 protected:
  [[nodiscard]] std::byte* take(std::size_t bytes) override {
    auto* memory = static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), kAlignment));
    std::memset(memory, 0xff, bytes);  // a not-a-number in both widths
    return memory;
  }
  void give_back(std::byte* memory, std::size_t /*bytes*/) noexcept override {
    ::operator delete(memory, kAlignment);
  }

  void run_copy(const View& to, const View& from, Stream /*stream*/) override {
    assert(to.rows == from.rows && to.cols == from.cols);
    with_type(to.element, [&]<class To>(To* /*type*/) {
      with_type(from.element, [&]<class From>(From* /*type*/) { convert<To, From>(to, from); });
    });
  }
  void run_gemm(const Gemm& g) override {
    kernels::gemm<T>(matrix<T>(g.a), g.transpose_a, matrix<T>(g.b), g.transpose_b, g.accumulate,
                     matrix<T>(g.c));
  }
  void run_grouped_gemm(const Gemm& g, std::span<const std::int64_t> offsets) override {
    const auto groups = static_cast<std::int64_t>(offsets.size()) - 1;
    const kernels::Matrix<T> a = matrix<T>(g.a), b = matrix<T>(g.b), c = matrix<T>(g.c);
    for (std::int64_t i = 0; i < groups; ++i) {
      const std::int64_t first = offsets[static_cast<std::size_t>(i)];
      const std::int64_t rows = offsets[static_cast<std::size_t>(i) + 1] - first;
      const kernels::Matrix<T> tokens = a.block(first, rows, 0, a.cols);
      if (g.transpose_a) {
        kernels::gemm<T>(tokens, true, b.block(first, rows, 0, b.cols), g.transpose_b, g.accumulate,
                         part(c, i, groups));
      } else {
        kernels::gemm<T>(tokens, false, part(b, i, groups), g.transpose_b, g.accumulate,
                         c.block(first, rows, 0, c.cols));
      }
    }
  }
  void run_attention_forward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                             const View& o, const View& lse) override {
    kernels::attention_forward<T>(block, matrix<T>(q), matrix<T>(k), matrix<T>(v), matrix<T>(o),
                                  matrix<T>(lse));
  }
  void run_attention_backward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                              const View& d_o, const View& lse, const View& delta, const View& dq,
                              const View& dk, const View& dv) override {
    kernels::attention_backward<T>(block, matrix<T>(q), matrix<T>(k), matrix<T>(v), matrix<T>(d_o),
                                   matrix<T>(lse), matrix<T>(delta), matrix<T>(dq), matrix<T>(dk),
                                   matrix<T>(dv));
  }
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(Element element) {
  assert(element == Element::F64 || element == Element::F32);
  if (element == Element::F64) return std::make_unique<Timed<CpuDevice<double>>>();
  return std::make_unique<Timed<CpuDevice<float>>>();
}

}  // namespace hexaplan::validator
