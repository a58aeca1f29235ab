#include <algorithm>
#include <array>
#include <utility>

#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {
namespace {

/// A value that frameworks keep in numbers and types of their own: which operation has it, and which one of
/// its backward reads what is kept.
struct KeptRow {
  Kind kind;
  Kind reader;
  bool of_layer_norms;  // those beside the residual stream, not of latents
  bool result;          // the operation's first result, else its first operand
  bool feeds_only;      // norms whose output feeds a matrix, not those behind a block
  KeptCopies Keeping::*copies;
};
constexpr std::array kKept{
    KeptRow{Kind::Norm, Kind::NormBack, true, false, false, &Keeping::norm_input},
    KeptRow{Kind::Norm, Kind::NormBack, true, true, true, &Keeping::norm_output},
    KeptRow{Kind::QkNorm, Kind::QkNormBack, false, false, false, &Keeping::query_key_norm_input},
};

bool is_of_latents(const Op& op) {
  return op.site == Site::QueryNorm || op.site == Site::KeyValueNorm;
}
bool stands_behind(const Op& op) {
  return op.site == Site::PostNorm1 || op.site == Site::PostNorm2;
}

class Keeper {
 public:
  Keeper(Program program, const Techniques& techniques)
      : p_{std::move(program)},
        k_{techniques.keeps},
        runs_experts_again_{techniques.recomputed == Recomputed::Everything ||
                            (techniques.modules & kRecomputeMoe) != 0} {}

  Program run() {
    for (std::size_t i = 0; i < p_.ops.size() && p_.ops[i].phase == Phase::Forward; ++i) {
      const Op op = p_.ops[i];
      for (const KeptRow& row : kKept) i = keep(op, row, i);
      if (op.kind == Kind::GatedActivation && op.site == Site::Activation && k_.gate_activation)
        i = copy(i, op.site, op.writes[0], Type::Activation, Kind::GatedActivationBack, op.site);
      if (op.kind == Kind::Matmul && op.site == Site::AttentionOutput)
        i = copies(i, op.site, op.reads[0], k_.attention_output.compute - 1, Type::Activation,
                   Kind::MatmulData);
      if (op.kind == Kind::Attend && k_.repeats_keys && op.reads.size() == 1) i = repeat_keys(i);
    }
    if (k_.layer_output > 0) keep_output();
    if (!k_.expert_output && !runs_experts_again_) forget_expert_output();
    return std::move(p_);
  }

 private:
  using Offset = std::vector<Op>::difference_type;

  /// Position of the forward operation at `at`, behind which what is kept was made.
  std::size_t keep(const Op& op, const KeptRow& row, std::size_t at) {
    const KeptCopies& kept = k_.*row.copies;
    const bool other = (row.of_layer_norms && is_of_latents(op)) || (row.feeds_only && stands_behind(op));
    if (op.kind != row.kind || other) return at;
    const ValueId value = row.result ? op.writes[0] : op.reads[0];
    int more = kept.compute - 1;
    if (kept.apart || (more < 0 && kept.fp32 > 0)) {
      // Instead of the value itself; of heads, without the values that stand beside them.
      at = copies(at, op.site, value, 1, kept.compute > 0 ? Type::Activation : Type::Fp32, row.reader, true);
      return copies(at, op.site, value, kept.compute > 0 ? kept.fp32 : kept.fp32 - 1, Type::Fp32, row.reader);
    }
    at = copies(at, op.site, value, more, Type::Activation, row.reader);
    return copies(at, op.site, value, kept.fp32, Type::Fp32, row.reader);
  }

  std::size_t copies(std::size_t at, Site site, ValueId value, int count, Type type, Kind reader,
                     bool instead = false) {
    for (; count > 0; --count) at = copy(at, site, value, type, reader, site, instead);
    return at;
  }
  /// Behind the operation at `at`: a further buffer with `value`, for `reader` at `of`.
  std::size_t copy(std::size_t at, Site site, ValueId value, Type type, Kind reader, Site of,
                   bool instead = false) {
    Shape shape = p_.of(value).shape;
    if (shape.width == Width::QueryKeyValue) shape.width = Width::QueryKey;
    shape.type = type;
    const ValueId kept = p_.like(value, Role::Copy, shape);
    insert(at, {.site = site, .kind = Kind::Copy, .reads = {value}, .writes = {kept}});
    for (Op& op : p_.ops) {
      if (op.phase == Phase::Forward || op.kind != reader || op.site != of) continue;
      if (instead) op.reads.remove(value);
      op.reads.push_back(kept);
      break;
    }
    return at + 1;
  }
  void insert(std::size_t at, const Op& op) {
    p_.ops.insert(p_.ops.begin() + static_cast<Offset>(at) + 1, op);
  }

  /// Queries, and keys and values once per query head, instead of what they are made from.
  std::size_t repeat_keys(std::size_t at) {
    const ValueId source = p_.ops[at].reads[0];
    const ValueId query =
        p_.add({.tensor = Tensor::Query, .shape = {Rows::Tokens, Width::Query}, .role = Role::Copy});
    const ValueId repeated = p_.add(
        {.tensor = Tensor::KeyValue, .shape = {Rows::Tokens, Width::RepeatedKeyValue}, .role = Role::Copy});
    for (Op& op : p_.ops) {
      const bool attends =
          op.kind == Kind::Attend || op.kind == Kind::AttendBack || op.kind == Kind::AttendBlocksBack;
      if (!attends || !op.reads.contains(source)) continue;
      op.reads.remove(source);
      op.reads.push_back(query);
      op.reads.push_back(repeated);
    }
    p_.ops.insert(p_.ops.begin() + static_cast<Offset>(at),
                  {.site = Site::Rope, .kind = Kind::Copy, .reads = {source}, .writes = {query, repeated}});
    return at + 1;
  }

  void keep_output() {
    const auto backward =
        std::find_if(p_.ops.begin(), p_.ops.end(), [](const Op& op) { return op.phase != Phase::Forward; });
    const auto first = static_cast<std::size_t>(backward - p_.ops.begin());
    for (int i = 0; i < k_.layer_output; ++i) {
      const ValueId kept = p_.like(p_.output, Role::Copy);
      backward_at(first + static_cast<std::size_t>(i)).reads.push_back(kept);
      insert(first + static_cast<std::size_t>(i) - 1,
             {.site = Site::MlpResidual, .kind = Kind::Copy, .reads = {p_.output}, .writes = {kept}});
    }
  }
  Op& backward_at(std::size_t i) { return p_.ops[i]; }

  /// Outputs were weighted before the second matrix: their weights' gradient needs no output.
  void forget_expert_output() {
    for (Op& op : p_.ops) {
      if (op.kind == Kind::UnpermuteBack) op.reads.remove(op.reads[1]);
    }
  }

  Program p_;
  const Keeping& k_;
  bool runs_experts_again_;  // with their last matrix
};

}  // namespace

Program keep_values(Program p, const Techniques& t) {
  return Keeper{std::move(p), t}.run();
}

}  // namespace hexaplan::costmodel::program
