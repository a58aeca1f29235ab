#include <array>
#include <utility>

#include "costmodel/program/passes/passes.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel::program {
namespace {

/// y = x·Wᵀ becomes h = scale·x·Aᵀ, y = x·Wᵀ, y += h·Bᵀ. The narrow product comes first, so that its input
/// gradient, which comes last, is added to the frozen one's. DoRA scales the columns of y. Linear layers that
/// are one matrix have their A in one matrix, too; of y each B has the columns of its layer.
class AdapterBuilder {
 public:
  AdapterBuilder(Program program, const Adapters& adapters)
      : p_{std::move(program)}, adapters_{adapters}, stands_for_(p_.values.size()) {
    for (std::size_t i = 0; i < stands_for_.size(); ++i) stands_for_[i] = static_cast<ValueId>(i);
  }

  Program run() {
    for (Op op : std::exchange(p_.ops, {})) {
      for (ValueId& id : op.reads) id = stands_for_[position(id)];
      const int layers = op.kind == Kind::Matmul ? adapters_.beside(p_.weights[position(op.weight)]) : 0;
      if (layers > 0) {
        adapt(op, layers);
      } else {
        p_.ops.push_back(op);
      }
    }
    if (p_.output != kNone) p_.output = stands_for_[position(p_.output)];
    return std::move(p_);
  }

 private:
  void adapt(Op op, int layers) {
    const auto [down, up] = add_weights(p_.weights[position(op.weight)], layers);
    const ValueId made = op.writes[0];
    const Rows rows = p_.weights[position(up)].split == Split::Row ? Rows::Tokens : p_.of(made).shape.rows;
    const ValueId hidden =
        p_.add({.tensor = Tensor::AdapterHidden, .shape = {rows, p_.weights[position(down)].out}});
    const ValueId scaled = p_.like(hidden, Role::Itself);
    p_.ops.push_back(
        {.site = op.site, .kind = Kind::Matmul, .reads = {op.reads[0]}, .writes = {hidden}, .weight = down});
    p_.ops.push_back({.site = op.site,
                      .kind = Kind::Scale,
                      .reads = {hidden},
                      .writes = {scaled},
                      .in_place = row_of(Kind::Scale).in_place});
    p_.ops.push_back(op);
    const ValueId sum = p_.like(made, Role::Itself);
    p_.ops.push_back({.site = op.site,
                      .kind = Kind::AddMatmul,
                      .reads = {made, scaled},
                      .writes = {sum},
                      .weight = up,
                      .in_place = row_of(Kind::AddMatmul).in_place});
    replace(made, adapters_.magnitudes ? scaled_columns(op, sum, up) : sum);
  }

  /// The columns of y that adapters change over the lengths of the rows of W + scale·B·A, times magnitudes
  /// (arXiv:2402.09353 equation 5). Of what a row-cut matrix makes: when ranks have added it up.
  ValueId scaled_columns(const Op& beside, ValueId y, std::int16_t up) {
    Weight sum = p_.weights[position(beside.weight)];
    sum.adapter = AdapterSide::Sum;
    sum.split = p_.weights[position(up)].split == Split::Row ? Split::Row : Split::Whole;
    Weight magnitude = sum;
    magnitude.adapter = AdapterSide::Magnitude;
    magnitude.split = Split::Whole;
    magnitude.out = p_.weights[position(up)].out;
    magnitude.in = Width::One;
    const ValueId norms =
        p_.add({.tensor = Tensor::RowNorms, .shape = {Rows::One, magnitude.out, Type::Fp32}});
    const ValueId work = p_.add({.tensor = Tensor::AdaptedWeight,
                                 .shape = {Rows::One, sum.out, Type::Fp32, sum.in},
                                 .role = Role::Workspace});
    const ValueId kept =
        p_.add({.tensor = Tensor::ScaledOutput, .shape = {p_.of(y).shape.rows, magnitude.out}});
    const ValueId out = p_.like(y, Role::Itself);
    p_.weights.push_back(sum);
    p_.weights.push_back(magnitude);
    const auto last = static_cast<std::int16_t>(p_.weights.size() - 1);
    p_.ops.push_back({.site = beside.site,
                      .kind = Kind::RowNorms,
                      .writes = {norms, work},
                      .weight = static_cast<std::int16_t>(last - 1)});
    p_.ops.push_back({.site = beside.site,
                      .kind = Kind::ScaleColumns,
                      .reads = {y, norms},
                      .writes = {out, kept},
                      .weight = last,
                      .in_place = row_of(Kind::ScaleColumns).in_place});
    return out;
  }

  struct Sides {
    std::int16_t down, up;
  };
  /// Both products of an adapter beside a row-cut matrix are this rank's part of the sum.
  Sides add_weights(Weight& base, int layers) {
    constexpr std::array kRanks{Width::AdapterRank, Width::AdapterRanks2, Width::AdapterRanks3};
    const bool row_cut = base.split == Split::Row;
    const bool without_keys =
        base.last == Parameter::AttentionKeyValueWeight && layers < adapters_.all_in(base);
    Weight down = base, up = base;
    down.adapter = AdapterSide::Down;
    down.out = kRanks[static_cast<std::size_t>(layers - 1)];
    up.adapter = AdapterSide::Up;
    up.in = Width::AdapterRank;
    up.out = without_keys ? Width::QueryValue : base.out;
    if (base.split == Split::Column) {
      down.split = Split::Region;
      up.split = Split::Whole;
    } else if (row_cut) {
      base.split = down.split = Split::Whole;
    } else {
      up.split = Split::Whole;
    }
    p_.weights.push_back(down);
    p_.weights.push_back(up);
    const auto last = static_cast<std::int16_t>(p_.weights.size() - 1);
    return {static_cast<std::int16_t>(last - 1), last};
  }

  void replace(ValueId from, ValueId to) {
    for (auto i = static_cast<ValueId>(stands_for_.size()); position(i) < p_.values.size(); ++i)
      stands_for_.push_back(i);
    if (!mutant("adapters-are-not-added")) stands_for_[position(from)] = to;
  }

  Program p_;
  const Adapters& adapters_;
  std::vector<ValueId> stands_for_;  // who reads what a frozen matrix made reads the sum
};

/// IA³ multiplies keys and values, bias included, and what the MLP's second matrix reads by learned vectors
/// (arXiv:2205.05638 §3.3; huggingface/peft src/peft/tuners/ia3/layer.py). The result takes the operand's
/// place; what was scaled is kept for the scales' gradient.
class ScaleBuilder {
 public:
  explicit ScaleBuilder(Program program) : p_{std::move(program)}, stands_for_(p_.values.size()) {
    for (std::size_t i = 0; i < stands_for_.size(); ++i) stands_for_[i] = static_cast<ValueId>(i);
  }

  Program run() {
    const std::vector<Op> forward = std::exchange(p_.ops, {});
    for (std::size_t i = 0; i < forward.size(); ++i) {
      Op op = forward[i];
      for (ValueId& id : op.reads) id = stands_for_[position(id)];
      if (op.site == Site::Down && op.kind == Kind::Matmul) op.reads[0] = scaled(op, op.reads[0]);
      p_.ops.push_back(op);
      const bool biased = i + 1 < forward.size() && forward[i + 1].kind == Kind::BiasAdd;
      const bool made = op.kind == Kind::Matmul || op.kind == Kind::BiasAdd;
      if (made && !biased && makes_keys(op)) stands_for_[position(op.writes[0])] = scaled(op, op.writes[0]);
    }
    if (p_.output != kNone) p_.output = stands_for_[position(p_.output)];
    return std::move(p_);
  }

 private:
  static bool makes_keys(const Op& op) {
    return op.site == Site::Qkv || op.site == Site::QkvBias || op.site == Site::KeyValueUp;
  }
  struct Scaled {
    Parameter matrix;
    Width width;
    Tensor kept;
  };
  static Scaled scaled_by(Site site) {
    if (site == Site::Down) return {Parameter::MlpDownWeight, Width::Activation, Tensor::AdapterInput};
    if (site == Site::KeyValueUp)
      return {Parameter::AttentionKeyValueUpWeight, Width::KeyValueUp, Tensor::ScaledOutput};
    return {Parameter::AttentionKeyValueWeight, Width::KeyValue, Tensor::ScaledOutput};
  }
  ValueId scaled(const Op& beside, ValueId x) {
    const Scaled by = scaled_by(beside.site);
    const ValueId kept = p_.add({.tensor = by.kept, .shape = {p_.of(x).shape.rows, by.width}});
    const ValueId out = p_.like(x, Role::Itself);
    p_.weights.push_back(
        {.out = by.width, .in = Width::One, .first = by.matrix, .adapter = AdapterSide::Scale});
    p_.ops.push_back({.site = beside.site,
                      .kind = Kind::ScaleColumns,
                      .reads = {x},
                      .writes = {out, kept},
                      .weight = static_cast<std::int16_t>(p_.weights.size() - 1),
                      .in_place = row_of(Kind::ScaleColumns).in_place});
    for (auto i = static_cast<ValueId>(stands_for_.size()); position(i) < p_.values.size(); ++i)
      stands_for_.push_back(i);
    return out;
  }

  Program p_;
  std::vector<ValueId> stands_for_;
};

}  // namespace

Program add_adapters(Program p, const Techniques& t) {
  if (t.adapters.scale) return ScaleBuilder{std::move(p)}.run();
  return AdapterBuilder{std::move(p), t.adapters}.run();
}

}  // namespace hexaplan::costmodel::program
