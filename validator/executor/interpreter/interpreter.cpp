#include "validator/executor/interpreter/interpreter.h"

#include <array>
#include <cassert>

#include "costmodel/units/mutation.h"
#include "validator/executor/interpreter/first_not_finite.h"

namespace hexaplan::validator {
namespace {

namespace program = costmodel::program;
using costmodel::position;
using program::Kind;

void nothing(const Operation& /*o*/) {}

struct RunnerRow {
  Kind id;
  Runner run = nullptr;  // none: not executed
  /// It works on what its first results stand in for: operands that are kept beside them are copied first.
  bool overwrites = false;
};
/// By Kind.
constexpr std::array<RunnerRow, position(Kind::Count)> kRunners{{
    {Kind::Lookup, run_lookup},
    {Kind::Norm, run_norm},
    {Kind::Matmul, run_matmul},
    {Kind::GroupedMatmul, run_matmul},
    {Kind::AddMatmul, run_add_matmul, true},
    {Kind::BiasAdd, run_bias_add, true},
    {Kind::GroupedBiasAdd, run_grouped_bias_add, true},
    {Kind::Scale, run_scale, true},
    {Kind::RowNorms, run_row_norms},
    {Kind::ScaleColumns, run_scale_columns, true},
    {Kind::Clip, run_clip},
    {Kind::SoftCap, run_soft_cap, true},
    {Kind::GateRows, run_gate_rows},
    {Kind::Dropout, run_dropout},
    {Kind::QkNorm, run_qk_norm},
    {Kind::Rope, run_rope, true},
    {Kind::ExpandKeys, run_expand_keys},
    {Kind::Attend, run_attend},
    {Kind::AttendBlocks, run_attend_blocks, true},
    {Kind::GatedActivation, run_activation},
    {Kind::PlainActivation, run_activation},
    {Kind::Add, run_add, true},
    {Kind::Route, run_route},
    {Kind::CountChoices, run_count_choices},
    {Kind::GatherCounts, run_gather_counts},
    {Kind::Permute, run_permute},
    {Kind::Regroup, run_regroup},
    {Kind::Ungroup, run_ungroup},
    {Kind::Unpermute, run_unpermute},
    {Kind::LossMaxima, run_loss_maxima},
    {Kind::LossSums, run_loss_sums},
    {Kind::LossGradient, run_loss_gradient},
    {Kind::EnterTensor, nothing},  // a name for what is there
    {Kind::AllReduce, run_all_reduce, true},
    {Kind::AllGather, run_all_gather},
    {Kind::ReduceScatter, run_reduce_scatter},
    {Kind::AllToAll, run_all_to_all},
    {Kind::SendRecv, run_send_recv_back},  // forward: run_ring
    {Kind::Separate, run_separate},
    {Kind::Pointwise, run_pointwise},
    {Kind::Convolve},
    {Kind::StateOperands},
    {Kind::DeltaRule},
    {Kind::StateSpace},
    {Kind::Transpose},
    {Kind::SelectiveScan},
    {Kind::Lightning},
    {Kind::ChannelOperands},
    {Kind::ChannelDeltaRule},
    {Kind::JoinColumns, run_join_columns},
    {Kind::JoinRowNorms, run_join_row_norms},
    {Kind::LookupBack, run_lookup_back},
    {Kind::NormBack, run_norm_back},
    {Kind::MatmulData, run_matmul_data},
    {Kind::MatmulWeight, run_matmul_weight},
    {Kind::BiasWeight, run_bias_weight},
    {Kind::GroupedBiasWeight, run_grouped_bias_weight},
    {Kind::ScaleColumnsBack, run_scale_columns_back, true},
    {Kind::ClipBack, run_clip_back},
    {Kind::SoftCapBack, run_soft_cap_back},
    {Kind::GateRowsBack, run_gate_rows_back},
    {Kind::DropoutBack, run_dropout_back},
    {Kind::SinkWeight, run_sink_weight},
    {Kind::QkNormBack, run_qk_norm_back},
    {Kind::RopeBack, run_rope_back},
    {Kind::ExpandKeysBack, run_expand_keys_back},
    {Kind::AttendDelta, run_attend_delta},
    {Kind::AttendBack, run_attend_back},
    {Kind::AttendBlocksBack, run_attend_blocks_back},
    {Kind::GatedActivationBack, run_activation_back},
    {Kind::PlainActivationBack, run_activation_back},
    {Kind::UnpermuteBack, run_unpermute_back},
    {Kind::ScaleCopies, run_scale_copies},
    {Kind::RouteBack, run_route_back},
    {Kind::PermuteBack, run_permute_back},
    {Kind::SplitColumns, run_split_columns},
    {Kind::SeparateBack, run_separate_back},
    {Kind::PointwiseBack, run_pointwise_back},
    {Kind::ConvolveBack},
    {Kind::StateOperandsBack},
    {Kind::DeltaRuleBack},
    {Kind::StateSpaceBack},
    {Kind::SelectiveScanBack},
    {Kind::LightningBack},
    {Kind::ChannelOperandsBack},
    {Kind::ChannelDeltaRuleBack},
    {Kind::Copy, run_copy},
    {Kind::Quantise},
    {Kind::QuantiseGradient},
    {Kind::Dequantise, run_dequantise},
}};

constexpr bool lists_kinds_in_order() {
  for (std::size_t i = 0; i < kRunners.size(); ++i) {
    if (position(kRunners[i].id) != i) return false;
  }
  return true;
}
static_assert(lists_kinds_in_order());

/// One phase of a frame.
class PhaseRun {
 public:
  PhaseRun(Rank& rank, Frame& frame, const Weights& weights, const MicroBatch& batch)
      : rank_{rank}, frame_{frame}, weights_{weights}, batch_{batch}, ops_{frame.runnable().program.ops} {}

  void run(Runnable::Range range) {
    for (std::size_t at = range.begin; at < range.end; ++at) {
      if (begins_ring(at)) {
        run_ring(at);
        ++at;
        continue;
      }
      if (ops_[at].by_chunk) {
        at = run_chunks(at) - 1;
        continue;
      }
      run_one(at);
      frame_.release(at);
    }
    frame_.end_phase();
  }

 private:
  void run_one(std::size_t at) {
    const Runner runner = kRunners[position(ops_[at].kind)].run;
    assert(runner != nullptr);
    saying_where(at, [&] {
      frame_.allocate(rank_, ops_[at]);
      copy_overwritten(at);
      runner(operation(at));
    });
    if (rank_.watch != nullptr) rank_.watch->look(operation(at), at);
  }
  void copy_overwritten(std::size_t at) {
    const program::Op& op = ops_[at];
    if (!kRunners[position(op.kind)].overwrites) return;
    for (auto i = position(op.in_place); i < position(program::row_of(op.kind).in_place); ++i)
      rank_.device.copy(frame_.view(op.writes[i]), frame_.view(op.reads[i]));
  }
  /// From `begin` on what runs by chunk, for one chunk of the tokens after the other; the position behind it.
  std::size_t run_chunks(std::size_t begin) {
    std::size_t end = begin;
    while (end < ops_.size() && ops_[end].by_chunk) ++end;
    const View targets = batch_.targets;
    const int chunks = frame_.runnable().program.chunks;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const Frame::Chunk tokens =
          frame_.enter_chunk(costmodel::mutant("chunks-are-all-the-first") ? 0 : chunk);
      batch_.targets = targets.row_range(tokens.first, tokens.count);
      for (std::size_t at = begin; at < end; ++at) {
        run_one(at);
        chunk + 1 < chunks ? frame_.release_of_chunk(at) : frame_.release(at);
      }
    }
    batch_.targets = targets;
    frame_.leave_chunks();
    return end;
  }
  /// What has no room says for which operation of which layer.
  template <class Work>
  void saying_where(std::size_t at, const Work& work) const {
    try {
      work();
    } catch (OutOfMemory& error) {
      error.place_in(place_of(operation(at)));
      throw;
    }
  }
  [[nodiscard]] Operation operation(std::size_t at) const {
    return {.rank = rank_, .frame = frame_, .weights = weights_, .batch = batch_, .op = ops_[at]};
  }
  [[nodiscard]] bool begins_ring(std::size_t at) const {
    return ops_[at].kind == Kind::SendRecv && at + 1 < ops_.size() && ops_[at + 1].kind == Kind::AttendBlocks;
  }
  /// A message and what is attended to of it: written down once, run once per other rank of the ring. What
  /// one of them made for itself goes before the other needs room.
  void run_ring(std::size_t at) {
    const int rounds = rank_.groups.context->size() - 1;
    for (int round = 1; round <= rounds; ++round) {
      for (const std::size_t op : {at, at + 1}) {
        run_round(op, op == at ? pass_on_keys : attend_to_passed, round);
        round < rounds ? frame_.release_workspace(op) : frame_.release(op);
      }
    }
  }
  void run_round(std::size_t at, void (*exchange)(const Operation&, int), int round) {
    saying_where(at, [&] {
      frame_.allocate(rank_, ops_[at]);
      if (round == 1) copy_overwritten(at);
      exchange(operation(at), round);
    });
    if (rank_.watch != nullptr) rank_.watch->look(operation(at), at);
  }

  Rank& rank_;
  Frame& frame_;
  const Weights& weights_;
  MicroBatch batch_;  // of the chunk that runs, where the loss is cut
  const std::vector<program::Op>& ops_;
};

}  // namespace

bool is_executable(Kind kind) {
  return kRunners[position(kind)].run != nullptr;
}

void run_phase(Rank& rank, Frame& frame, program::Phase phase, const Weights& weights,
               const MicroBatch& batch) {
  PhaseRun{rank, frame, weights, batch}.run(frame.runnable().phases[position(phase)]);
}

}  // namespace hexaplan::validator
