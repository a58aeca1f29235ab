#include "validator/executor/device/cuda/runtime/fused_attention.h"

#include <algorithm>
#include <array>

#include "validator/executor/device/cuda/kernels/cudnn_layout.h"

namespace hexaplan::validator::cuda {
namespace {

/// cuDNN's tensors start, and their rows lie, at multiples of it.
constexpr std::uintptr_t kAlignment = 16;
constexpr std::size_t kPartAlignment = 256;

bool suits(const View& v) {
  const auto address = reinterpret_cast<std::uintptr_t>(v.data);  // NOLINT(*-reinterpret-cast)
  const auto pitch = static_cast<std::uintptr_t>(v.stride) * bytes_of(v.element);
  return v.element == Element::Bf16 && (address | pitch) % kAlignment == 0;
}

/// Nothing that the graphs of attention_graph.h do not have.
bool plain(const AttentionBlock& b) {
  return b.softcap == 0 && b.distance == 0 && b.slopes.data == nullptr && b.sinks.data == nullptr &&
         !b.dropout.drops();
}

/// Cuts one piece of scratch into parts: first asked for, then placed.
class Parts {
 public:
  std::size_t add(std::size_t bytes) {
    const std::size_t at = total_;
    total_ += (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
    return at;
  }
  [[nodiscard]] std::size_t total() const { return total_; }

 private:
  std::size_t total_ = 0;
};

std::string text_of(const AttentionShape& s) {
  return "heads " + std::to_string(s.heads) + "/" + std::to_string(s.kv_heads) + " of " +
         std::to_string(s.head_dim) + (s.v_head_dim == s.head_dim ? "" : "/" + std::to_string(s.v_head_dim)) +
         ", " + std::to_string(s.seq_q) + " × " + std::to_string(s.seq_kv) +
         (s.window > 0 ? ", window " + std::to_string(s.window)
          : s.causal   ? ", causal"
                       : "");
}

View matrix(std::byte* data, Element element, std::int64_t rows, std::int64_t cols) {
  return {data, element, rows, cols, cols};
}

/// to += packed, or = where the block overwrites; packed has the block's rows one sequence behind the other.
void unpack_rows(const Queue& queue, const AttentionBlock& block, std::int64_t seq, std::int64_t pitch,
                 const View& to, const View& packed) {
  const auto move = block.overwrites ? copy : add;
  if (block.batch == 1 || pitch == seq) return move(queue, to.row_range(0, block.batch * seq), packed);
  for (std::int64_t b = 0; b < block.batch; ++b)
    move(queue, to.row_range(b * pitch, seq), packed.row_range(b * seq, seq));
}

}  // namespace

FusedAttention::FusedAttention(AttentionLibrary* library, DevicePool& pool, const Queue& queue)
    : pool_{pool}, queue_{queue} {
  if (library == nullptr) return;
  library_ = library->name();
  engine_ = library->make_engine(queue.stream);
}

std::optional<FusedAttention::Fused> FusedAttention::fused(Direction direction, const AttentionBlock& block,
                                                           std::span<const AttentionShape> forms,
                                                           std::initializer_list<View> operands) {
  if (engine_ == nullptr) return std::nullopt;
  // Proofs in fp32 run on own kernels: cuDNN has none.
  if (operands.begin()->element != Element::Bf16) return std::nullopt;
  if (plain(block) && std::all_of(operands.begin(), operands.end(), suits)) {
    for (const AttentionShape& form : forms) {
      if (const auto bytes = engine_->scratch_bytes(direction, form)) return Fused{form, *bytes};
    }
  }
  refused_.insert(text_of(forms.front()) + (plain(block) ? "" : ", with changed scores"));
  return std::nullopt;
}

void FusedAttention::forward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                             const View& o, const View& lse) {
  const AttentionShape shape = shape_of(block, q, k, v, o);
  const auto form = fused(Direction::Forward, block, {&shape, 1}, {q, k, v, o});
  if (!form) return attention_forward(queue_, block, q, k, v, o, lse);
  const std::int64_t statistics = block.batch * block.heads * block.seq_q;
  Parts parts;
  const std::size_t lse_at = parts.add(static_cast<std::size_t>(statistics) * sizeof(float));
  const std::size_t engine_at = parts.add(form->scratch);
  const Scratch scratch{pool_, "attention.scratch", parts.total()};
  scratch_high_ = std::max(scratch_high_, static_cast<std::int64_t>(parts.total()));
  const View packed = matrix(scratch.data() + lse_at, Element::F32, 1, statistics);
  const std::array bindings{
      AttentionEngine::Binding{Port::Query, q.data}, AttentionEngine::Binding{Port::Key, k.data},
      AttentionEngine::Binding{Port::Value, v.data}, AttentionEngine::Binding{Port::Output, o.data},
      AttentionEngine::Binding{Port::LogSumExp, packed.data}};
  engine_->run(Direction::Forward, shape, block.scale, bindings, scratch.data() + engine_at);
  unpack_statistics(queue_, block, packed, lse);
}

void FusedAttention::backward(const AttentionBlock& block, const View& q, const View& k, const View& v,
                              const View& d_o, const View& lse, const View& delta, const View& dq,
                              const View& dk, const View& dv) {
  std::vector<AttentionShape> forms{shape_of(block, q, k, v, d_o)};
  // Gradients go straight to where they belong, if nothing is added to and the library takes their rows.
  if (block.overwrites && suits(dq) && suits(dk) && suits(dv)) {
    AttentionShape placed = forms.front();
    placed.dq_row = dq.stride, placed.dk_row = dk.stride, placed.dv_row = dv.stride;
    forms.insert(forms.begin(), placed);
  }
  const auto form = fused(Direction::Backward, block, forms, {q, k, v, d_o});
  if (!form) return attention_backward(queue_, block, q, k, v, d_o, lse, delta, dq, dk, dv);
  fused_backward(block, *form, q, k, v, d_o, lse, delta, dq, dk, dv);
}

void FusedAttention::fused_backward(const AttentionBlock& block, const Fused& form, const View& q,
                                    const View& k, const View& v, const View& d_o, const View& lse,
                                    const View& delta, const View& dq, const View& dk, const View& dv) {
  const bool placed = form.shape.dq_row > 0;
  const std::int64_t q_rows = block.batch * block.seq_q, kv_rows = placed ? 0 : block.batch * block.seq_kv;
  const View sizes[] = {matrix(nullptr, Element::Bf16, q_rows, block.heads * block.v_head_dim),
                        matrix(nullptr, Element::F32, 1, q_rows * block.heads),
                        matrix(nullptr, Element::F32, 1, q_rows * block.heads),
                        matrix(nullptr, Element::F32, 1, q_rows * block.heads * block.head_dim),
                        matrix(nullptr, Element::Bf16, placed ? 0 : q_rows, block.heads * block.head_dim),
                        matrix(nullptr, Element::Bf16, kv_rows, block.kv_heads * block.head_dim),
                        matrix(nullptr, Element::Bf16, kv_rows, block.kv_heads * block.v_head_dim)};
  constexpr Port kPorts[] = {Port::Output,        Port::LogSumExp,   Port::Delta,        Port::QuerySum,
                             Port::QueryGradient, Port::KeyGradient, Port::ValueGradient};
  constexpr std::size_t kParts = std::size(kPorts);
  Parts parts;
  std::array<std::size_t, kParts> at{};
  for (std::size_t i = 0; i < kParts; ++i) at[i] = parts.add(sizes[i].bytes());
  const std::size_t engine_at = parts.add(form.scratch);
  const Scratch scratch{pool_, "attention.scratch", parts.total()};
  scratch_high_ = std::max(scratch_high_, static_cast<std::int64_t>(parts.total()));
  std::array<View, kParts> part;
  for (std::size_t i = 0; i < kParts; ++i) {
    part[i] = sizes[i];
    part[i].data = scratch.data() + at[i];
  }
  auto& [output, packed_lse, delta_workspace, query_sum, d_query, d_key, d_value] = part;
  if (placed) d_query = dq, d_key = dk, d_value = dv;
  std::vector<AttentionEngine::Binding> bindings{
      {Port::Query, q.data}, {Port::Key, k.data}, {Port::Value, v.data}, {Port::OutputGradient, d_o.data}};
  for (std::size_t i = 0; i < kParts; ++i) bindings.push_back({kPorts[i], part[i].data});
  stand_in_output(queue_, block, d_o, delta, output);
  pack_statistics(queue_, block, lse, packed_lse);
  if (engine_->adds_to_query_sum()) fill(queue_, query_sum, 0);
  engine_->run(Direction::Backward, form.shape, block.scale, bindings, scratch.data() + engine_at);
  if (placed) return;
  unpack_rows(queue_, block, block.seq_q, block.q_pitch, dq, d_query);
  unpack_rows(queue_, block, block.seq_kv, block.kv_pitch, dk, d_key);
  unpack_rows(queue_, block, block.seq_kv, block.kv_pitch, dv, d_value);
}

std::vector<std::string> FusedAttention::warnings() const {
  if (engine_ == nullptr)
    return {"attention runs on own kernels, because cuDNN is missing: its rates are not representative"};
  std::vector<std::string> texts;
  for (const std::string& shape : refused_) {
    texts.push_back("attention of " + shape + " runs on own kernels, because " + library_ +
                    " does not take it: its rates are not representative");
  }
  return texts;
}

}  // namespace hexaplan::validator::cuda
