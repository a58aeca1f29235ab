#include <algorithm>
#include <array>
#include <utility>

#include "costmodel/program/passes/passes.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel::program {
namespace {

class Differentiation {
 public:
  Differentiation(Program program, const Techniques& techniques)
      : p_{std::move(program)}, t_{techniques}, gradients_(p_.values.size(), kNone) {}

  Program run();

 private:
  using Rule = void (Differentiation::*)(const Op&, ValueId dy);
  struct RuleRow {
    Kind id;
    Rule rule;
  };
  static const std::array<RuleRow, position(Kind::LookupBack)> kRules;

  // One rule per kind: operation and the gradient of its first result -> backward operations.
  void lookup(const Op& op, ValueId dy) { emit(op, Kind::LookupBack, {dy}, {}, Pass::BackwardWeight); }
  void norm(const Op& op, ValueId dy) {
    accumulate(op.reads[0], op, Kind::NormBack, {dy, op.reads[0], op.writes[1]});
  }
  void matmul(const Op& op, ValueId dy) {
    if (p_.weights[position(op.weight)].adapter == AdapterSide::Down) return adapter_down(op, dy);
    give(op.reads[0], made(op, Kind::MatmulData, {dy}, op.reads[0]));
    emit(op, Kind::MatmulWeight, {op.reads[0], dy}, {},
         mutant("weight-gradients-count-as-backward") ? Pass::BackwardData : Pass::BackwardWeight);
  }
  /// Onto what the frozen product beside it gave, which reads the same input.
  void adapter_down(const Op& op, ValueId dy) {
    accumulate(op.reads[0], op, Kind::MatmulData, {dy});
    emit(op, Kind::MatmulWeight, {op.reads[0], dy}, {}, Pass::BackwardWeight);
  }
  void add_matmul(const Op& op, ValueId dy) {
    give(op.reads[0], dy);
    give(op.reads[1], made(op, Kind::MatmulData, {dy}, op.reads[1]));
    emit(op, Kind::MatmulWeight, {op.reads[1], dy}, {}, Pass::BackwardWeight);
  }
  void bias_add(const Op& op, ValueId dy) {
    emit(op, Kind::BiasWeight, {dy}, {}, Pass::BackwardWeight);
    give(op.reads[0], dy);
  }
  void grouped_bias_add(const Op& op, ValueId dy) {
    emit(op, Kind::GroupedBiasWeight, {dy}, {}, Pass::BackwardWeight);
    give(op.reads[0], dy);
  }
  void scale(const Op& op, ValueId dy) {
    give(op.reads[0], made(op, Kind::Scale, {dy}, op.reads[0]));
    // Of a branch: the residual stream has the same gradient, unscaled.
    const Block block = block_of(op.site);
    const bool of_adapter = p_.of(op.reads[0]).tensor == Tensor::AdapterHidden;
    if (block != Block::Embedding && block != Block::Head && !of_adapter) p_.ops.back().in_place = 0;
  }
  /// The gradient of the scales needs what was scaled. Lengths of rows count as constants (arXiv:2402.09353
  /// §4.3).
  void scale_columns(const Op& op, ValueId dy) {
    IdList<16> reads{dy, op.writes[1]};
    if (op.reads.size() > 1) reads.push_back(op.reads[1]);
    give(op.reads[0], made(op, Kind::ScaleColumnsBack, reads, op.reads[0]));
    // The residual stream has the gradient of a block's last matrix, unscaled.
    const bool last =
        op.site == Site::AttentionOutput || op.site == Site::StateOutput || op.site == Site::Down;
    if (last && op.reads.size() > 1) p_.ops.back().in_place = 0;
  }
  void clip(const Op& op, ValueId dy) {
    give(op.reads[0], made(op, Kind::ClipBack, {dy, op.reads[0]}, op.reads[0]));
  }
  void soft_cap(const Op& op, ValueId dy) {
    give(op.reads[0], made(op, Kind::SoftCapBack, {dy, op.writes[0]}, op.reads[0]));
  }
  /// One operation makes the gradients of both operands.
  void give_both(const Op& op, Kind back, const IdList<16>& reads) {
    const ValueId first = made(op, back, reads, op.reads[0]);
    const ValueId second = also(op.reads[1]);
    give(op.reads[0], first);
    give(op.reads[1], second);
  }
  void gate_rows(const Op& op, ValueId dy) {
    give_both(op, Kind::GateRowsBack, {dy, op.reads[0], op.reads[1]});
  }
  void dropout(const Op& op, ValueId dy) {
    give(op.reads[0], made(op, Kind::DropoutBack, {dy, op.writes[1]}, op.reads[0]));
  }
  void qk_norm(const Op& op, ValueId dy) {
    give(op.reads[0], made(op, Kind::QkNormBack, {dy, op.reads[0], op.writes[1]}, op.reads[0]));
  }
  /// The gradients of all parts side by side again.
  void separate(const Op& op, ValueId /*dy*/) {
    IdList<16> parts;
    for (const ValueId id : op.writes) parts.push_back(gradients_[position(id)]);
    give(op.reads[0], made(op, Kind::SeparateBack, parts, op.reads[0]));
  }
  /// Of every function: its operands are kept, and one operation makes the gradients of all of them.
  void pointwise(const Op& op, ValueId dy) {
    IdList<16> reads{dy};
    for (const ValueId id : op.reads) reads.push_back(id);
    IdList<16> gradients{made(op, Kind::PointwiseBack, reads, op.reads[0])};
    for (std::size_t i = 1; i < op.reads.size(); ++i) gradients.push_back(also(op.reads[i]));
    p_.ops.back().function = op.function;
    for (std::size_t i = 0; i < op.reads.size(); ++i) give(op.reads[i], gradients[i]);
  }
  void convolve(const Op& op, ValueId dy) {
    give(op.reads[0], made(op, Kind::ConvolveBack, {dy, op.reads[0]}, op.reads[0]));
  }
  void state_operands(const Op& op, ValueId dy);
  void delta_rule(const Op& op, ValueId dy);
  void state_space(const Op& op, ValueId dy);
  void transpose(const Op& op, ValueId dy) {
    give(op.reads[0], made(op, Kind::Transpose, {dy}, op.reads[0]));
  }
  void selective_scan(const Op& op, ValueId dy);
  void lightning(const Op& op, ValueId dy) {
    give(op.reads[0], made(op, Kind::LightningBack,
                           {dy, op.reads[0], op.writes[1], op.writes[2], op.writes[3]}, op.reads[0]));
  }
  void channel_operands(const Op& op, ValueId dy);
  void channel_delta_rule(const Op& op, ValueId dy);
  void rope(const Op& op, ValueId dy) { give(op.reads[0], made(op, Kind::RopeBack, {dy}, op.reads[0])); }
  void expand_keys(const Op& op, ValueId dy) { give_both(op, Kind::ExpandKeysBack, {dy}); }
  void attend(const Op& op, ValueId dy);
  void attend_blocks(const Op& op, ValueId dy);
  void activation(const Op& op, ValueId dy) {
    const bool gated = op.kind == Kind::GatedActivation;
    const Kind back = gated ? Kind::GatedActivationBack : Kind::PlainActivationBack;
    give(op.reads[0],
         made(op, back,
              mutant("activation-backward-ignores-its-gradient") ? IdList<16>{op.reads[0], op.reads[0]}
                                                                 : IdList<16>{dy, op.reads[0]},
              op.reads[0]));
  }
  void add(const Op& op, ValueId dy) {
    give(op.reads[0], dy);
    give(op.reads[1], dy);
  }
  void route(const Op& op, ValueId dy);
  void permute(const Op& op, ValueId dy) {
    // The executor frees what the router read when the experts are through.
    accumulate(op.reads[0], op, Kind::PermuteBack, {dy, order_of_gradients_, op.reads[0]});
  }
  void regroup(const Op& op, ValueId dy) { rearrange(op, Kind::Ungroup, dy); }
  void ungroup(const Op& op, ValueId dy) { rearrange(op, Kind::Regroup, dy); }
  void unpermute(const Op& op, ValueId dy);
  void loss_gradient(const Op& op, ValueId /*dy*/) { give(op.reads[0], op.writes[0]); }
  void enter_tensor(const Op& op, ValueId dy) {
    give(op.reads[0], mirror(op, Kind::AllReduce, dy, op.reads[0]));
    p_.ops.back().in_place = mutant("entered-gradient-takes-a-buffer") ? 0 : 1;
  }
  void all_reduce(const Op& op, ValueId dy) { give(op.reads[0], dy); }
  void all_gather(const Op& op, ValueId dy) {
    give(op.reads[0], mirror(op, Kind::ReduceScatter, dy, op.reads[0]));
  }
  void reduce_scatter(const Op& op, ValueId dy) {
    // What an exchange received lies in the gather's buffer.
    const bool received = p_.ops.back().kind == Kind::AllToAll && p_.ops.back().writes[0] == dy;
    give(op.reads[0], mirror(op, Kind::AllGather, dy, op.reads[0]));
    p_.ops.back().in_place = received ? 1 : 0;
  }
  void all_to_all(const Op& op, ValueId dy) {
    give(op.reads[0], mirror(op, Kind::AllToAll, dy, op.reads[0]));
  }
  /// Every rank has the gradient of all columns, of all rows or of its own: nothing is added up.
  void join_columns(const Op& op, ValueId dy) {
    const Op gather = *producer(p_, op.reads[0]);
    if (t_.sequence) dy = made(gather, Kind::AllGather, {dy}, op.reads[0], Role::Whole);
    give(gather.reads[0], made(op, Kind::SplitColumns, {dy}, gather.reads[0]));
  }
  void nothing(const Op& /*op*/, ValueId /*dy*/) {}

  struct AttentionBack {
    IdList<16> reads;   // operands, gradient of the output, statistics, delta
    ValueId query_sum;  // what the kernel takes for itself
  };
  AttentionBack attend_back(const Op& op, const IdList<16>& operands, ValueId out, ValueId statistics,
                            ValueId dy);
  AttentionBack attend_back_from_scores(const Op& op, const IdList<16>& operands, ValueId dy);
  void rearrange(const Op& op, Kind back, ValueId dy);
  void keep_for_backward(ValueId id);

  Op& emit(const Op& of, Kind kind, IdList<16> reads, IdList<6> writes, Pass pass = Pass::BackwardData);
  ValueId made(const Op& of, Kind kind, IdList<16> reads, ValueId like, Role role = Role::Gradient);
  ValueId also(ValueId like);
  ValueId also(Tensor tensor, Shape shape);
  /// The same in so many copies.
  void also_copies(Tensor tensor, Shape shape, double copies) { p_.of(also(tensor, shape)).copies = copies; }
  ValueId mirror(const Op& op, Kind kind, ValueId dy, ValueId like);
  /// A value with several readers has the sum of their gradients.
  void give(ValueId of, ValueId gradient);
  /// The same for kinds that add into what is there.
  void accumulate(ValueId of, const Op& op, Kind kind, IdList<16> reads);

  Program p_;
  const Techniques& t_;
  std::vector<ValueId> gradients_;  // by value
  ValueId order_of_gradients_ = kNone;
};

const std::array<Differentiation::RuleRow, position(Kind::LookupBack)> Differentiation::kRules{{
    {Kind::Lookup, &Differentiation::lookup},
    {Kind::Norm, &Differentiation::norm},
    {Kind::Matmul, &Differentiation::matmul},
    {Kind::GroupedMatmul, &Differentiation::matmul},
    {Kind::AddMatmul, &Differentiation::add_matmul},
    {Kind::BiasAdd, &Differentiation::bias_add},
    {Kind::GroupedBiasAdd, &Differentiation::grouped_bias_add},
    {Kind::Scale, &Differentiation::scale},
    {Kind::RowNorms, &Differentiation::nothing},
    {Kind::ScaleColumns, &Differentiation::scale_columns},
    {Kind::Clip, &Differentiation::clip},
    {Kind::SoftCap, &Differentiation::soft_cap},
    {Kind::GateRows, &Differentiation::gate_rows},
    {Kind::Dropout, &Differentiation::dropout},
    {Kind::QkNorm, &Differentiation::qk_norm},
    {Kind::Rope, &Differentiation::rope},
    {Kind::ExpandKeys, &Differentiation::expand_keys},
    {Kind::Attend, &Differentiation::attend},
    {Kind::AttendBlocks, &Differentiation::attend_blocks},
    {Kind::GatedActivation, &Differentiation::activation},
    {Kind::PlainActivation, &Differentiation::activation},
    {Kind::Add, &Differentiation::add},
    {Kind::Route, &Differentiation::route},
    {Kind::CountChoices, &Differentiation::nothing},
    {Kind::GatherCounts, &Differentiation::nothing},
    {Kind::Permute, &Differentiation::permute},
    {Kind::Regroup, &Differentiation::regroup},
    {Kind::Ungroup, &Differentiation::ungroup},
    {Kind::Unpermute, &Differentiation::unpermute},
    {Kind::LossMaxima, &Differentiation::nothing},
    {Kind::LossSums, &Differentiation::nothing},
    {Kind::LossGradient, &Differentiation::loss_gradient},
    {Kind::EnterTensor, &Differentiation::enter_tensor},
    {Kind::AllReduce, &Differentiation::all_reduce},
    {Kind::AllGather, &Differentiation::all_gather},
    {Kind::ReduceScatter, &Differentiation::reduce_scatter},
    {Kind::AllToAll, &Differentiation::all_to_all},
    {Kind::SendRecv, &Differentiation::nothing},
    {Kind::Separate, &Differentiation::separate},
    {Kind::Pointwise, &Differentiation::pointwise},
    {Kind::Convolve, &Differentiation::convolve},
    {Kind::StateOperands, &Differentiation::state_operands},
    {Kind::DeltaRule, &Differentiation::delta_rule},
    {Kind::StateSpace, &Differentiation::state_space},
    {Kind::Transpose, &Differentiation::transpose},
    {Kind::SelectiveScan, &Differentiation::selective_scan},
    {Kind::Lightning, &Differentiation::lightning},
    {Kind::ChannelOperands, &Differentiation::channel_operands},
    {Kind::ChannelDeltaRule, &Differentiation::channel_delta_rule},
    {Kind::JoinColumns, &Differentiation::join_columns},
    {Kind::JoinRowNorms, &Differentiation::nothing},
}};

/// Forward operations in the order in which backward answers them: reversed; but of the branches that
/// `Unpermute` adds up, the router comes first, then the experts, then the shared ones, as in forward.
std::vector<Op> backward_order(const Program& p) {
  std::vector<Op> order{p.ops.rbegin(), p.ops.rend()};
  const auto is_branch = [](const Op& op) {
    const Block block = block_of(op.site);
    return block == Block::Router || block == Block::Experts || block == Block::Shared;
  };
  const auto sum =
      std::find_if(order.begin(), order.end(), [](const Op& op) { return op.kind == Kind::Unpermute; });
  if (sum == order.end()) return order;
  const auto end = std::find_if_not(sum, order.end(), is_branch);
  std::stable_sort(sum + 1, end,
                   [](const Op& a, const Op& b) { return block_of(a.site) < block_of(b.site); });
  return order;
}

Program Differentiation::run() {
  if (p_.output != kNone) {
    p_.d_output = p_.like(p_.output, Role::Gradient);
    give(p_.output, p_.d_output);
  }
  for (const Op& op : backward_order(p_)) {
    const ValueId dy = gradients_[position(op.writes[0])];
    if (dy == kNone && op.kind != Kind::LossGradient) continue;
    (this->*kRules[position(op.kind)].rule)(op, dy);
  }
  if (p_.input != kNone) p_.d_input = gradients_[position(p_.input)];
  if (p_.part == Part::Head) keep_for_backward(p_.d_input);
  return std::move(p_);
}

/// The gradient of the head's input waits for the backward pass of its micro-batch, and so does whatever is
/// summed in its place.
void Differentiation::keep_for_backward(ValueId id) {
  p_.of(id).kind = TensorKind::Activation;
  const Op* made = producer(p_, id);
  if (made->in_place > 0 && made->writes[0] == id) keep_for_backward(made->reads[0]);
}

Op& Differentiation::emit(const Op& of, Kind kind, IdList<16> reads, IdList<6> writes, Pass pass) {
  p_.ops.push_back({.site = of.site,
                    .kind = kind,
                    .reads = reads,
                    .writes = writes,
                    .weight = of.weight,
                    .bias = of.bias,
                    .in_place = row_of(kind).in_place,
                    .phase = Phase::Backward,
                    .pass = pass,
                    .group = of.group});
  return p_.ops.back();
}

ValueId Differentiation::made(const Op& of, Kind kind, IdList<16> reads, ValueId like, Role role) {
  const ValueId id = p_.like(like, role);
  emit(of, kind, reads, {id});
  return id;
}

ValueId Differentiation::also(ValueId like) {
  const ValueId id = p_.like(like, Role::Gradient);
  p_.ops.back().writes.push_back(id);
  return id;
}
ValueId Differentiation::also(Tensor tensor, Shape shape) {
  const ValueId id = p_.add({.tensor = tensor, .shape = shape, .role = Role::Workspace});
  p_.ops.back().writes.push_back(id);
  return id;
}

ValueId Differentiation::mirror(const Op& op, Kind kind, ValueId dy, ValueId like) {
  const ValueId id = made(op, kind, {dy}, like);
  p_.ops.back().payload = op.payload;
  p_.ops.back().times =
      mutant("gathered-message-counts-twice") ? static_cast<std::int16_t>(2 * op.times) : op.times;
  return id;
}

void Differentiation::give(ValueId of, ValueId gradient) {
  ValueId& known = gradients_[position(of)];
  if (known == kNone || mutant("second-gradient-replaces-the-first")) {
    known = gradient;
    return;
  }
  const ValueId sum = p_.like(of, Role::Gradient);
  p_.ops.push_back({.kind = Kind::Add,
                    .reads = {known, gradient},
                    .writes = {sum},
                    .in_place = 1,
                    .phase = Phase::Backward,
                    .pass = Pass::BackwardData});
  known = sum;
}

void Differentiation::accumulate(ValueId of, const Op& op, Kind kind, IdList<16> reads) {
  ValueId& known = gradients_[position(of)];
  const bool adds = known != kNone && !mutant("norm-gradient-is-not-accumulated");
  if (adds) reads.push_front(known);
  known = made(op, kind, reads, of);
  p_.ops.back().in_place = adds ? 1 : 0;
}

Differentiation::AttentionBack Differentiation::attend_back(const Op& op, const IdList<16>& operands,
                                                            ValueId out, ValueId statistics, ValueId dy) {
  if (p_.of(statistics).tensor == Tensor::Scores) return attend_back_from_scores(op, operands, dy);
  const ValueId delta = p_.add({.tensor = Tensor::AttentionDelta, .shape = p_.of(statistics).shape});
  emit(op, Kind::AttendDelta, {dy, out}, {delta});
  if (op.weight >= 0) emit(op, Kind::SinkWeight, {statistics, delta}, {}, Pass::BackwardWeight);
  AttentionBack back{operands, kNone};
  for (const ValueId id : {dy, statistics, delta}) back.reads.push_back(id);
  Op core = op;
  core.site = Site::Core;
  emit(core, Kind::AttendBack, back.reads, {});
  for (const ValueId id : operands) also(id);
  back.query_sum =
      also(Tensor::QuerySum, {Rows::Tokens, Width::Query,
                              mutant("query-sum-in-the-activations-type") ? Type::Activation : Type::Fp32});
  return back;
}

/// Stored scores are the softmax itself; its gradient stands before and after it at once.
Differentiation::AttentionBack Differentiation::attend_back_from_scores(const Op& op,
                                                                        const IdList<16>& operands,
                                                                        ValueId dy) {
  AttentionBack back{operands, kNone};
  back.reads.push_back(dy);
  const Shape scores = p_.of(op.writes[1]).shape;
  back.reads.push_back(op.writes[1]);
  for (std::size_t i = 0; i < p_.values.size(); ++i) {
    const Tensor tensor = p_.values[i].tensor;
    if (tensor == Tensor::ScoresDropout || tensor == Tensor::CappedScores)
      back.reads.push_back(static_cast<ValueId>(i));
  }
  if (op.weight >= 0) emit(op, Kind::SinkWeight, {op.writes[1], dy}, {}, Pass::BackwardWeight);
  Op core = op;
  core.site = Site::Core;
  emit(core, Kind::AttendBack, back.reads, {});
  for (const ValueId id : operands) also(id);
  back.query_sum = also(Tensor::Scores, scores);
  p_.of(back.query_sum).copies = 2;
  return back;
}

void Differentiation::attend(const Op& op, ValueId dy) {
  attend_back(op, op.reads, op.writes[0], op.writes[1], dy);
  const IdList<6> gradients = p_.ops.back().writes;
  for (std::size_t i = 0; i < op.reads.size(); ++i) give(op.reads[i], gradients[i]);
}

/// Operands of AttendBlocks: own output and statistics, queries and keys, keys of the other ranks. These come
/// once more, and their gradients go home: with the keys around the ring, or scattered.
void Differentiation::attend_blocks(const Op& op, ValueId dy) {
  IdList<16> operands;
  for (std::size_t i = 2; i + 1 < op.reads.size(); ++i) operands.push_back(op.reads[i]);
  const AttentionBack back = attend_back(op, operands, op.writes[0], op.writes[1], dy);
  const IdList<6> own = p_.ops.back().writes;
  const ValueId others = op.reads[op.reads.size() - 1], keys = operands[operands.size() - 1];
  const Op* found = producer(p_, others);
  const Op fetch = *found;
  const Shape block = p_.of(others).shape;
  const bool ring = fetch.kind == Kind::SendRecv;

  IdList<16> merged{own[operands.size() - 1]};  // gradient of the keys, to which others' parts are added
  for (const ValueId id : back.reads) merged.push_back(id);
  merged.push_back(back.query_sum);
  const ValueId again = made(fetch, fetch.kind, {keys, back.query_sum}, others, Role::Whole);
  p_.ops.back().payload = block;
  merged.push_back(again);
  if (ring) {  // c messages: the first has keys alone, the last gradients alone
    p_.ops.back().times = 2;
    const ValueId gradients = also(others);
    merged.push_back(gradients);
    if (fetch.times > 1) {
      const ValueId arriving =
          made(fetch, Kind::SendRecv, {again, gradients, back.query_sum}, others, Role::Whole);
      p_.ops.back().times =
          static_cast<std::int16_t>(fetch.times - (mutant("ring-gradients-travel-once-more") ? 0 : 1));
      p_.ops.back().payload = Shape{block.rows, Width::KeyValueTwice, block.type};
      merged.push_back(arriving);
      merged.push_back(also(others));
    }
  }
  ValueId d_keys = made(op, Kind::AttendBlocksBack, merged, keys);
  if (!ring) {
    const ValueId scattered = p_.add(
        {.tensor = Tensor::KeyValue, .shape = {Rows::Tokens, Width::KeyValue}, .role = Role::Gradient});
    const ValueId all = also(others);
    emit(fetch, Kind::ReduceScatter, {all}, {scattered});
    const ValueId sum = p_.like(keys, Role::Gradient);
    emit(op, Kind::Add, {d_keys, scattered}, {sum});
    d_keys = sum;
  }
  for (std::size_t i = 0; i + 1 < operands.size(); ++i) give(operands[i], own[i]);
  give(keys, d_keys);
}

/// Operands of Unpermute: what the shared experts made, if any; output of the experts, weights of the chosen,
/// their numbers.
void Differentiation::unpermute(const Op& op, ValueId dy) {
  const std::size_t first = op.in_place == 1 ? 1 : 0;
  const ValueId output = op.reads[first], weights = op.reads[first + 1], chosen = op.reads[first + 2];
  if (first == 1) give(op.reads[0], dy);
  const ValueId copies = made(op, Kind::UnpermuteBack, {dy, output, weights, chosen}, output);
  const ValueId d_weights = also(weights);
  constexpr Shape kIndex{Rows::Sent, Width::One, Type::Int32}, kFactors{Rows::Sent, Width::One, Type::Fp32};
  order_of_gradients_ = also(Tensor::TokenOrder, kIndex);
  also(Tensor::TokenOrder, kIndex);
  also(Tensor::ExpertWeights, kFactors);
  const ValueId d_output = made(op, Kind::ScaleCopies, {copies, weights}, output);
  also(Tensor::TokenOrder, kIndex);
  also(Tensor::ExpertWeights, kFactors);
  give(output, d_output);
  const Op* router = producer(p_, weights);
  gradients_[position(router->writes[0])] = d_weights;  // the router's first result stands for all of them
}

/// Results of StateOperands: operands, decays, strengths, keys by length, and their lengths.
void Differentiation::state_operands(const Op& op, ValueId dy) {
  const ValueId d_decays = gradients_[position(op.writes[1])],
                d_strengths = gradients_[position(op.writes[2])];
  give_both(op, Kind::StateOperandsBack,
            {dy, d_decays, d_strengths, op.reads[1], op.writes[2], op.writes[3], op.writes[4]});
}

/// States, and what a chunk's products read, are made again, and have gradients beside them.
void Differentiation::delta_rule(const Op& op, ValueId dy) {
  const ValueId d_operands =
      made(op, Kind::DeltaRuleBack, {dy, op.reads[0], op.reads[2], op.writes[1], op.writes[2]}, op.reads[0]);
  const ValueId d_decays = also(op.reads[1]), d_strengths = also(op.reads[2]);
  also_copies(Tensor::StateStates, p_.of(op.writes[3]).shape, 2);
  also_copies(Tensor::StateChunk, p_.of(op.writes[4]).shape, 2);
  give(op.reads[0], d_operands);
  give(op.reads[1], d_decays);
  give(op.reads[2], d_strengths);
}

/// What the convolution made and the states are made again, and have gradients beside them.
void Differentiation::state_space(const Op& op, ValueId dy) {
  const ValueId dx = made(op, Kind::StateSpaceBack, {dy, op.reads[0], op.writes[1]}, op.reads[0]);
  for (std::size_t i = 2; i < op.writes.size(); ++i) {
    const Value of = p_.of(op.writes[i]);
    also_copies(of.tensor, of.shape, 2);
  }
  give(op.reads[0], dx);
}

/// Operands: values, steps, keys, gate; results: what leaves the gate, what enters it, states. The gate that
/// was laid out anew lies beside what the convolution keeps, and stays with it.
void Differentiation::selective_scan(const Op& op, ValueId dy) {
  IdList<16> reads{dy};
  for (const ValueId id : op.reads) reads.push_back(id);
  for (const ValueId id : {op.writes[1], op.writes[2]}) reads.push_back(id);
  const Op* const laid = producer(p_, op.reads[3]);
  if (laid != nullptr && laid->kind == Kind::Transpose) reads.push_back(laid->reads[0]);
  const ValueId first = made(op, Kind::SelectiveScanBack, reads, op.reads[0]);
  IdList<16> gradients{first};
  for (std::size_t i = 1; i < op.reads.size(); ++i) gradients.push_back(also(op.reads[i]));
  for (std::size_t i = 3; i < op.writes.size(); ++i) {
    const Value of = p_.of(op.writes[i]);
    also_copies(of.tensor, of.shape, of.copies);
  }
  for (std::size_t i = 0; i < op.reads.size(); ++i) give(op.reads[i], gradients[i]);
}

/// Results: operands, decays, strengths, and what eager operations between them keep.
void Differentiation::channel_operands(const Op& op, ValueId dy) {
  IdList<16> reads{dy, gradients_[position(op.writes[1])], gradients_[position(op.writes[2])]};
  for (std::size_t i = 2; i < op.writes.size(); ++i) reads.push_back(op.writes[i]);
  IdList<16> gradients{made(op, Kind::ChannelOperandsBack, reads, op.reads[0])};
  for (std::size_t i = 1; i < op.reads.size(); ++i) gradients.push_back(also(op.reads[i]));
  for (std::size_t i = 0; i < op.reads.size(); ++i) give(op.reads[i], gradients[i]);
}

/// As the delta rule; scores are kept, and decays beside their sums.
void Differentiation::channel_delta_rule(const Op& op, ValueId dy) {
  IdList<16> reads{dy};
  for (const ValueId id : op.reads) reads.push_back(id);
  for (std::size_t i = 1; i < 4; ++i) reads.push_back(op.writes[i]);
  const ValueId d_operands = made(op, Kind::ChannelDeltaRuleBack, reads, op.reads[0]);
  const ValueId d_decays = also(op.reads[1]), d_strengths = also(op.reads[2]);
  for (std::size_t i = 4; i < op.writes.size(); ++i) {
    const Value of = p_.of(op.writes[i]);
    also_copies(of.tensor, of.shape, 2);
  }
  give(op.reads[0], d_operands);
  give(op.reads[1], d_decays);
  give(op.reads[2], d_strengths);
}

/// Softmax, choice and balance loss, then the router's matrix, whose gradient does not wait.
void Differentiation::route(const Op& op, ValueId d_weights) {
  const ValueId d_logits =
      made(op, Kind::RouteBack, {d_weights, op.writes[0], op.writes[1], op.writes[2]}, op.writes[0]);
  const ValueId balance = also(Tensor::RouterBalance, {Rows::One, Width::BalanceLoss, Type::Fp32});
  emit(op, Kind::MatmulWeight, {op.reads[0], d_logits}, {}, Pass::BackwardWeight);
  if (op.bias >= 0) {
    emit(op, Kind::BiasWeight, {d_logits}, {}, Pass::BackwardWeight);
    p_.ops.back().weight = op.bias;
  }
  // The executor frees what the router made, and the balance loss, when the router is through.
  IdList<16> reads{d_logits, balance, d_weights};
  for (const ValueId id : op.writes) reads.push_back(id);
  accumulate(op.reads[0], op, Kind::MatmulData, reads);
}

void Differentiation::rearrange(const Op& op, Kind back, ValueId dy) {
  const ValueId dx = made(op, back, {dy}, op.reads[0]);
  also(Tensor::TokenOrder, {p_.of(dx).shape.rows, Width::One, Type::Int32});
  give(op.reads[0], dx);
}

}  // namespace

Program differentiate(Program program, const Techniques& techniques) {
  return Differentiation{std::move(program), techniques}.run();
}

}  // namespace hexaplan::costmodel::program
