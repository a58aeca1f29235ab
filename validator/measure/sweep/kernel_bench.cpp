#include "validator/measure/sweep/kernel_bench.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

namespace hexaplan::validator {
namespace {

using costmodel::Bytes;
using costmodel::DType;
using costmodel::Pass;
using costmodel::Seconds;

/// Operands start at multiples of this many elements: 256 bytes of bf16, as allocators hand out.
constexpr std::int64_t kAlignedElements = 128, kAlignedBytes = 256;
constexpr std::int64_t kMostRepeats = 2000;
/// A probe this long says a rate: launches take 5 to 15 us.
constexpr Seconds kLongProbe{300e-6};
/// Doublings of a probe's sides, at most.
constexpr int kProbeSizes = 6;
constexpr std::int64_t kMostColumns = 4096, kHeadDim = 64;
constexpr NormForm kNorm{.epsilon = 1e-5};
constexpr ActivationForm kSwiGlu{};
/// What no time depends on is 1.
constexpr Rotation kRotation{.head_dim = kHeadDim, .pairs = kHeadDim / 2, .frequencies = {1}};

TensorLabel label_of(DType dtype) {
  return {.name = "calibrate.data", .dtype = dtype};
}

std::int64_t aligned_elements(Element element) {
  return std::max(kAlignedElements, kAlignedBytes / static_cast<std::int64_t>(bytes_of(element)));
}

/// Memory-bound operations run on rows of a hidden size.
std::int64_t columns_for(std::int64_t elements) {
  return std::clamp<std::int64_t>(elements / 64, kHeadDim, kMostColumns);
}

}  // namespace

KernelBench::Arena::Arena(Device& device, DType dtype, Bytes bytes, std::uint64_t seed,
                          std::optional<Element> element) {
  const auto elements = static_cast<std::int64_t>(bytes.value() / costmodel::bytes_per_element(dtype));
  tensor_ = device.allocate(label_of(dtype), 1, elements / kAlignedElements * kAlignedElements);
  view_ = tensor_.view();
  if (element) {
    const auto held = static_cast<std::int64_t>(view_.bytes() / bytes_of(*element));
    view_ = {view_.data, *element, 1, held, held};
  }
  device.fill_noise(view_, seed, 1.0, Stream::Compute);
}

View KernelBench::Arena::take(std::int64_t rows, std::int64_t cols) {
  const std::int64_t size = rows * cols;
  assert(size <= view_.elements());
  if (next_ + size > view_.elements()) next_ = 0;
  const View part = view_.slice(next_, size).reshaped(rows, cols);
  const std::int64_t aligned = aligned_elements(view_.element);
  next_ += (size + aligned - 1) / aligned * aligned;
  return part;
}

// Twice the limit: the operands of one execution and, beside them, those of the next.
KernelBench::KernelBench(Device& device, const BenchOptions& options)
    : device_{device},
      options_{options},
      inputs_{device, DType::Bf16, 2 * options.memory, 1},
      results_{device, DType::Bf16, 2 * options.memory, 2},
      wide_{device, DType::Fp32, 2 * options.memory, 3} {
  if (!device_.narrow_gemms().empty())
    narrow_.emplace(device_, DType::Bf16, 2 * options_.memory, 4, Element::E4m3);
  device_.time_calls(false);  // its own marks around every call would be measured, too
  // A row per position: at most as many as copies of kMostColumns elements have, or the 64 of small ones.
  const double most = options.memory.value() / traffic_per_element(MemoryStep::Rope) / kMostColumns;
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(most) + kMostColumns / kHeadDim + 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  positions_ = device.allocate(label_of(DType::Int32), static_cast<std::int64_t>(numbers.size()), 1);
  device.upload(positions_, numbers);
}

bool KernelBench::holds_not_a_number() {
  std::vector<const Arena*> arenas{&inputs_, &results_, &wide_};
  if (narrow_) arenas.push_back(&*narrow_);
  for (const Arena* arena : arenas) {
    std::vector<double> numbers(static_cast<std::size_t>(arena->whole().elements()));
    device_.download(numbers, arena->whole());
    if (std::any_of(numbers.begin(), numbers.end(), [](double x) { return std::isnan(x); })) return true;
  }
  return false;
}

RoughRates KernelBench::probe() {
  // Launches hide what small kernels compute: sizes grow until one execution takes long beside them.
  const auto grown = [this](const std::function<Point(int)>& point_of) {
    Point point = point_of(0);
    Seconds time = probe_time(point);
    for (int size = 1; size < kProbeSizes && time < kLongProbe; ++size) {
      const Point larger = point_of(size);
      if (traffic_of(larger) > options_.memory) break;
      point = larger;
      time = probe_time(point);
    }
    return std::pair{point, time};
  };
  const auto [gemm, gemm_time] = grown([](int size) {
    const std::int64_t side = std::int64_t{256} << size;
    return Point{.gemm = {.m = side, .n = side, .k = side}};
  });
  const auto [attention, attention_time] = grown([](int size) {
    const std::int64_t sequence = std::int64_t{256} << size;
    return Point{.kind = PointKind::AttentionForward,
                 .attention = {.batch = 1,
                               .heads = std::int64_t{2} << size,
                               .kv_heads = std::int64_t{1} << size,
                               .seq_q = sequence,
                               .seq_kv = sequence,
                               .head_dim = 64,
                               .v_head_dim = 64,
                               .causal = true,
                               .pairs = static_cast<double>(sequence * sequence) / 2}};
  });
  const auto [copy, copy_time] = grown([](int size) {
    return Point{.kind = PointKind::MemoryBound,
                 .step = MemoryStep::Copy,
                 .elements = (std::int64_t{1} << 18) << (2 * size)};
  });
  return {.gemm = flops_of(gemm) / gemm_time,
          .attention = flops_of(attention) / attention_time,
          .memory = traffic_of(copy) / copy_time};
}

Seconds KernelBench::probe_time(const Point& point) {
  const Call call = prepare(point);
  call();
  const double seconds = std::min(seconds_of(call, 2), seconds_of(call, 4));
  device_.reset_flops();
  return Seconds{std::max(seconds, 1e-9)};
}

std::vector<double> KernelBench::measure(const Point& point) {
  const Call call = prepare(point);
  std::vector<double> seconds =
      point.kind == PointKind::SustainedGemm ? sample_sustained(call) : sample(call);
  device_.reset_flops();
  return seconds;
}

double KernelBench::seconds_of(const Call& call, int repeats, bool last) {
  const TimeMark begin = device_.mark(Stream::Compute);
  for (int i = 0; i < repeats; ++i) call();
  const TimeMark end = device_.mark(Stream::Compute);
  if (last) state_ = device_.state();  // under load: clocks rise when it ends
  device_.synchronize();
  return device_.between(begin, end).value() / repeats;
}

std::vector<double> KernelBench::sample(const Call& call) {
  // The first execution chooses kernels and loads them; the second says how many make a sample.
  (void)seconds_of(call, 1);
  const double once = std::max(seconds_of(call, 1), 1e-9);
  const double wanted = std::ceil(options_.shortest_sample.value() / once);
  const int repeats = static_cast<int>(
      std::clamp(wanted, static_cast<double>(options_.least_repeats), static_cast<double>(kMostRepeats)));
  for (int i = 2; i < options_.warmups; ++i) (void)seconds_of(call, repeats);
  std::vector<double> seconds;
  for (int i = 0; i < options_.samples; ++i) {
    seconds.push_back(seconds_of(call, repeats, i + 1 == options_.samples));
    device_.reset_flops();  // and its marks
  }
  return seconds;
}

std::vector<double> KernelBench::sample_sustained(const Call& call) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  while (elapsed() < options_.sustained.value()) {
    (void)seconds_of(call, 1);
    device_.reset_flops();
  }
  return sample(call);
}

KernelBench::Call KernelBench::prepare(const Point& point) {
  switch (point.kind) {
    case PointKind::Gemm:
    case PointKind::SustainedGemm:
      return prepare_gemm(point);
    case PointKind::GroupedGemm:
      return prepare_grouped_gemm(point);
    case PointKind::AttentionForward:
    case PointKind::AttentionBackward:
      return prepare_attention(point);
    case PointKind::MemoryBound:
      return prepare_memory_step(point);
    case PointKind::Launch:
      return [this, tiny = results_.take(1, kAlignedElements)] { device_.fill(tiny, 1.0); };
    case PointKind::Collective:
    case PointKind::Overlap:
      break;
  }
  assert(false && "not a kernel's point");
  return {};
}

KernelBench::Call KernelBench::prepare_gemm(const Point& point) {
  const costmodel::GemmShape s = point.gemm;
  // Frameworks keep transposed copies of quantized operands, so that both lie along the sum in every pass,
  // and let sums be fast forward alone (NVIDIA/TransformerEngine@000b637 transformer_engine/common/recipe/
  // __init__.py: use_split_accumulator of fp8_gemm_fprop, fp8_gemm_dgrad and fp8_gemm_wgrad).
  const bool quantized = costmodel::is_quantized(point.precision), forward = point.pass == Pass::Forward;
  assert(narrow_ || !quantized);
  Arena& operands = quantized ? *narrow_ : inputs_;
  Arena& results = s.accumulate_bytes > 0 ? wide_ : results_;
  Gemm g{.transpose_a = !quantized && point.pass == Pass::BackwardWeight,
         .transpose_b = quantized || forward,
         .accumulate = s.accumulate_bytes > 0,
         .fast_accumulation = quantized && forward};
  return [this, s, g, &operands, &results]() mutable {
    g.a = g.transpose_a ? operands.take(s.k, s.m) : operands.take(s.m, s.k);
    g.b = g.transpose_b ? operands.take(s.n, s.k) : operands.take(s.k, s.n);
    g.c = results.take(s.m, s.n);
    device_.gemm(kCalibrating, g);
  };
}

KernelBench::Call KernelBench::prepare_grouped_gemm(const Point& point) {
  const costmodel::GemmShape s = point.gemm;
  const bool weight = point.pass == Pass::BackwardWeight, forward = point.pass == Pass::Forward;
  std::vector<std::int64_t> offsets;  // of every expert's tokens, along which weight gradients sum
  for (std::int64_t group = 0; group <= s.batch; ++group) offsets.push_back(group * (weight ? s.k : s.m));
  return [=, this] {
    Gemm g{.transpose_a = weight, .transpose_b = forward};
    g.a = weight ? inputs_.take(s.batch * s.k, s.m) : inputs_.take(s.batch * s.m, s.k);
    g.b = forward ? inputs_.take(s.batch * s.n, s.k) : inputs_.take(s.batch * s.k, s.n);
    g.c = results_.take(s.batch * s.m, s.n);
    device_.grouped_gemm(kCalibrating, g, offsets);
  };
}

KernelBench::Call KernelBench::prepare_attention(const Point& point) {
  const costmodel::AttentionShape& s = point.attention;
  const AttentionBlock block{.batch = s.batch,
                             .heads = s.heads,
                             .kv_heads = s.kv_heads,
                             .seq_q = s.seq_q,
                             .seq_kv = s.seq_kv,
                             .q_pitch = s.seq_q,
                             .kv_pitch = s.seq_kv,
                             .head_dim = s.head_dim,
                             .v_head_dim = s.v_head_dim,
                             .window = s.window,
                             .causal = s.causal,
                             .scale = 1 / std::sqrt(static_cast<double>(s.head_dim)),
                             .pairs = s.pairs};
  const std::int64_t queries = s.batch * s.seq_q, keys = s.batch * s.seq_kv;
  const View q = inputs_.take(queries, s.heads * s.head_dim);
  const View k = inputs_.take(keys, s.kv_heads * s.head_dim),
             v = inputs_.take(keys, s.kv_heads * s.v_head_dim);
  const View o = results_.take(queries, s.heads * s.v_head_dim), lse = wide_.take(queries, s.heads);
  const auto forward = [=, this] { device_.attention_forward(kCalibrating, block, q, k, v, o, lse); };
  if (point.kind == PointKind::AttentionForward) return forward;
  // Backward needs the forward's log-sum-exp, or probabilities overflow.
  forward();
  const View d_o = inputs_.take(queries, s.heads * s.v_head_dim), delta = wide_.take(queries, s.heads);
  device_.attention_delta(d_o, o, delta);
  const View d_q = results_.take(queries, s.heads * s.head_dim);
  const View d_k = results_.take(keys, s.kv_heads * s.head_dim),
             d_v = results_.take(keys, s.kv_heads * s.v_head_dim);
  return
      [=, this] { device_.attention_backward(kCalibrating, block, q, k, v, d_o, lse, delta, d_q, d_k, d_v); };
}

KernelBench::Call KernelBench::prepare_memory_step(const Point& point) {
  const std::int64_t cols = columns_for(point.elements), rows = point.elements / cols;
  const auto in = [this, rows, cols] { return inputs_.take(rows, cols); };
  const auto out = [this, rows, cols] { return results_.take(rows, cols); };
  switch (point.step) {
    case MemoryStep::Copy:
      return [=, this] { device_.copy(out(), in()); };
    case MemoryStep::Add:
      return [=, this] { device_.add(out(), in()); };
    case MemoryStep::RmsNorm:
      return [=, this] { device_.norm(kNorm, in(), inputs_.take(1, cols), {}, out(), wide_.take(rows, 1)); };
    case MemoryStep::RmsNormBackward:
      return [=, this, rstd = wide_.take(rows, 1), weight = wide_.take(1, cols)] {
        device_.norm_backward(kNorm, in(), in(), inputs_.take(1, cols), rstd, out(), weight, {});
      };
    case MemoryStep::SwiGlu:
      return [=, this] { device_.activation(kSwiGlu, inputs_.take(rows, 2 * cols), out()); };
    case MemoryStep::SwiGluBackward:
      return [=, this] {
        device_.activation_backward(kSwiGlu, in(), inputs_.take(rows, 2 * cols),
                                    results_.take(rows, 2 * cols));
      };
    case MemoryStep::Rope:
      return [=, this, positions = positions_.view().row_range(0, rows)] {
        device_.rope(out(), positions, kRotation, false);
      };
    case MemoryStep::SquaredNorm:
      return [=, this, sum = wide_.take(1, 1)] { device_.squared_norm(wide_.take(1, rows * cols), sum); };
    case MemoryStep::AdamW:
      return prepare_adamw(point.elements);
    case MemoryStep::LossGradient:
      return prepare_loss_gradient(rows, cols);
    case MemoryStep::Embedding:
      return [=, this, ids = positions_.view().row_range(0, rows)] {
        device_.embedding_lookup(ids, in(), 0, out());
      };
    case MemoryStep::GatherRows:
      return [=, this, chosen = positions_.view().row_range(0, rows)] {
        device_.gather_rows(in(), chosen, out());
      };
    case MemoryStep::Cast:
      return [=, this] { device_.copy(out(), wide_.take(rows, cols)); };
  }
  assert(false && "no step of this kind");
  return {};
}

/// Of rows whose sums are 1, whatever their numbers: as many reads, writes and exponentials.
KernelBench::Call KernelBench::prepare_loss_gradient(std::int64_t rows, std::int64_t cols) {
  const View maxima = wide_.take(rows, 1), sums = wide_.take(rows, 2), loss = wide_.take(1, 1);
  for (const View& view : {maxima, sums}) device_.fill(view, 1.0);
  return [=, this, targets = positions_.view().row_range(0, rows)] {
    const View gradient = results_.take(rows, cols);
    device_.cross_entropy_gradient(inputs_.take(rows, cols), cols, maxima, sums, targets, 0,
                                   1 / static_cast<double>(rows), gradient, loss);
  };
}

KernelBench::Call KernelBench::prepare_adamw(std::int64_t elements) {
  constexpr int kUpdateStates = 4;  // master, both moments, gradient
  // Small updates lie in the arena several times over; each keeps second moments that are not negative.
  std::vector<OptimizerUpdate> updates;
  for (int i = 0; i < 2; ++i) {
    const View states = wide_.take(kUpdateStates, elements);
    const auto row = [&](std::int64_t r) { return states.row_range(r, 1); };
    device_.fill(row(2), 1e-2);
    updates.push_back({.parameter = results_.take(1, elements),
                       .master = row(0),
                       .first_moment = row(1),
                       .second_moment = row(2),
                       .gradient = row(3),
                       .learning_rate = 1e-6});
  }
  return
      [this, updates, turn = std::size_t{0}]() mutable { device_.update(updates[turn++ % updates.size()]); };
}

}  // namespace hexaplan::validator
