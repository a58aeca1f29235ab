#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/compute/operation.h"
#include "validator/executor/communicator/buffer.h"
#include "validator/executor/device/compute_kind.h"
#include "validator/executor/device/device_fact.h"
#include "validator/executor/device/rotation.h"
#include "validator/executor/device/tensor.h"
#include "validator/executor/device/view.h"
#include "validator/executor/memory/tracking_allocator.h"

namespace hexaplan::validator {

/// Queues that a device works off in order, beside each other where it can.
enum class Stream : std::uint8_t { Compute, Communication };
/// A point in a stream. A device that finishes every call before it returns (CPU) hands out empty ones. Other
/// ranks' devices of the same process and hardware may wait for it.
struct Event {
  std::uint64_t id = 0;
};
/// A point in a stream whose time is known once the stream has passed it. Good until the device's next
/// release_marks().
struct TimeMark {
  std::uint64_t id = 0;  // the device's; the CPU's own clock reading in nanoseconds
};

/// C = op(A)·op(B), or C += with `accumulate`. op transposes. Views may be strided and of different elements;
/// sums are made in at least fp32. Operands in E4m3: both are, C is Bf16 or F32, both lie along the sum
/// (`transpose_b` alone), every side is a multiple of kE4m3Multiple.
struct Gemm {
  View a, b, c;
  bool transpose_a = false, transpose_b = false;
  bool accumulate = false;
  /// E4m3 alone: sums need not be carried to fp32 on the way, which is faster where the tensor cores keep
  /// fewer bits.
  bool fast_accumulation = false;
};
/// 16 bytes of a row, as tensor cores and the checks of frameworks want it (cuBLAS documentation, "Tensor
/// Core Usage" and cublasLtMatmul's requirements for FP8).
inline constexpr std::int64_t kE4m3Multiple = 16;

/// Gradients and states of a run of parameters, all contiguous and equally long.
struct AdamW {
  View parameter;  // compute copy, written from the master
  View master, first_moment, second_moment;
  View gradient;
  double learning_rate = 0, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double weight_decay = 0;     // 0 for vectors
  double gradient_factor = 1;  // clipping and averaging
  std::int64_t step = 1;       // counts from 1, for the bias correction
};

/// Rows of queries against rows of keys, for `batch` sequences at once. Sequence b's queries are rows
/// [b·q_pitch, b·q_pitch + seq_q) of q, its keys rows [b·kv_pitch, b·kv_pitch + seq_kv) of k and v. Columns
/// are head after head. heads % kv_heads == 0: query head i reads key head i / (heads / kv_heads). `causal`
/// aligns the last query with the last key.
struct AttentionBlock {
  std::int64_t batch = 1, heads = 1, kv_heads = 1;
  std::int64_t seq_q = 0, seq_kv = 0;
  std::int64_t q_pitch = 0, kv_pitch = 0;
  std::int64_t head_dim = 0, v_head_dim = 0;
  std::int64_t window = 0;  // 0 = full; else a query sees the last `window` keys up to its own
  bool causal = true;
  double scale = 0;  // usually 1/√head_dim
  /// (query, key) pairs per head and sequence that the mask keeps, in the cost model's convention: s²/2 of a
  /// causal square, the diagonal's half dropped.
  double pairs = 0;
};

/// What a device stores where the ledger says `dtype`: integers as they are, fp32 and wider as `wide`, all
/// else as `narrow`.
[[nodiscard]] Element stored_element(costmodel::DType dtype, Element wide, Element narrow);

/// FLOPs issued under one operation's name and pass.
struct IssuedFlops {
  std::string_view operation;
  costmodel::Pass pass = costmodel::Pass::Forward;
  friend auto operator<=>(const IssuedFlops&, const IssuedFlops&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Memory, copies and the operations of a training step on one rank's device. Every call is put on `Stream::
/// Compute` and may return before it has run; memory that it reads or writes stays until then. Layers call
/// nothing else to compute, so that what a device is stays here.
///
/// Shapes: T tokens, h hidden. All views of one call are on this device. A programmer's mistake (shapes that
/// do not fit) asserts.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// "cpu, float64".
  [[nodiscard]] virtual std::string description() const = 0;
  /// What it tells of itself for the report: memory that no ledger knows, clocks, power, versions.
  [[nodiscard]] virtual std::vector<DeviceFact> facts() { return {}; }

  // --- memory ---
  /// A zero-free (uninitialised) rows × cols matrix that the account holds as `label`. Throws OutOfMemory
  /// when a limit or the hardware refuses it; what is alive stays as it was.
  [[nodiscard]] Tensor allocate(const TensorLabel& label, std::int64_t rows, std::int64_t cols);
  /// One matrix whose columns stand under several names, side by side in the given order.
  [[nodiscard]] Tensor allocate(std::span<const LabelledColumns> parts, std::int64_t rows);
  /// Memory for a message under way. Not in the account: the ledger has none for it.
  [[nodiscard]] Tensor allocate_message(Element element, std::int64_t elements);
  /// What the device computes in where the ledger stores `dtype`.
  [[nodiscard]] virtual Element element_of(costmodel::DType dtype) const = 0;
  /// Precisions narrower than what it computes in that it has matrix products for: Fp8, of E4m3. No part of a
  /// training step; run_gemm may still throw UnsupportedProduct for one shape or another.
  [[nodiscard]] virtual std::vector<costmodel::Precision> narrow_gemms() { return {}; }
  /// Copies between views of the same shape; elements are converted.
  void copy(const View& to, const View& from, Stream stream = Stream::Compute) { run_copy(to, from, stream); }
  virtual void fill(const View& to, double value) = 0;
  /// Host → device and back, converted from and to the device's elements; both wait until the copy is done.
  virtual void upload(const View& to, std::span<const double> from) = 0;
  virtual void upload(const View& to, std::span<const std::int32_t> from) = 0;
  virtual void download(std::span<double> to, const View& from) = 0;
  virtual void download(std::span<std::int32_t> to, const View& from) = 0;
  [[nodiscard]] TrackingAllocator& memory() { return memory_; }

  // --- order between streams ---
  /// A point behind everything that `stream` was given so far.
  [[nodiscard]] virtual Event record(Stream /*stream*/) { return {}; }
  /// `stream` goes on only after `event`.
  virtual void wait(Stream /*stream*/, Event /*event*/) {}
  /// Blocks the host until all streams are empty.
  virtual void synchronize() {}
  /// What a communication library takes for `stream` (a cudaStream_t); nullptr where the host computes.
  [[nodiscard]] virtual void* native_stream(Stream /*stream*/) { return nullptr; }

  // --- time ---
  /// The moment at which `stream` has done everything that it was given so far.
  [[nodiscard]] virtual TimeMark mark(Stream stream);
  /// From one mark of a stream to a later one. Precondition: synchronize() came after both.
  [[nodiscard]] virtual costmodel::Seconds between(TimeMark begin, TimeMark end) const;
  /// All marks may be used again.
  virtual void release_marks() {}

  // --- what communication between ranks of one device is made of ---
  /// to[i] = reduction over parts[0][i], parts[1][i], …, added in this order in at least fp32. Contiguous
  /// views of one element and size in this device's memory, whoever's; `to` may be one of them.
  virtual void reduce_parts(std::span<const View> parts, Reduction reduction, const View& to,
                            Stream stream) = 0;
  /// Numbers around zero with standard deviation `scale`, a function of seed and place alone: data where none
  /// arrives. Never zeros: arithmetic on zeros runs faster than on data. Elements are floating point.
  virtual void fill_noise(const View& to, std::uint64_t seed, double scale, Stream stream) = 0;

  // --- matrices ---
  /// One GEMM; counts its FLOPs under the operation named by `issue`.
  void gemm(const IssuedFlops& issue, const Gemm& g);
  /// One GEMM per group, on consecutive rows: group i owns rows [offsets[i], offsets[i+1]) of the token
  /// matrices. Forward and backward data: C rows of a group = its A rows · op(Bᵢ), Bᵢ = rows
  /// [i·b.rows/groups, …) of b. Backward weight (`transpose_a`): Cᵢ (+)= (A rows)ᵀ·(B rows), Cᵢ = rows
  /// [i·c.rows/groups, …) of c.
  void grouped_gemm(const IssuedFlops& issue, const Gemm& g, std::span<const std::int64_t> offsets);

  // --- norm ---
  /// y = x · rstd · weight, rstd = 1/√(mean(x²) + epsilon) per row. x, y: T×h; weight: 1×h; rstd: T×1 in fp32
  /// or wider.
  virtual void rms_norm(const View& x, const View& weight, double epsilon, const View& y,
                        const View& rstd) = 0;
  /// dx += rstd·(dy·w − x̂·mean(dy·w·x̂)), dweight += Σ dy·x̂ over rows, x̂ = x·rstd.
  virtual void rms_norm_backward(const View& dy, const View& x, const View& weight, const View& rstd,
                                 const View& dx, const View& dweight) = 0;

  // --- attention ---
  /// Rotates the pairs of every head of x in place by positions·frequencies, times the magnitude; `inverse`
  /// rotates back, times the magnitude again: the gradient. x: T × heads·head_dim; positions: T×1 of I32.
  virtual void rope(const View& x, const View& positions, const Rotation& rotation, bool inverse) = 0;
  /// o = softmax(scale·QKᵀ)V of the block, lse = log Σ exp of the scaled scores. o: like q with v_head_dim
  /// per head; lse: rows × heads, fp32 or wider. Rows that see no key: o = 0, lse = −∞. FLOPs:
  /// 2·pairs·(head_dim + v_head_dim) per head and sequence.
  void attention_forward(const IssuedFlops& issue, const AttentionBlock& block, const View& q, const View& k,
                         const View& v, const View& o, const View& lse);
  /// Adds a further block's (o, lse) of the same queries to what is there: the softmax over both blocks'
  /// keys. All row by row and head by head; `o` and `piece_o` have `heads` heads.
  virtual void attention_merge(const View& o, const View& lse, const View& piece_o, const View& piece_lse,
                               std::int64_t heads) = 0;
  /// delta = Σ over a head's columns of do·o. delta: T × heads, fp32 or wider.
  virtual void attention_delta(const View& d_o, const View& o, const View& delta) = 0;
  /// dq, dk, dv += gradients of one block, given the *final* lse and delta over all blocks (then every
  /// block's probabilities come out right). dq, dk, dv may be wider than q, k, v. FLOPs: 2.5 × forward.
  void attention_backward(const IssuedFlops& issue, const AttentionBlock& block, const View& q, const View& k,
                          const View& v, const View& d_o, const View& lse, const View& delta, const View& dq,
                          const View& dk, const View& dv);

  // --- MLP ---
  /// act = silu(gate)·up. gate_up: T × 2f, gate in the first f columns; act: T × f.
  virtual void swiglu(const View& gate_up, const View& act) = 0;
  virtual void swiglu_backward(const View& d_act, const View& gate_up, const View& d_gate_up) = 0;

  // --- embedding and loss, vocabulary cut over ranks: this one has rows [first, first + table.rows) ---
  /// out[t] = table[ids[t] − first], zeros for other ranks' rows. ids: T×1 of I32.
  virtual void embedding_lookup(const View& ids, const View& table, std::int64_t first, const View& out) = 0;
  /// dtable[ids[t] − first] += dout[t].
  virtual void embedding_backward(const View& ids, const View& d_out, std::int64_t first,
                                  const View& d_table) = 0;
  /// maxima[t] = max over the first `valid` columns of logits[t]; −∞ where valid == 0. (Columns beyond are
  /// the padding of the vocabulary.)
  virtual void row_max(const View& logits, std::int64_t valid, const View& maxima) = 0;
  /// sums[t] = {Σ exp(logits[t][c] − maxima[t]) over c < valid, logits[t][target] − maxima[t], or 0 when
  /// another rank has the target}. sums: T×2.
  virtual void cross_entropy_sums(const View& logits, std::int64_t valid, const View& maxima,
                                  const View& targets, std::int64_t first, const View& sums) = 0;
  /// logits becomes factor·(softmax − onehot(target)), padding 0; loss (1×1) += factor·Σₜ (log sums[t][0] −
  /// sums[t][1]). `d_logits` may be `logits` itself.
  virtual void cross_entropy_gradient(const View& logits, std::int64_t valid, const View& maxima,
                                      const View& sums, const View& targets, std::int64_t first,
                                      double factor, const View& d_logits, const View& loss) = 0;

  // --- elementwise ---
  virtual void add(const View& to, const View& other) = 0;  // to += other
  virtual void scale(const View& x, double factor) = 0;
  /// sum (1×1) += Σ x².
  virtual void squared_norm(const View& x, const View& sum) = 0;

  // --- mixture of experts ---
  /// probabilities = softmax over all E experts, which may overwrite the logits; the K largest per token go
  /// to `chosen` (T×K of I32, largest first, ties to the smaller id), unless they are `given` there, and to
  /// `weights` (T×K), divided by their sum when `renormalise`.
  virtual void route(const View& logits, bool given, bool renormalise, const View& probabilities,
                     const View& chosen, const View& weights) = 0;
  /// d_logits from the gradients of the chosen weights and, per expert, of the mean probability of the
  /// auxiliary loss: `d_mean` (1×E) adds d_mean[e] to every row's gradient of probabilities[e].
  virtual void route_backward(const View& probabilities, const View& chosen, const View& weights,
                              bool renormalise, const View& d_weights, const View& d_mean,
                              const View& d_logits) = 0;
  /// out[i] = x[rows[i]]; a negative index gives zeros. rows: n×1 of I32.
  virtual void gather_rows(const View& x, const View& rows, const View& out) = 0;
  /// out[rows[i]] += factors[i]·x[i]; factors empty (data == nullptr): 1.
  virtual void scatter_rows(const View& x, const View& rows, const View& factors, const View& out) = 0;
  /// dots[i] = Σ over columns of a[i]·b[i].
  virtual void row_dots(const View& a, const View& b, const View& dots) = 0;
  /// sums (1×cols) += Σ over rows of x.
  virtual void column_sums(const View& x, const View& sums) = 0;
  /// Row i of x times factors[i].
  virtual void scale_rows(const View& x, const View& factors) = 0;

  // --- optimizer ---
  /// AdamW with decoupled weight decay (arXiv:1711.05101): m, v from gradient·gradient_factor, master −=
  /// lr·(m̂/(√v̂ + ε) + λ·master), parameter = master rounded to its element.
  virtual void adamw(const AdamW& update) = 0;

  // --- account of FLOPs and time ---
  [[nodiscard]] const std::map<IssuedFlops, double>& issued_flops() const { return flops_; }
  /// Whether calls are timed from now on: marks around each, which cost a device with streams a microsecond
  /// or two. Default: they are.
  void time_calls(bool on) { times_calls_ = on; }
  /// Waits for the device and adds up the calls that were timed until now. All marks may be used again.
  void settle_times();
  /// FLOPs and time on the compute stream of the calls that were timed, up to the last settle_times().
  struct IssuedTime {
    double flops = 0;
    costmodel::Seconds time;
  };
  [[nodiscard]] const std::map<IssuedFlops, IssuedTime>& issued_times() const { return times_; }
  [[nodiscard]] const ComputeTimes& compute_times() const { return compute_times_; }
  /// Forgets counts and times. All marks may be used again.
  void reset_flops();
  /// Runs what puts messages on the communication stream, and times it there.
  template <class Run>
  void timed_messages(const Run& run) {
    if (!times_calls_) return run();
    const TimeMark begin = mark(Stream::Communication);
    run();
    timed_.push_back({ComputeKind::Messages, {}, 0, begin, mark(Stream::Communication)});
  }

 protected:
  friend class Tensor;
  [[nodiscard]] virtual std::byte* take(std::size_t bytes) = 0;  // throws std::bad_alloc
  virtual void give_back(std::byte* memory, std::size_t bytes) noexcept = 0;
  /// What take could still give, in pieces; 0 where nobody knows.
  [[nodiscard]] virtual std::int64_t free_bytes() { return 0; }
  virtual void run_copy(const View& to, const View& from, Stream stream) = 0;
  virtual void run_gemm(const Gemm& g) = 0;
  virtual void run_grouped_gemm(const Gemm& g, std::span<const std::int64_t> offsets) = 0;
  virtual void run_attention_forward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                                     const View& o, const View& lse) = 0;
  virtual void run_attention_backward(const AttentionBlock& block, const View& q, const View& k,
                                      const View& v, const View& d_o, const View& lse, const View& delta,
                                      const View& dq, const View& dk, const View& dv) = 0;

  /// Runs a call, and times it unless it is part of another. [timed.h: what a device adds]
  template <class Run>
  void timed(ComputeKind kind, const Run& run) {
    timed(kind, {}, 0, run);
  }

 private:
  struct Timed {
    ComputeKind kind;
    IssuedFlops issue;  // empty name: of no operation
    double flops;
    TimeMark begin, end;
  };
  /// Calls inside a timed call are part of it.
  struct Inside {
    explicit Inside(bool& inside) : flag{inside} { flag = true; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() { flag = false; }
    bool& flag;
  };
  template <class Run>
  void timed(ComputeKind kind, const IssuedFlops& issue, double flops, const Run& run) {
    if (!times_calls_ || inside_) return run();
    const Inside inside{inside_};
    const TimeMark begin = mark(Stream::Compute);
    run();
    timed_.push_back({kind, issue, flops, begin, mark(Stream::Compute)});
  }
  /// Counts and times one operation.
  template <class Run>
  void account(ComputeKind kind, const IssuedFlops& issue, double flops, const Run& run);

  /// Strikes parts of an allocation that failed from the account.
  void forget(std::span<const LabelledColumns> parts, std::int64_t rows);

  TrackingAllocator memory_;
  std::map<IssuedFlops, double> flops_;
  std::map<IssuedFlops, IssuedTime> times_;
  ComputeTimes compute_times_{};
  std::vector<Timed> timed_;  // not yet added up
  bool times_calls_ = true, inside_ = false;
};

}  // namespace hexaplan::validator
