#include <algorithm>
#include <array>
#include <utility>

#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {
namespace {

/// Which tensor of an operation a rule of the profile is about.
enum class Of : std::uint8_t {
  Operand,  // the first one, instead of what backward reads of it
  Result,
  SecondResult,   // statistics, masks
  BesideOperand,  // a further tensor of its shape, whatever backward reads
  BesideResult,
};
template <Site... kOf>
bool at(Site site) {
  return ((site == kOf) || ...);
}
bool of_latents(Site site) {
  return at<Site::QueryNorm, Site::KeyValueNorm>(site);
}
/// What stands inside a recurrence is kept as its kernels do.
bool of_hidden_states(Site site) {
  return !of_latents(site) && site != Site::StateNorm;
}
bool anywhere(Site /*site*/) {
  return true;
}
struct KeptRow {
  Saved id;
  Kind kind;  // of the forward operation; GatedActivation stands for plain ones as well
  bool (*sites)(Site);
  Of of;
};
constexpr std::array kRows{
    KeptRow{Saved::NormInput, Kind::Norm, of_hidden_states, Of::Operand},
    KeptRow{Saved::NormStats, Kind::Norm, anywhere, Of::SecondResult},
    KeptRow{Saved::QkNormInput, Kind::QkNorm, anywhere, Of::Operand},
    KeptRow{Saved::LatentQuery, Kind::Norm, at<Site::QueryNorm>, Of::Operand},
    KeptRow{Saved::LatentKeyValue, Kind::Norm, at<Site::KeyValueNorm>, Of::Operand},
    KeptRow{Saved::LatentNormOutput, Kind::Norm, of_latents, Of::Result},
    KeptRow{Saved::KeyValueUp, Kind::ExpandKeys, anywhere, Of::BesideOperand},
    KeptRow{Saved::AttentionOutput, Kind::Matmul, at<Site::AttentionOutput>, Of::Operand},
    KeptRow{Saved::ResidualDropout, Kind::Dropout, anywhere, Of::SecondResult},
    KeptRow{Saved::GateUp, Kind::GatedActivation, at<Site::Activation>, Of::Operand},
    KeptRow{Saved::ActivationOutput, Kind::GatedActivation, at<Site::Activation>, Of::Result},
    KeptRow{Saved::ActivationInner, Kind::GatedActivation, at<Site::Activation>, Of::BesideResult},
    KeptRow{Saved::RouterLogits, Kind::Route, anywhere, Of::Result},
    KeptRow{Saved::RouterInput, Kind::Route, anywhere, Of::BesideOperand},
    KeptRow{Saved::ExpertInput, Kind::GroupedMatmul, at<Site::ExpertUp>, Of::Operand},
    KeptRow{Saved::ExpertGateUp, Kind::GatedActivation, at<Site::ExpertActivation>, Of::Operand},
    KeptRow{Saved::ExpertActivation, Kind::GatedActivation, at<Site::ExpertActivation>, Of::Result},
    KeptRow{Saved::ExpertInner, Kind::GatedActivation, at<Site::ExpertActivation>, Of::BesideResult},
    KeptRow{Saved::SharedGateUp, Kind::GatedActivation, at<Site::SharedActivation>, Of::Operand},
    KeptRow{Saved::SharedActivation, Kind::GatedActivation, at<Site::SharedActivation>, Of::Result},
    KeptRow{Saved::SharedInner, Kind::GatedActivation, at<Site::SharedActivation>, Of::BesideResult},
};

/// What copies are called that are not named after their original.
constexpr std::array kNames{std::pair{Saved::NormInput, Tensor::NormInput},
                            std::pair{Saved::NormOutput, Tensor::NormOutput},
                            std::pair{Saved::RouterInput, Tensor::RouterInput}};

/// The operation that answers one of `kind` in backward, and until which its copies are kept.
Kind answer_to(Kind kind) {
  struct Answer {
    Kind forward, backward;
  };
  constexpr std::array kAnswers{
      Answer{Kind::Norm, Kind::NormBack},
      Answer{Kind::QkNorm, Kind::QkNormBack},
      Answer{Kind::ExpandKeys, Kind::ExpandKeysBack},
      Answer{Kind::Attend, Kind::AttendBack},
      Answer{Kind::GatedActivation, Kind::GatedActivationBack},
      Answer{Kind::PlainActivation, Kind::PlainActivationBack},
      Answer{Kind::Dropout, Kind::DropoutBack},
      Answer{Kind::Route, Kind::RouteBack},
      Answer{Kind::Unpermute, Kind::UnpermuteBack},
  };
  const auto found = std::ranges::find(kAnswers, kind, &Answer::forward);
  return found != kAnswers.end() ? found->backward : Kind::MatmulData;
}

/// True where backward may read the result in place of the operand: the same numbers, whole or cast.
bool passes_on(const Program& p, const Op& op) {
  const bool gathers = op.kind == Kind::AllGather && op.group == Group::Tensor;
  const bool casts = op.kind == Kind::Copy && p.of(op.writes[0]).shape.type == Type::Quantised;
  return op.kind == Kind::EnterTensor || op.kind == Kind::Quantise || gathers || casts;
}
/// What adapters alone would read, were their matrices not frozen.
bool feeds_a_matrix(Saved id) {
  constexpr std::array kInputs{Saved::NormOutput,  Saved::LatentNormOutput, Saved::ActivationOutput,
                               Saved::ExpertInput, Saved::ExpertActivation, Saved::SharedActivation};
  return std::ranges::find(kInputs, id) != kInputs.end();
}

bool reads_hidden_states(const Op& op) {
  constexpr std::array kFirst{Site::Qkv,          Site::QueryDown,       Site::Query,
                              Site::KeyValueDown, Site::StateProjection, Site::Up};
  return op.kind == Kind::Route ||
         (op.kind == Kind::Matmul && std::ranges::find(kFirst, op.site) != kFirst.end());
}

class Keeper {
 public:
  Keeper(Program program, const Techniques& t)
      : p_{std::move(program)}, keeps_{t.keeps}, adapters_{t.adapters} {}

  Program run() {
    const std::vector<Op> forward{p_.ops.begin(), first_of_backward()};
    keep_inputs_of_blocks(forward);
    for (const Op& op : forward) {
      for (const KeptRow& row : kRows) keep(op, row);
      if (op.kind == Kind::Unpermute) keep_expert_output(op);
      if (op.kind == Kind::Route) keep_choice(op);
      if (op.kind == Kind::Attend) {
        keep_operands(op);
        keep_further(Saved::AttentionMask, op, {Tensor::AttentionMask, {Rows::Tokens, Width::Sequence}}, 1);
      }
      if (op.kind == Kind::Matmul || op.kind == Kind::Route) keep_of_adapters(op);
      if (op.kind == Kind::Matmul && adapters_.in_8_bits) multiply_in_8_bits(op);
    }
    if (adapters_.in_8_bits) widen_weights_in_8_bits();
    keep_of_core();
    keep_beside(Saved::LayerOutput, forward.back(), p_.output);
    return std::move(p_);
  }

 private:
  using Offset = std::vector<Op>::difference_type;
  struct Copies {
    Type type;
    double number;
  };

  [[nodiscard]] std::vector<Op>::iterator first_of_backward() {
    return std::ranges::find_if(p_.ops, [](const Op& op) { return op.phase != Phase::Forward; });
  }
  [[nodiscard]] const SavedRule& told(Saved id) const { return keeps_.of[static_cast<std::size_t>(id)]; }

  void keep(const Op& op, const KeptRow& row) {
    const Kind kind = op.kind == Kind::PlainActivation ? Kind::GatedActivation : op.kind;
    if (kind != row.kind || !row.sites(op.site)) return;
    const bool operand = row.of == Of::Operand || row.of == Of::BesideOperand;
    keep(row.id, op, operand ? op.reads[0] : op.writes[row.of == Of::SecondResult ? 1 : 0], row.of);
  }
  void keep(Saved id, const Op& op, ValueId value, Of of) {
    if (of == Of::BesideOperand || of == Of::BesideResult) return keep_beside(id, op, value);
    keep_instead(id, told(id), op, value);
  }
  void keep_beside(Saved id, const Op& op, ValueId value) { append_copies(id, told(id), op, value); }

  /// `rule` instead of the one copy of `value`, in whichever form, that backward reads.
  void keep_instead(Saved id, SavedRule rule, const Op& op, ValueId value) {
    const std::vector<ValueId> read = read_in_backward(value);
    if (read.empty() && adapters_.frozen && feeds_a_matrix(id)) return;
    if (read.empty()) return append_copies(id, rule, op, value);
    const ValueId kept = read.back();
    const Type type = p_.of(kept).shape.type;
    double& itself = type == Type::Byte                          ? rule.byte
                     : type == Type::Fp32 || type == Type::Int32 ? rule.fp32
                                                                 : rule.compute;
    // Queries and keys that norms read lie in one buffer with the values, of which no norm reads anything.
    if (itself < 1 || op.kind == Kind::QkNorm) return append_copies(id, rule, op, kept, read);
    itself -= 1;
    append_copies(id, rule, op, kept);
  }

  /// Forward values with the same numbers as `value` that backward reads.
  [[nodiscard]] std::vector<ValueId> read_in_backward(ValueId value) const {
    for (const Op* made = producer(p_, value); made != nullptr && passes_on(p_, *made);
         made = producer(p_, value))
      value = made->reads[0];
    std::vector<ValueId> same{value};
    for (const Op& op : p_.ops) {
      if (op.phase == Phase::Forward && passes_on(p_, op) &&
          std::ranges::find(same, op.reads[0]) != same.end())
        same.push_back(op.writes[0]);
    }
    std::erase_if(same, [&](ValueId id) {
      return std::ranges::none_of(
          p_.ops, [&](const Op& op) { return op.phase != Phase::Forward && op.reads.contains(id); });
    });
    return same;
  }

  /// Further buffers with `value`, until what answers `op`; instead of `replaced` wherever backward reads it.
  void append_copies(Saved id, const SavedRule& rule, const Op& op, ValueId value,
                     const std::vector<ValueId>& replaced = {}) {
    const Type own = p_.of(value).shape.type;
    const Type compute = own == Type::Quantised ? own : Type::Activation;
    bool replaces = !replaced.empty();
    for (const Copies& copies :
         {Copies{compute, rule.compute}, {Type::Fp32, rule.fp32}, {Type::Byte, rule.byte}}) {
      if (copies.number <= 0) continue;
      const ValueId copy = append_copy(id, op.site, value, copies);
      replaces ? replace(replaced, copy) : answer(op).reads.push_back(copy);
      replaces = false;
    }
    if (replaces) replace(replaced, append_copy(id, op.site, value, {own, 0}));
  }
  void replace(const std::vector<ValueId>& replaced, ValueId by) {
    for (auto reader = first_of_backward(); reader != p_.ops.end(); ++reader) {
      for (ValueId& id : reader->reads) id = std::ranges::find(replaced, id) != replaced.end() ? by : id;
    }
  }
  ValueId append_copy(Saved id, Site site, ValueId value, const Copies& copies) {
    Shape shape = p_.of(value).shape;
    if (site == Site::QkNorm) shape.width = Width::QueryKey;
    shape.type = copies.type;
    const ValueId copy = p_.like(value, Role::Copy, shape);
    p_.of(copy).copies = copies.number;
    for (const auto& [rule, tensor] : kNames) {
      if (rule == id) p_.of(copy).tensor = tensor;
    }
    const auto maker = std::ranges::find_if(p_.ops, [&](const Op& op) { return op.writes.contains(value); });
    const auto behind = maker == p_.ops.end() ? p_.ops.begin() : maker + 1;
    p_.ops.insert(behind, {.site = site, .kind = Kind::Copy, .reads = {value}, .writes = {copy}});
    return copy;
  }
  [[nodiscard]] Op& answer(const Op& op) {
    const auto back = std::ranges::find_if(p_.ops, [&](const Op& other) {
      return other.phase != Phase::Forward && other.site == op.site && other.kind == answer_to(op.kind);
    });
    return back != p_.ops.end() ? *back : *first_of_backward();
  }

  /// What attention and MLP read: norms' outputs, or the residual stream where norms stand elsewhere.
  void keep_inputs_of_blocks(const std::vector<Op>& forward) {
    std::vector<ValueId> known;
    for (const Op& op : forward) {
      if (!reads_hidden_states(op)) continue;
      ValueId value = op.reads[0];
      const Op* made = producer(p_, value);
      for (; made != nullptr && passes_on(p_, *made); made = producer(p_, value)) value = made->reads[0];
      if (std::ranges::find(known, value) != known.end()) continue;
      known.push_back(value);
      const Op maker = made != nullptr && made->kind == Kind::Norm ? *made : op;
      keep_instead(Saved::NormOutput, told(Saved::NormOutput), maker, value);
    }
  }
  /// Nothing of it where the router's weights multiply what the experts' last matrix reads, not what it
  /// makes: backward does not ask for it, and recomputation need not make it.
  void keep_expert_output(const Op& op) {
    const ValueId output = op.reads[op.in_place == 1 ? 1 : 0];
    if (told(Saved::ExpertOutput) != SavedRule{}) return keep(Saved::ExpertOutput, op, output, Of::Operand);
    for (const ValueId id : read_in_backward(output)) answer(op).reads.remove(id);
  }
  /// Numbers and weights of the chosen experts, each a share of what the rule says of both.
  void keep_choice(const Op& op) {
    SavedRule each = told(Saved::RoutingMap);
    for (double* copies : {&each.compute, &each.fp32, &each.byte}) *copies /= 2;
    for (const std::size_t result : {std::size_t{1}, std::size_t{2}})
      keep_instead(Saved::RoutingMap, each, op, op.writes[result]);
  }

  /// Queries, keys and values apart, or keys and values once per query head, instead of what they are made
  /// from; latent attention makes them for every head in any case.
  void keep_operands(const Op& attend) {
    const double queries = told(Saved::Query).compute, keys = told(Saved::Key).compute,
                 values = told(Saved::Value).compute, repeated = told(Saved::RepeatedKeyValue).compute;
    const bool latent = attend.reads.size() > 1;
    if (!latent) {
      if (queries == 1 && keys == 1 && values == 1 && repeated == 0) return;
      return attend_to_copies(attend.reads[0], {{Tensor::Query, Width::Query, queries},
                                                {Tensor::KeyValue, Width::Key, keys},
                                                {Tensor::KeyValue, Width::Value, values},
                                                {Tensor::KeyValue, Width::RepeatedKeyValue, repeated}});
    }
    if (queries != 1) attend_to_copies(attend.reads[0], {{Tensor::Query, Width::Query, queries}});
    const bool as_made = (keys == 1 && values == 1) || (keys == 0 && values == 0 && repeated > 0);
    if (as_made) return;
    attend_to_copies(attend.reads[1],
                     {{Tensor::KeyValue, Width::Query, keys}, {Tensor::KeyValue, Width::Attended, values}});
  }
  struct Separate {
    Tensor tensor;
    Width width;
    double copies;
  };
  void attend_to_copies(ValueId source, const std::vector<Separate>& parts) {
    Op split{.site = Site::Rope, .kind = Kind::Copy, .reads = {source}, .writes = {}};
    for (const Separate& part : parts) {
      const bool last = &part == &parts.back();
      if (part.copies <= 0 && !(last && split.writes.size() == 0)) continue;
      split.writes.push_back(p_.add({.tensor = part.tensor,
                                     .shape = {Rows::Tokens, part.width},
                                     .role = Role::Copy,
                                     .copies = part.copies}));
    }
    for (Op& op : p_.ops) {
      if (!op.reads.contains(source)) continue;
      const bool attends =
          op.kind == Kind::Attend || op.kind == Kind::AttendBack || op.kind == Kind::AttendBlocksBack;
      if (attends) {
        op.reads.remove(source);
        for (const ValueId id : split.writes) op.reads.push_back(id);
      } else {
        for (ValueId& id : op.reads) id = id == source ? split.writes[split.writes.size() - 1] : id;
      }
    }
    const auto attend = std::ranges::find(p_.ops, Kind::Attend, &Op::kind);
    p_.ops.insert(attend, split);
  }

  /// What the matrices of adapters beside `op` keep, each for itself: their input, and what the first makes.
  /// IA³ scales the input of the MLP's second matrix, and keys and values (arXiv:2205.05638 §3.3).
  void keep_of_adapters(const Op& op) {
    const int layers = adapters_.beside(p_.weights[position(op.weight)]);
    if (layers == 0 || (adapters_.scale && op.site != Site::Down && op.site != Site::Qkv)) return;
    if (adapters_.scale && op.site == Site::Qkv)
      return keep_further(Saved::ScaledOutput, op, {Tensor::ScaledOutput, {Rows::Tokens, Width::KeyValue}},
                          1);
    Value input = p_.of(op.reads[0]);
    input.tensor = Tensor::AdapterInput;
    keep_further(Saved::AdapterInput, op, input, adapters_.scale ? 1 : layers);
    if (!adapters_.scale)
      keep_further(Saved::AdapterHidden, op, {Tensor::AdapterHidden, {input.shape.rows, Width::AdapterRank}},
                   layers);
    if (adapters_.magnitudes) measure_rows(op, layers);
  }
  [[nodiscard]] bool is_in_8_bits(const Weight& weight) const {
    return weight.first != Parameter::Count && adapters_.keeps_input[position(weight.first)];
  }
  /// What is there while a layer of `op` is multiplied: its operand in fp16 and as codes, and sums of 32 bits
  /// (bitsandbytes@95f9af3 autograd/_functions.py MatMul8bitLt.forward, read).
  void multiply_in_8_bits(const Op& op) {
    const Weight& weight = p_.weights[position(op.weight)];
    if (!is_in_8_bits(weight)) return;
    constexpr double kOperand = 2 + 1, kSum = 4;
    const Rows rows = p_.of(op.reads[0]).shape.rows;
    Op product{.site = op.site, .kind = Kind::Copy, .reads = {op.reads[0]}, .writes = {}};
    product.writes.push_back(integers({rows, weight.in, Type::Byte}, kOperand));
    product.writes.push_back(integers({rows, widest_out(weight), Type::Byte}, widest_share(weight) * kSum));
    const auto behind =
        std::ranges::find_if(p_.ops, [&](const Op& o) { return o.writes[0] == op.writes[0]; });
    p_.ops.insert(behind + 1, product);
  }
  /// Backward multiplies by W in the type of the activations (ibid., MatMul8bitLt.backward).
  void widen_weights_in_8_bits() {
    for (auto op = p_.ops.begin(); op != p_.ops.end(); ++op) {
      if (op->kind != Kind::MatmulData || !is_in_8_bits(p_.weights[position(op->weight)])) continue;
      const Weight& weight = p_.weights[position(op->weight)];
      Op widen{.site = op->site,
               .kind = Kind::Copy,
               .reads = {op->reads[0]},
               .writes = {},
               .phase = op->phase,
               .pass = op->pass};
      widen.writes.push_back(
          integers({Rows::One, widest_out(weight), Type::Activation, weight.in}, widest_share(weight)));
      op = p_.ops.insert(op, widen) + 1;
    }
  }
  /// Of the widest of the linear layers that a weight holds: its outputs, as a share of a width.
  static Width widest_out(const Weight& weight) {
    return weight.last == Parameter::AttentionKeyValueWeight ? Width::Query : weight.out;
  }
  static double widest_share(const Weight& weight) {
    return weight.last == Parameter::AttentionKeyValueWeight ? 1 : 1.0 / Adapters::all_in(weight);
  }
  ValueId integers(Shape shape, double copies) {
    return p_.add(
        {.tensor = Tensor::IntegerProduct, .shape = shape, .role = Role::Workspace, .copies = copies});
  }
  /// What DoRA scales, the lengths by which it does, and what is there while they are measured: of the widest
  /// of the layers that `op` has in one matrix.
  void measure_rows(const Op& op, int layers) {
    const Weight& weight = p_.weights[position(op.weight)];
    const int all = Adapters::all_in(weight);
    const bool without_keys = weight.last == Parameter::AttentionKeyValueWeight && layers == all - 1;
    const Width outputs = without_keys ? Width::QueryValue : weight.out;
    const Rows rows = weight.split == Split::Row ? Rows::Hidden : p_.of(op.writes[0]).shape.rows;
    keep_further(Saved::ScaledOutput, op, {Tensor::ScaledOutput, {rows, outputs}}, 1);
    keep_further(Saved::RowNorms, op, {Tensor::RowNorms, {Rows::One, outputs}}, 1);
    // Packed layers have one adapter.
    const bool queries = layers > 1 && weight.last == Parameter::AttentionKeyValueWeight;
    const double share = layers > 1 && !queries ? 1.0 / layers : 1;
    Op measure{.site = op.site, .kind = Kind::Copy, .reads = {op.reads[0]}, .writes = {}};
    const auto add = [&](Shape shape, double copies) {
      measure.writes.push_back(p_.add(
          {.tensor = Tensor::AdaptedWeight, .shape = shape, .role = Role::Workspace, .copies = copies}));
    };
    add({Rows::One, queries ? Width::Query : weight.out, Type::Byte, weight.in},
        share * adapters_.weight_bytes);
    if (adapters_.identity_bytes > 0)
      add({Rows::One, weight.in, Type::Byte, weight.in}, adapters_.identity_bytes);
    const auto behind =
        std::ranges::find_if(p_.ops, [&](const Op& o) { return o.writes[0] == op.writes[0]; });
    p_.ops.insert(behind + 1, measure);
  }
  void keep_further(Saved id, const Op& op, Value like, int number) {
    const SavedRule& rule = told(id);
    for (const Copies& copies :
         {Copies{Type::Activation, rule.compute}, {Type::Fp32, rule.fp32}, {Type::Byte, rule.byte}}) {
      if (copies.number <= 0) continue;
      like.shape.type = copies.type;
      like.role = Role::Itself;
      like.copies = copies.number * number;
      const ValueId kept = p_.add(like);
      answer(op).reads.push_back(kept);
      const auto place =
          std::ranges::find_if(p_.ops, [&](const Op& o) { return o.writes[0] == op.writes[0]; });
      p_.ops.insert(place, {.site = op.site, .kind = Kind::Copy, .reads = {op.reads[0]}, .writes = {kept}});
    }
  }

  /// Statistics of a fused kernel, or scores: those of the operation whose output is attention's.
  void keep_of_core() {
    const auto attend = std::ranges::find(p_.ops, Kind::Attend, &Op::kind);
    if (attend == p_.ops.end()) return;
    const Op core = *attend;
    for (std::size_t i = 0; i < p_.values.size(); ++i) {
      const Value value = p_.values[i];
      const auto id = static_cast<ValueId>(i);
      if (value.role == Role::Workspace || value.role == Role::Copy || read_in_backward(id).empty()) continue;
      if (value.tensor == Tensor::LogSumExp) keep_instead(Saved::LogSumExp, told(Saved::LogSumExp), core, id);
      if (value.tensor == Tensor::Scores) keep_scores(core, id);
      if (value.tensor != Tensor::ScoresDropout) continue;
      SavedRule rule = told(Saved::ScoresDropout);
      const bool mask = value.shape.type == Type::Byte;
      (mask ? rule.compute : rule.byte) = 0;
      if (mask) rule.fp32 = 0;
      keep_instead(Saved::ScoresDropout, rule, core, id);
    }
  }
  /// A softmax that casts its operand has it until its result is cast back, and its gradient is as wide.
  void keep_scores(const Op& core, ValueId scores) {
    const SavedRule& rule = told(Saved::Scores);
    keep_instead(Saved::Scores, rule, core, scores);
    if (rule.fp32 <= 0) return;
    for (Value& value : p_.values) {
      if (value.tensor == Tensor::Scores && value.role == Role::Workspace) value.shape.type = Type::Fp32;
    }
    const ValueId operand = p_.like(scores, Role::Workspace);
    std::ranges::find(p_.ops, Kind::Attend, &Op::kind)->writes.push_back(operand);
    for (Op& op : p_.ops) {
      if (op.kind == Kind::Copy && op.reads[0] == scores) op.reads.push_back(operand);
    }
  }

  Program p_;
  const Keeping& keeps_;
  const Adapters& adapters_;
};

}  // namespace

Program keep_values(Program p, const Techniques& t) {
  return Keeper{std::move(p), t}.run();
}

}  // namespace hexaplan::costmodel::program
