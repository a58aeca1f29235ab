#include <algorithm>
#include <utility>

#include "costmodel/program/passes/passes.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel::program {
namespace {

template <class Predicate>
std::size_t first_backward(const Program& p, const Predicate& of) {
  const auto found = std::find_if(p.ops.begin(), p.ops.end(),
                                  [&](const Op& op) { return op.phase != Phase::Forward && of(op); });
  return static_cast<std::size_t>(found - p.ops.begin());
}

/// What a dropped value was written over is dropped as well; what only enters a region shares its fate.
std::vector<bool> with_operands(const Program& p, std::vector<bool> dropped) {
  for (auto op = p.ops.rbegin(); op != p.ops.rend(); ++op) {
    if (op->phase != Phase::Forward || op->kind == Kind::EnterTensor) continue;
    for (std::size_t i = 0; i < static_cast<std::size_t>(op->in_place); ++i) {
      if (dropped[position(op->writes[i])]) dropped[position(op->reads[i])] = true;
    }
  }
  for (const Op& op : p.ops) {
    if (op.kind == Kind::EnterTensor) dropped[position(op.writes[0])] = dropped[position(op.reads[0])];
  }
  return dropped;
}

/// Runs forward operations again at `place` of the backward pass, so that values in `dropped` need not be
/// kept: what backward reads of them, and whatever making it takes that is gone as well.
class Rematerialisation {
 public:
  /// `made`: values that may be made again; what makes them reads the others, which are kept for it.
  Rematerialisation(Program program, std::vector<bool> dropped, const std::vector<bool>& made)
      : p_{std::move(program)},
        dropped_{with_operands(p_, std::move(dropped))},
        gone_{dropped_},
        needed_(p_.values.size(), false) {
    gone_.resize(p_.values.size(), false);
    forward_ = first_backward(p_, [](const Op&) { return true; });
    add_passing_values(made);
  }

  /// `holds`: what backward reads of a recomputed layer stays, while its forward pass runs, to the end of it.
  /// `anyway`: values that are made again although nothing reads them; may be empty.
  Program run(std::size_t place, bool holds, const std::vector<bool>& anyway) {
    for (std::size_t i = forward_; i < p_.ops.size(); ++i) {
      for (const ValueId id : p_.ops[i].reads) need(id, holds);
    }
    for (std::size_t i = 0; i < anyway.size(); ++i) needed_[i] = needed_[i] || anyway[i];
    std::vector<Op> again = operations();
    const std::size_t earlier = forget_copies();
    std::vector<ValueId> renamed(p_.values.size(), kNone);
    for (Op& op : again) rename_results(op, renamed);
    for (std::size_t i = forward_; i < p_.ops.size(); ++i) rename(p_.ops[i].reads, renamed);
    p_.ops.insert(p_.ops.begin() + static_cast<std::vector<Op>::difference_type>(place - earlier),
                  again.begin(), again.end());
    return std::move(p_);
  }

 private:
  /// Values that the forward pass frees itself are gone, whatever recomputation drops.
  void add_passing_values(const std::vector<bool>& made) {
    const std::vector<ValueId> buffers = buffers_of(p_);
    const std::vector<int> last = last_touches(p_, buffers);
    for (std::size_t i = 0; i < forward_; ++i) {
      for (const ValueId id : p_.ops[i].writes) {
        const int touched = last[position(buffers[position(id)])];
        if (touched < static_cast<int>(forward_) && made[position(id)]) gone_[position(id)] = true;
      }
    }
  }
  void need(ValueId id, bool holds) {
    if (!gone_[position(id)]) return;
    needed_[position(id)] = true;
    p_.of(id).held = holds && !mutant("recomputed-values-are-freed-at-once");
  }
  /// True for what is run for the host, which reads the result: counts of tokens.
  [[nodiscard]] bool for_the_host(const Op& op) const {
    return p_.of(op.writes[0]).tensor == Tensor::ChoiceCounts && dropped_[position(op.reads[0])];
  }
  /// Copies for backward are made when their originals are made again; how many of them.
  std::size_t forget_copies() {
    std::vector<bool> read(p_.values.size(), false);  // in forward
    for (std::size_t i = 0; i < forward_; ++i) {
      for (const ValueId id : p_.ops[i].reads) read[position(id)] = true;
    }
    const std::size_t all = p_.ops.size();
    std::erase_if(p_.ops, [&](const Op& op) {
      return op.kind == Kind::Copy && op.phase == Phase::Forward &&
             std::ranges::all_of(op.writes, [&](ValueId id) {
               return dropped_[position(id)] && !read[position(id)] && p_.of(id).role != Role::Workspace;
             });
    });
    forward_ -= all - p_.ops.size();
    return all - p_.ops.size();
  }
  std::vector<Op> operations() {
    std::vector<Op> again;
    for (std::size_t i = forward_; i-- > 0;) {
      const Op& op = p_.ops[i];
      const bool used =
          std::any_of(op.writes.begin(), op.writes.end(), [&](ValueId id) { return needed_[position(id)]; });
      if (!used && !for_the_host(op)) continue;
      for (const ValueId id : op.reads) {
        if (gone_[position(id)]) needed_[position(id)] = true;
      }
      again.push_back(op);
    }
    std::reverse(again.begin(), again.end());
    return again;
  }
  /// What is kept is written once more, with the same numbers; what was dropped becomes a new value.
  void rename_results(Op& op, std::vector<ValueId>& renamed) {
    op.phase = Phase::Backward;
    op.recomputed = true;
    rename(op.reads, renamed);
    for (const ValueId id : op.writes) {
      if (!gone_[position(id)]) continue;
      const Role role = p_.of(id).role;
      renamed[position(id)] = p_.like(id, role);
      if (role == Role::Workspace) p_.of(renamed[position(id)]).copies = p_.of(id).copies;
    }
    rename(op.writes, renamed);
  }
  template <class Ids>
  static void rename(Ids& ids, const std::vector<ValueId>& renamed) {
    for (ValueId& id : ids) {
      if (position(id) < renamed.size() && renamed[position(id)] != kNone) id = renamed[position(id)];
    }
  }

  Program p_;
  std::vector<bool> dropped_, gone_, needed_;  // by value of the forward pass; gone: dropped or passing
  std::size_t forward_ = 0;                    // operations of the forward pass
};

Program recompute_everything(Program p, const Techniques& t) {
  std::vector<bool> dropped(p.values.size(), false);
  for (const Op& op : p.ops) {
    if (op.phase != Phase::Forward) continue;
    for (const ValueId id : op.writes)
      dropped[position(id)] = !mutant("recomputed-layers-keep-what-norms-made") || op.kind != Kind::Norm;
  }
  const std::size_t place = first_backward(p, [](const Op&) { return true; });
  const std::vector<bool> anyway =
      t.stops_recomputing_early && !mutant("recomputation-runs-to-the-end") ? std::vector<bool>{} : dropped;
  return Rematerialisation{std::move(p), dropped, dropped}.run(place, true, anyway);
}

/// Of what a matrix made, `parts` are kept; the rest is made again before its first reader in backward.
void keep_parts(Program& p, ValueId whole, const std::vector<Shape>& parts, double copies) {
  const std::size_t reader = first_backward(p, [&](const Op& op) { return op.reads.contains(whole); });
  if (reader == p.ops.size()) return;
  Op keep{.site = p.ops[reader].site, .kind = Kind::Copy, .reads = {whole}, .writes = {}};
  Op restore{.site = keep.site,
             .kind = Kind::Copy,
             .reads = {},
             .writes = {p.like(whole, Role::Itself)},
             .phase = Phase::Backward,
             .recomputed = true};
  for (const Shape& shape : parts) {
    const ValueId part = p.like(whole, Role::Copy, shape);
    p.of(part).copies = copies;
    keep.writes.push_back(part);
    restore.reads.push_back(part);
  }
  for (std::size_t i = reader; i < p.ops.size(); ++i) {
    for (ValueId& id : p.ops[i].reads) id = id == whole ? restore.writes[0] : id;
  }
  p.ops.insert(p.ops.begin() + static_cast<std::vector<Op>::difference_type>(reader), restore);
  const auto maker = std::ranges::find_if(p.ops, [&](const Op& op) { return op.writes.contains(whole); });
  p.ops.insert(maker + 1, keep);
}

/// Where the program has one matrix, torchtitan has queries, keys and values, or gate and up: it keeps
/// queries, values and the gate, and what the last matrix makes, although nothing reads that.
Program keep_every_second(Program p) {
  const std::vector<Op> forward{p.ops.begin(),
                                p.ops.begin() + static_cast<std::vector<Op>::difference_type>(
                                                    first_backward(p, [](const Op&) { return true; }))};
  for (const Op& op : forward) {
    if (op.kind == Kind::Rope || op.site == Site::Qkv) {
      const bool beside = op.writes.size() > 0 && p.of(op.writes[0]).shape.width == Width::QueryKeyValue;
      if (beside)
        keep_parts(p, op.writes[0], {{Rows::Tokens, Width::Query}, {Rows::Tokens, Width::Value}}, 1);
    }
    if (op.kind != Kind::GatedActivation || op.site != Site::Activation) continue;
    keep_parts(p, op.reads[0], {p.of(op.reads[0]).shape}, 1.0 / 2);
    const auto sum = std::ranges::find_if(p.ops, [](const Op& o) {
      return o.site == Site::MlpResidual && o.kind == Kind::Add && o.phase == Phase::Forward;
    });
    const ValueId last = sum->reads[0], kept = p.like(last, Role::Copy);
    p.ops.insert(sum, {.site = Site::MlpResidual, .kind = Kind::Copy, .reads = {last}, .writes = {kept}});
    p.ops[first_backward(p, [](const Op&) { return true; })].reads.push_back(kept);
  }
  return p;
}

/// torchtitan's per-operator policy keeps what attention and every second matrix make
/// (pytorch/torchtitan torchtitan/distributed/activation_checkpoint.py). There up and gate are two matrices
/// and one of them runs again; here they are one, which is kept, and the last matrix runs again in its place.
/// Of what is one matrix in the framework, too, all is kept or nothing.
Program recompute_operators(Program p, const Techniques& t) {
  std::vector<bool> dropped(p.values.size(), false);
  bool keeps_matrix = false;
  for (Op& op : p.ops) {
    if (op.phase != Phase::Forward) continue;
    // Eager operators have results of their own, so that one can be kept without the next.
    if (op.kind != Kind::EnterTensor) op.in_place = 0;
    const bool matrix = row_of(op.kind).work == Work::Matrix && op.kind != Kind::AddMatmul &&
                        p.weights[position(op.weight)].adapter == AdapterSide::None;
    if (matrix) keeps_matrix = !keeps_matrix;
    const bool kept = matrix ? keeps_matrix : op.kind == Kind::Attend || op.kind == Kind::AttendBlocks;
    for (const ValueId id : op.writes) dropped[position(id)] = !kept;
  }
  const std::size_t place = first_backward(p, [](const Op&) { return true; });
  p = Rematerialisation{std::move(p), dropped, dropped}.run(place, false, dropped);
  return t.separate_projections ? keep_every_second(std::move(p)) : p;
}

bool is_of_scores(Tensor tensor) {
  return tensor == Tensor::LogSumExp || tensor == Tensor::Scores || tensor == Tensor::CappedScores ||
         tensor == Tensor::ScoresDropout;
}

/// What `modules` drop. Of core attention all is kept but the scores, or a flash kernel's statistics; norms
/// keep theirs.
bool is_dropped(const Op& op, const Value& value, std::uint16_t modules) {
  if ((row_of(op.site).modules & modules) == 0) return false;
  if (block_of(op.site) == Block::Attention && op.kind != Kind::Norm &&
      (row_of(op.site).modules & kRecomputeCoreAttention) != 0)
    return mutant("selective-drops-the-output") ? value.tensor == Tensor::AttentionOutput
                                                : is_of_scores(value.tensor);
  return op.kind != Kind::Norm || value.tensor != Tensor::NormStatistics;
}

/// Blocks whose values are made again together: experts need what the router made.
Block group_of(const Op& op) {
  const Block block = block_of(op.site);
  return block == Block::Router || block == Block::Shared ? Block::Experts : block;
}

/// Marks what `modules` make in a group of blocks and what they drop of it; whether there is anything.
bool drop_from(Program& p, Block group, std::uint16_t modules, std::vector<bool>& made,
               std::vector<bool>& dropped) {
  bool any = false;
  const std::vector<ValueId> buffers = buffers_of(p);
  for (const Op& op : p.ops) {
    if (op.phase != Phase::Forward || group_of(op) != group) continue;
    for (const ValueId id : op.writes) {
      // Exchanged heads are kept: backward reads them.
      made[position(id)] = (row_of(op.site).modules & modules) != 0 && op.site != Site::ContextExchange;
      if (!is_dropped(op, p.of(id), modules)) continue;
      dropped[position(id)] = any = true;
      // The executor's label for it while forward runs. What becomes the layer's output is handed on.
      const bool handed_on = buffers[position(id)] == buffers[position(p.output)];
      if (p.of(id).role == Role::Itself && !handed_on) p.of(id).kind = p.keeps();
    }
  }
  return any;
}

bool reads_any(const Op& op, const std::vector<bool>& dropped) {
  return std::any_of(op.reads.begin(), op.reads.end(),
                     [&](ValueId id) { return position(id) < dropped.size() && dropped[position(id)]; });
}

/// Dropped values are made again where the group's backward begins, or where another's first reads them.
/// Later groups come first: what runs again in them reads what earlier ones drop.
Program recompute_modules(Program p, const Techniques& t) {
  for (std::size_t b = position(Block::Count); b-- > 0;) {
    const auto group = static_cast<Block>(b);
    std::vector<bool> made(p.values.size(), false), dropped = made;
    if (!drop_from(p, group, t.modules, made, dropped)) continue;
    const std::vector<bool> anyway = t.stops_recomputing_early ? std::vector<bool>{} : made;
    // Under other names, too: parallel branches enter the tensor-parallel region with one norm's output.
    const std::vector<bool> gone = with_operands(p, dropped);
    const auto begins = [&](const Op& op) {
      return reads_any(op, gone) || (group_of(op) == group && op.site != Site::Gradients);
    };
    const std::size_t place = first_backward(p, begins);
    p = Rematerialisation{std::move(p), std::move(dropped), made}.run(place, false, anyway);
  }
  return p;
}

}  // namespace

Program recompute(Program p, const Techniques& t) {
  switch (t.recomputed) {
    case Recomputed::Everything:
      return recompute_everything(std::move(p), t);
    case Recomputed::Operators:
      return recompute_operators(std::move(p), t);
    case Recomputed::Modules:
      return recompute_modules(std::move(p), t);
    case Recomputed::Nothing:
      break;
  }
  return p;
}

}  // namespace hexaplan::costmodel::program
