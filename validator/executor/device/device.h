#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/compute/operation.h"
#include "costmodel/program/names.h"
#include "validator/executor/communicator/buffer.h"
#include "validator/executor/device/compute_kind.h"
#include "validator/executor/device/device_fact.h"
#include "validator/executor/device/operation_forms.h"
#include "validator/executor/device/rotation.h"
#include "validator/executor/device/tensor.h"
#include "validator/executor/device/view.h"
#include "validator/executor/memory/tracking_allocator.h"

namespace hexaplan::validator {

struct Nf4Matrix;

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
  /// At this moment: waits for nothing that was put on its streams. Nothing where the device does not say.
  [[nodiscard]] virtual std::optional<DeviceState> state() { return std::nullopt; }

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
  /// y = x̂·weight + bias, x̂ as `form` says; x̂·(1 + weight) where it is centred on zero. x, y: T×h; weight,
  /// bias: 1×h, or 1×width, the same for every group; empty (data == nullptr): 1 and 0. statistics:
  /// T × form.statistics(h), fp32 or wider: per group rstd, or mean and rstd beside each other. y may be x.
  virtual void norm(const NormForm& form, const View& x, const View& weight, const View& bias, const View& y,
                    const View& statistics) = 0;
  /// dx += rstd·(g − x̂·mean(g·x̂) − [LayerNorm] mean(g)) with g = dy·weight, or = without
  /// `form.accumulate`, when dx may be dy; dweight += Σ dy·x̂, dbias += Σ dy over rows and groups. dweight and
  /// dbias may be empty: not wanted; both lie in memory of one element.
  virtual void norm_backward(const NormForm& form, const View& dy, const View& x, const View& weight,
                             const View& statistics, const View& dx, const View& dweight,
                             const View& dbias) = 0;

  // --- attention ---
  /// Rotates the pairs of every head of x in place by positions·frequencies, times the magnitude; `inverse`
  /// rotates back, times the magnitude again: the gradient. x: T × heads·head_dim; positions: T×1 of I32.
  virtual void rope(const View& x, const View& positions, const Rotation& rotation, bool inverse) = 0;
  /// o = softmax(scale·QKᵀ)V of the block, lse = log Σ exp of the scaled scores. o: like q with v_head_dim
  /// per head; lse: rows × heads, fp32 or wider. Rows that see no key: o = 0, lse = −∞, or their sink. FLOPs:
  /// 2·pairs·(head_dim + v_head_dim) per head and sequence.
  void attention_forward(const IssuedFlops& issue, const AttentionBlock& block, const View& q, const View& k,
                         const View& v, const View& o, const View& lse);
  /// Adds a further block's (o, lse) of the same queries to what is there: the softmax over both blocks'
  /// keys. All row by row and head by head; `o` and `piece_o` have `heads` heads.
  virtual void attention_merge(const View& o, const View& lse, const View& piece_o, const View& piece_lse,
                               std::int64_t heads) = 0;
  /// delta = Σ over a head's columns of do·o. delta: T × heads, fp32 or wider.
  virtual void attention_delta(const View& d_o, const View& o, const View& delta) = 0;
  /// dq, dk, dv += gradients of one block, or = where it overwrites, given the *final* lse and delta over all
  /// blocks (then every block's probabilities come out right). dq, dk, dv may be wider than q, k, v.
  /// FLOPs: 2.5 × forward.
  void attention_backward(const IssuedFlops& issue, const AttentionBlock& block, const View& q, const View& k,
                          const View& v, const View& d_o, const View& lse, const View& delta, const View& dq,
                          const View& dk, const View& dv);

  /// d_sinks −= Σ over rows of exp(sinks − lse)·delta: the gradient of the scores that have no value, given
  /// the final lse and delta. sinks, d_sinks: 1 × heads; lse, delta: rows × heads.
  virtual void sink_gradient(const View& sinks, const View& lse, const View& delta, const View& d_sinks) = 0;

  /// Products of queries and keys become probabilities in place, as attention_forward makes them of the
  /// block: scaled, soft-capped, with distances, masked, divided by the sum of their exponentials. scores:
  /// rows × heads·seq_kv, where q_pitch = seq_q. With a soft cap, `capped`, of the same shape, gets what it
  /// made; else it is empty. No sinks.
  virtual void score_softmax(const AttentionBlock& block, const View& scores, const View& capped) = 0;
  /// Gradient of the products from that of the probabilities p; d_scores may be d_p.
  virtual void score_softmax_backward(const AttentionBlock& block, const View& p, const View& capped,
                                      const View& d_p, const View& d_scores) = 0;

  // --- dropout ---
  /// out = x·form.factor where the form keeps a number, else 0; out may be x. mask (U8): 1 where it does.
  virtual void dropout(const DropoutForm& form, const View& x, const View& out, const View& mask) = 0;
  /// dx = d·form.factor·mask; dx may be d.
  virtual void dropout_backward(const DropoutForm& form, const View& d, const View& mask, const View& dx) = 0;

  // --- MLP ---
  /// act = f(x), both T×f; gated: act = f(gate)·up, x: T × 2f with gate in the first f columns.
  virtual void activation(const ActivationForm& form, const View& x, const View& act) = 0;
  /// dx, shaped like x and possibly x itself, from the gradient of act.
  virtual void activation_backward(const ActivationForm& form, const View& d_act, const View& x,
                                   const View& dx) = 0;

  // --- embedding and loss, vocabulary cut over ranks: this one has rows [first, first + table.rows) ---
  /// out[t] = table[ids[t] − first], zeros for other ranks' rows and below zero. ids: T×1 of I32.
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
  /// sums[t][1]). A target below zero is none: its row becomes 0 and adds nothing. `d_logits` may be `logits`
  /// itself.
  virtual void cross_entropy_gradient(const View& logits, std::int64_t valid, const View& maxima,
                                      const View& sums, const View& targets, std::int64_t first,
                                      double factor, const View& d_logits, const View& loss) = 0;

  // --- elementwise ---
  virtual void add(const View& to, const View& other) = 0;  // to += other
  virtual void scale(const View& x, double factor) = 0;
  /// Every row of x += bias. x: T×n; bias: 1×n. Its gradient: column_sums.
  virtual void add_bias(const View& x, const View& bias) = 0;
  /// x = cap·tanh(x/cap) in place (arXiv:2408.00118 §2).
  virtual void soft_cap(const View& x, double cap) = 0;
  /// d, the gradient of y = cap·tanh(x/cap), becomes that of x: d·(1 − (y/cap)²).
  virtual void soft_cap_backward(const View& y, double cap, const View& d) = 0;
  /// x is cut to [−limit, limit] in place.
  virtual void clip(const View& x, double limit) = 0;
  /// d = 0 where |x| exceeds the limit; x: what stood there before it was cut.
  virtual void clip_backward(const View& x, double limit, const View& d) = 0;
  /// out = f(a, b), element by element (element_functions.h); b is empty where f has one operand. out may be
  /// an operand.
  virtual void pointwise(costmodel::program::Function f, const View& a, const View& b, const View& out) = 0;
  /// da = d_out·∂f/∂a, db = d_out·∂f/∂b; b and db are empty where f has one operand. da and db may each be
  /// d_out, a or b.
  virtual void pointwise_backward(costmodel::program::Function f, const View& d_out, const View& a,
                                  const View& b, const View& da, const View& db) = 0;
  /// sum (1×1) += Σ x².
  virtual void squared_norm(const View& x, const View& sum) = 0;

  // --- mixture of experts ---
  /// scores = softmax of the logits over all E experts, or the sigmoid of each, which may overwrite them. The
  /// K experts with the largest score + correction per token go to `chosen` (T×K of I32, largest first, ties
  /// to the smaller id; experts of groups that are not taken come last), unless they are given there; their
  /// scores, scaled as `form` says, to `weights` (T×K). correction: 1×E, or empty.
  virtual void route(const RouterForm& form, const View& logits, const View& correction, const View& scores,
                     const View& chosen, const View& weights) = 0;
  /// d_logits from the gradients of the chosen weights and, per expert, of the mean score of the auxiliary
  /// loss: `d_mean` (1×E, or empty) adds d_mean[e] to every row's gradient of scores[e]. The correction has
  /// no gradient.
  virtual void route_backward(const RouterForm& form, const View& scores, const View& chosen,
                              const View& weights, const View& d_weights, const View& d_mean,
                              const View& d_logits) = 0;
  /// out[i] = x[rows[i]]; a negative index gives zeros. rows: n×1 of I32.
  virtual void gather_rows(const View& x, const View& rows, const View& out) = 0;
  /// out[rows[i]] += factors[i]·x[i], unless rows[i] is negative; factors empty (data == nullptr): 1.
  virtual void scatter_rows(const View& x, const View& rows, const View& factors, const View& out) = 0;
  /// dots[i] = Σ over columns of a[i]·b[i].
  virtual void row_dots(const View& a, const View& b, const View& dots) = 0;
  /// sums (1×cols) += Σ over rows of x.
  virtual void column_sums(const View& x, const View& sums) = 0;
  /// Row i of x times factors[i].
  virtual void scale_rows(const View& x, const View& factors) = 0;
  /// Column c of x times factors[c]. Their gradient: column_dots.
  virtual void scale_columns(const View& x, const View& factors) = 0;
  /// sums[c] += Σ over rows of a·b.
  virtual void column_dots(const View& a, const View& b, const View& sums) = 0;
  /// out[r] = σ(gates[r])·x[r]; out may be x. gates: T×1.
  virtual void gate_rows(const View& gates, const View& x, const View& out) = 0;
  /// dx = σ(gates)·d_out, which may be d_out itself; d_gates[r] = σ'(gates[r])·Σ over columns of d_out·x.
  virtual void gate_rows_backward(const View& d_out, const View& gates, const View& x, const View& dx,
                                  const View& d_gates) = 0;
  /// out[r] = x[r / n], n = out.rows / x.rows: what all heads share. With heads as rows of their own.
  virtual void repeat_rows(const View& x, const View& out) = 0;
  /// out[r] += Σ over the rows r·n … r·n + n − 1 of x, n = x.rows / out.rows: the gradient of repeat_rows.
  virtual void add_repeated_rows(const View& x, const View& out) = 0;

  // --- numbers in fewer bits ---
  /// Every row of x in `bits`, 8 or 4, block by block as costmodel/memory/quantised_blocks.h says: codes
  /// (U8) in two's complement, two of 4 bits in a byte, the first in its low half; scales, one per block,
  /// what a code times gives the number back. A block with a number that is none gives back none.
  virtual void quantise(int bits, const View& x, const View& codes, const View& scales) = 0;
  /// out = the numbers again, or += them. out may be wider or narrower than what was quantised.
  virtual void dequantise(int bits, const View& codes, const View& scales, const View& out,
                          bool accumulate) = 0;

  /// out = the numbers of a matrix in 4 bits, in order: nf4.h. out: contiguous, as many numbers.
  virtual void dequantise_nf4(const Nf4Matrix& from, const View& out) = 0;

  // --- optimizer ---
  /// One step of a run of parameters, or a part of one: UpdateRule. Where the master changes, parameter
  /// becomes the master rounded to its element.
  virtual void update(const OptimizerUpdate& update) = 0;

  // --- account of FLOPs and time ---
  [[nodiscard]] const std::map<IssuedFlops, double>& issued_flops() const { return flops_; }
  /// Whether calls are timed from now on: marks around each, which cost a device with streams a microsecond
  /// or two. Default: they are.
  void time_calls(bool on) { times_calls_ = on; }
  [[nodiscard]] bool times_calls() const { return times_calls_; }
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
  /// Adds messages that ran on streams of their own to the times of calls.
  void add_message_time(costmodel::Seconds time) {
    ComputeTime& sum = compute_times_[static_cast<std::size_t>(ComputeKind::Messages)];
    ++sum.calls;
    sum.time += time;
  }
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
