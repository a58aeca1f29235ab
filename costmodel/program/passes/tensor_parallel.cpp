#include <array>
#include <utility>

#include "costmodel/program/passes/passes.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel::program {
namespace {

/// Where a block enters and leaves the tensor-parallel region.
struct BlockRow {
  Block id;
  std::string_view name;
  Site enter, leave;
};
constexpr std::array<BlockRow, position(Block::Count)> kBlocks{{
    {Block::Embedding, "embedding", Site::EmbeddingLeave, Site::EmbeddingLeave},
    {Block::Attention, "attention", Site::AttentionEnter, Site::AttentionLeave},
    {Block::Mlp, "mlp", Site::MlpEnter, Site::MlpLeave},
    {Block::Router, "router", Site::MlpEnter, Site::MlpLeave},
    {Block::Experts, "experts", Site::MlpEnter, Site::MlpLeave},
    {Block::Shared, "shared experts", Site::SharedEnter, Site::SharedLeave},
    {Block::Head, "head", Site::HeadEnter, Site::HeadEnter},
    {Block::Mtp, "multi-token prediction", Site::MtpEnter, Site::MtpLeave},
}};
static_assert(lists_in_order(kBlocks, position(Block::Count)));

class TensorCut {
 public:
  TensorCut(Program program, const Techniques& techniques)
      : p_{std::move(program)}, t_{techniques}, stands_for_(p_.values.size()) {
    for (std::size_t i = 0; i < stands_for_.size(); ++i) stands_for_[i] = static_cast<ValueId>(i);
  }

  Program run() {
    for (Op op : std::exchange(p_.ops, {})) {
      for (ValueId& id : op.reads) id = stands_for_[position(id)];
      const Split split = op.weight < 0 ? Split::Whole : p_.weights[position(op.weight)].split;
      if (split == Split::Column || split == Split::Region) enter(op);
      p_.ops.push_back(op);
      if (op.kind == Kind::RowNorms && split == Split::Row) {
        gather_lengths(op);
      } else if (split == Split::Row && !mutant("row-cut-results-are-not-summed")) {
        leave(op);
      }
      if (op.site == Site::MtpSum) gather_columns(op);
      if (op.kind == Kind::LossMaxima || (op.kind == Kind::LossSums && !mutant("loss-sums-are-not-reduced")))
        reduce_loss(op);
    }
    if (p_.output != kNone) p_.output = stands_for_[position(p_.output)];
    return std::move(p_);
  }

 private:
  /// Once for all matrices of a block that read the same value.
  void enter(Op& op) {
    const ValueId whole = op.reads[0];
    if (p_.of(whole).shape.rows != Rows::Hidden) return;  // inside already
    const Site site = kBlocks[position(block_of(op.site))].enter;
    if (mutant("every-matrix-enters-by-itself") || entered_from_ != whole || entered_at_ != site) {
      Shape shape = p_.of(whole).shape;
      shape.rows = Rows::Tokens;
      entered_ = p_.like(whole, Role::Whole, shape);
      p_.ops.push_back({.site = site,
                        .kind = Kind::EnterTensor,
                        .reads = {whole},
                        .writes = {entered_},
                        .in_place = row_of(Kind::EnterTensor).in_place,
                        .times = entries(block_of(op.site))});
      entered_from_ = whole;
      entered_at_ = site;
    }
    op.reads[0] = entered_;
  }
  /// How often a block's input is brought in: by each of the linear layers that a matrix of the program
  /// holds, or once.
  [[nodiscard]] std::int16_t entries(Block block) const {
    if (block == Block::Attention) return t_.attention_entries;
    return block == Block::Mlp || block == Block::Shared ? t_.mlp_entries : std::int16_t{1};
  }
  /// What a row-cut matrix makes of all tokens is this rank's part of a sum.
  void leave(const Op& op) {
    const ValueId partial = op.writes[0];
    const ValueId sum = p_.like(partial, Role::Itself);
    for (const ValueId id : op.in_place > 0 ? IdList<16>{op.reads[0], partial} : IdList<16>{partial}) {
      p_.of(id).shape.rows = Rows::Tokens;
      p_.of(id).role = Role::Partial;
    }
    reduce(kBlocks[position(block_of(op.site))].leave, partial, sum);
  }
  /// Every rank has a part of each row of a row-cut matrix: a row is as long as the vector of its parts'
  /// lengths.
  void gather_lengths(const Op& op) {
    const ValueId own = op.writes[0];
    Shape of_all = p_.of(own).shape;
    of_all.rows = Rows::TensorRanks;
    const ValueId gathered = p_.like(own, Role::Whole, of_all);
    const ValueId work = p_.like(own, Role::Workspace, of_all);
    const ValueId whole = p_.like(own, Role::Itself);
    p_.of(own).role = Role::Partial;
    p_.ops.push_back({.site = op.site, .kind = Kind::AllGather, .reads = {own}, .writes = {gathered}});
    p_.ops.push_back(
        {.site = op.site, .kind = Kind::JoinRowNorms, .reads = {gathered}, .writes = {whole, work}});
    replace(own, whole);
  }
  /// Columns of all ranks make the whole rows that a layer reads, of which sequence parallelism leaves each
  /// rank its tokens (NVIDIA/Megatron-LM megatron/core/transformer/multi_token_prediction.py:
  /// gather_from_tensor_model_parallel_region, scatter_to_sequence_parallel_region).
  void gather_columns(const Op& op) {
    const Site site = kBlocks[position(block_of(op.site))].leave;
    const ValueId own = op.writes[0];
    const ValueId gathered = p_.like(own, Role::Whole, {Rows::Tokens, Width::Hidden});
    const ValueId rows = p_.like(own, Role::Itself, kHiddenStates);
    p_.ops.push_back({.site = site, .kind = Kind::AllGather, .reads = {own}, .writes = {gathered}});
    p_.ops.push_back({.site = site, .kind = Kind::JoinColumns, .reads = {gathered}, .writes = {rows}});
    replace(own, rows);
  }
  void reduce(Site site, ValueId from, ValueId to) {
    p_.ops.push_back({.site = site, .kind = Kind::AllReduce, .reads = {from}, .writes = {to}, .in_place = 1});
    replace(from, to);
  }
  /// Maxima, and sums of exponentials with the target's logit: one message each, or the two sums apart.
  void reduce_loss(const Op& op) {
    const bool apart = op.kind == Kind::LossSums && t_.loss_reductions > 2;
    const ValueId own = op.writes[0], sum = p_.like(own, Role::Itself);
    p_.of(sum).kind = p_.of(own).kind;
    reduce(Site::LossReduce, own, sum);
    if (!apart) return;
    Op& message = p_.ops.back();
    message.payload = Shape{Rows::Tokens, Width::One, Type::Fp32};
    message.times = 2;
  }
  void replace(ValueId from, ValueId to) {
    stands_for_.resize(p_.values.size(), kNone);
    for (ValueId& id : stands_for_) id = id == from ? to : id;
    stands_for_[position(to)] = to;
  }

  Program p_;
  const Techniques& t_;
  std::vector<ValueId> stands_for_;  // readers of a value that was reduced read the result
  ValueId entered_from_ = kNone, entered_ = kNone;
  Site entered_at_ = Site::Count;
};

}  // namespace

Program cut_over_tensor_ranks(Program program, const Techniques& techniques) {
  return TensorCut{std::move(program), techniques}.run();
}

}  // namespace hexaplan::costmodel::program
