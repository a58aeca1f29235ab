#include <utility>

#include "costmodel/program/passes/passes.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel::program {
namespace {

constexpr Shape kReceived{Rows::Received, Width::Hidden};
constexpr Shape kExchanged{Rows::Exchanged, Width::Hidden};
constexpr Shape kExpertRows{Rows::ExpertRows, Width::Hidden};
constexpr Shape kSortedIndex{Rows::ExpertRows, Width::One, Type::Int32};
constexpr Shape kExchangedIndex{Rows::Exchanged, Width::One, Type::Int32};

class ExpertExchange {
 public:
  ExpertExchange(Program program, const Techniques& techniques) : p_{std::move(program)}, t_{techniques} {
    for (const Op& op : p_.ops) last_site_ = op.site == Site::ExpertDownBias ? op.site : last_site_;
  }

  Program run() {
    for (Op op : std::exchange(p_.ops, {})) {
      for (ValueId& id : op.reads) id = id == replaced_ ? stands_for_ : id;
      p_.ops.push_back(op);
      if (op.kind == Kind::Route) tell_choices(op.writes[1]);
      if (op.kind == Kind::Permute && exchanges()) send(op);
      if (op.site == last_site_ && exchanges()) bring_back(op.writes[0]);
    }
    return std::move(p_);
  }

 private:
  [[nodiscard]] bool exchanges() const { return t_.exchanges_experts || t_.cuts_experts; }

  Op& emit(Site site, Kind kind, IdList<16> reads, ValueId result, Group group) {
    p_.ops.push_back({.site = site, .kind = kind, .reads = reads, .writes = {result}, .group = group});
    return p_.ops.back();
  }
  ValueId value(Tensor tensor, Shape shape, Role role = Role::Itself) {
    return p_.add({.tensor = tensor, .shape = shape, .role = role});
  }

  /// Ranks that share a sequence add up how often its tokens chose each expert, for the balance loss; ranks
  /// that exchange tokens say how many each expert gets, which is known where all are padded to a capacity.
  /// The host reads both.  [docs/formulas.md#C12]
  void tell_choices(ValueId chosen) {
    if (!t_.sums_choices) return;
    if (t_.sequence || t_.context_ranks > 1) {
      const Shape counts{Rows::One, Width::SequenceCounts, Type::Int32};
      ValueId sum = value(Tensor::ChoiceCounts, counts);
      emit(Site::Balance, Kind::CountChoices, {chosen}, sum, Group::Tensor);
      if (t_.sequence && !mutant("choices-are-not-summed-over-tensor-ranks"))
        sum = add_up(sum, Group::Tensor);
      if (t_.context_ranks > 1) add_up(sum, Group::Context);
    }
    if (t_.pads_experts) return;
    if (t_.exchanges_experts) tell(chosen, Width::ExchangedCounts, Group::Expert);
    if (t_.cuts_experts && !mutant("columns-do-not-tell-their-counts"))
      tell(chosen, Width::SharedCounts, Group::ExpertTensor);
  }
  ValueId add_up(ValueId counts, Group group) {
    const ValueId sum = p_.like(counts, Role::Itself);
    emit(Site::Balance, Kind::AllReduce, {counts}, sum, group).in_place = 1;
    return sum;
  }
  void tell(ValueId chosen, Width width, Group group) {
    emit(Site::TokenCounts, Kind::GatherCounts, {chosen},
         value(Tensor::ChoiceCounts, {Rows::One, width, Type::Int32}, Role::Whole), group);
  }

  /// Copies of tokens become rows of this rank's experts. The order of the copies stays until the rows
  /// stand by expert.
  void send(const Op& permute) {
    ValueId rows = value(Tensor::ExpertInput, kReceived, Role::Whole);
    exchange(Site::Dispatch, permute.writes[0], rows);
    if (t_.cuts_experts) {
      const ValueId received = std::exchange(rows, value(Tensor::ExpertInput, kExchanged, Role::Whole));
      // What was received lies in the gather's buffer.
      emit(Site::GatherRows, Kind::AllGather, {received}, rows, Group::ExpertTensor).in_place = 1;
    }
    const ValueId input = value(Tensor::ExpertInput, kExpertRows);
    emit(Site::Dispatch, Kind::Regroup, {rows, permute.writes[1]}, input, Group::Expert)
        .writes.push_back(value(Tensor::TokenOrder, kSortedIndex, Role::Workspace));
    replaced_ = permute.writes[0];
    stands_for_ = input;
  }
  void bring_back(ValueId made) {
    ValueId rows = value(Tensor::ExpertOutput, kExchanged, Role::Whole);
    emit(Site::Combine, Kind::Ungroup, {made}, rows, Group::Expert)
        .writes.push_back(value(Tensor::TokenOrder, kExchangedIndex, Role::Workspace));
    if (t_.cuts_experts) {
      const ValueId partial = std::exchange(rows, value(Tensor::ExpertOutput, kReceived, Role::Whole));
      emit(Site::ScatterRows, Kind::ReduceScatter, {partial}, rows, Group::ExpertTensor);
    }
    replaced_ = made;
    stands_for_ = value(Tensor::ExpertOutput, {Rows::Sent, Width::Hidden});
    exchange(Site::Combine, rows, stands_for_);
  }
  /// No message where only columns are cut, but a copy all the same.
  void exchange(Site site, ValueId from, ValueId to) {
    Op& op = emit(site, Kind::AllToAll, {from}, to, Group::Expert);
    op.payload = kReceived;
    op.times = t_.exchanges_experts ? (mutant("tokens-travel-twice") ? 2 : 1) : 0;
  }

  Program p_;
  const Techniques& t_;
  Site last_site_ = Site::ExpertDown;  // of the experts
  ValueId replaced_ = kNone, stands_for_ = kNone;
};

}  // namespace

Program exchange_token_copies(Program program, const Techniques& techniques) {
  return ExpertExchange{std::move(program), techniques}.run();
}

}  // namespace hexaplan::costmodel::program
