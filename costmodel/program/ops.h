#pragma once
#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/parameters/parameter_names.h"
#include "costmodel/program/collective_kind.h"
#include "costmodel/program/names.h"
#include "costmodel/program/pass.h"
#include "costmodel/spec/dtype.h"
#include "costmodel/spec/rank_grid.h"

namespace hexaplan::costmodel::program {

// The step program: what one rank runs for one micro-batch in a layer, the embedding or the head, as a value.
// Forward operations are written down (layer_program.h), everything else follows by passes (compile.h).

/// Shapes are symbols until `Sizes` gives them numbers, so that one compiled program serves every shape.
enum class Rows : std::uint8_t {
  One,
  Tokens,      // N: of the micro-batch on this rank
  Hidden,      // rows of the hidden states between tensor-parallel regions: N/t with SP, else N
  Context,     // N·c: of all ranks that share the sequences
  Copies,      // of routed tokens, one per chosen expert
  Sent,        // … that travel: those within an expert's capacity, and padding
  Received,    // copies from the ranks that exchange tokens
  Exchanged,   // … and from those that share an expert's columns, each padded to the fullest
  ExpertRows,  // copies that this rank's experts work on
  LocalExperts,
  Chunks,     // of the recurrence, of whole sequences
  LossChunk,  // tokens whose loss is made at once: the most
  LossShare,  // … on average: what is left for the last chunk may be fewer
  TensorRanks,
  Count
};
enum class Width : std::uint8_t {
  One,
  Two,
  Hidden,
  HiddenShare,  // columns of one tensor-parallel rank
  QueryKeyValue,
  QueryKey,
  Query,
  KeyValue,       // what context parallelism passes around
  KeyValueTwice,  // … with its gradient
  Key,            // one of both
  Value,
  RepeatedKeyValue,  // keys and values once per query head
  Attended,
  Sequence,
  Scores,  // of every head with every token of the sequence
  Heads,
  NormedHeads,  // of queries and keys
  QueryLatent,
  KeyValueLatent,
  KeyValueNormed,
  KeyValueUp,
  GateUp,
  Activation,
  Experts,
  ExpertGateUp,
  ExpertActivation,
  SharedGateUp,
  SharedActivation,
  SequenceCounts,   // choices of every sequence and expert
  ExchangedCounts,  // choices of every rank of the expert group
  SharedCounts,     // … of the expert-tensor group
  BalanceLoss,
  QueryValue,  // the columns of queries and values
  AdapterRank,
  AdapterRanks2,  // of the adapters of so many linear layers that are one matrix
  AdapterRanks3,
  Vocab,
  Positions,            // of the learned table
  QueryGateKeyValue,    // with the gate of attention's output
  StateProjected,       // all that a recurrence is made from
  StateExchanged,       // … with the groups that are repeated for an exchange of heads
  StateMixed,           // what its convolution sees: values and keys of all groups
  StateValues,          // of all heads
  StateHeads,           // one number of each
  StateHeads2,          // two of them
  StateGroups,          // one of each group of keys
  StateGroups2,         // … of queries and keys
  StateKeys2,           // queries and keys of all groups
  StateOperands,        // queries and keys of every head, and values
  StateDeltaWorkspace,  // keys and values of every head, each a second time
  StateIntra,           // of every head with the tokens of a chunk
  StateGroupIntra,      // of every group with them
  StateSize,            // the state of all heads
  StateKernel,          // tokens that the convolution sees
  StateRank,            // what Mamba-1's steps, and decays and gates of KDA, are made from
  StateSelected,        // … with keys and queries beside it
  StateThree,           // statistics of as many norms
  StateRows,            // keys of every head
  Count
};
enum class Type : std::uint8_t {
  Activation,
  Fp32,
  Int32,
  Quantised,  // operands of matrices in 8 or 4 bits
  Byte,       // masks
};
enum class Storage : std::uint8_t {
  Device,
  Host,
  Shared,  // in a buffer that is there in any case
};

struct Shape {
  Rows rows = Rows::Tokens;
  Width width = Width::Hidden;
  Type type = Type::Activation;
  Width by = Width::One;  // of matrices: rows × width × by
  friend bool operator==(const Shape&, const Shape&) = default;
};
/// A layer's input and output: (tokens of a sequence-parallel rank, hidden).
inline constexpr Shape kHiddenStates{Rows::Hidden, Width::Hidden};

/// The result of one operation (static single assignment); buffers follow from `Op::in_place`.
struct Value {
  Tensor tensor = Tensor::LayerInput;
  Shape shape;
  Role role = Role::Itself;
  Storage storage = Storage::Device;
  std::optional<TensorKind> kind{};  // where its lifetime does not say it
  bool held = false;  // freed at the end of its phase, not after its last reader: a habit of the executor
  double copies = 1;  // of it side by side in its buffer
};

/// How tensor parallelism cuts a matrix. Region: whole on every rank, but applied to what has entered the
/// tensor-parallel region (the down-projections of latent attention).
enum class Split : std::uint8_t { Whole, Region, Column, Row };
/// Which of an adapter's two products a matrix is: of the layer's input, or what is added to its output; or
/// the scales of IA³. Of DoRA: the frozen matrix with both products added, and the magnitudes of its rows.
enum class AdapterSide : std::uint8_t { None, Down, Up, Scale, Sum, Magnitude };
inline constexpr std::size_t kAdapterSides = 6;
/// Which of a matrix's columns a product has: of two halves that read operands of their own.
enum class Columns : std::uint8_t { All, First, Second };
struct Weight {
  Width out = Width::Hidden, in = Width::Hidden;
  Split split = Split::Whole;
  Parameter first = Parameter::Count;
  Parameter last = Parameter::Count;  // … up to this neighbour among the parameters; Count: `first` alone
  AdapterSide adapter = AdapterSide::None;  // otherwise of the adapters beside these parameters
  Columns columns = Columns::All;
  friend bool operator==(const Weight&, const Weight&) = default;
};

/// Operation kinds: what a forward pass is made of, messages, and what their derivatives are made of.
enum class Kind : std::uint8_t {
  Lookup,
  Norm,
  Matmul,
  GroupedMatmul,
  AddMatmul,  // a product added to what stands there: of an adapter's hidden values
  BiasAdd,
  GroupedBiasAdd,  // a vector per expert
  Scale,           // by a multiplier of the model, which the site names, or of adapters
  RowNorms,        // one over the lengths of the rows of a frozen matrix with its adapters added to it; of a
                   // row-cut one, whose rows tensor-parallel ranks have parts of, the parts' lengths
  ScaleColumns,    // of the operand some, by a weight; and what they were. By RowNorms first, where it reads
                   // them
  Clip,
  SoftCap,
  GateRows,  // rows times the sigmoid of their gates
  Dropout,   // and the mask of what it left
  QkNorm,
  Rope,
  ExpandKeys,  // latent attention: every head's key gets the shared rotary part
  Attend,
  AttendBlocks,  // to the keys of other ranks, added to what Attend made
  GatedActivation,
  PlainActivation,
  Add,
  Route,
  CountChoices,
  GatherCounts,  // ranks tell each other how many copies every expert gets
  Permute,
  Regroup,  // rows by rank -> rows by expert
  Ungroup,  // and back
  Unpermute,
  LossMaxima,
  LossSums,
  LossGradient,
  EnterTensor,
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  SendRecv,
  Separate,       // columns of one result apart, where they lie
  Pointwise,      // a Function of one or two operands of the same shape
  Convolve,       // every column by itself, over the tokens before
  StateOperands,  // queries and keys of the delta rule for every head, with decays and strengths
  DeltaRule,
  StateSpace,        // Mamba-2's convolution, scan and gate in one
  Transpose,         // a channel's tokens side by side, or back
  SelectiveScan,     // Mamba-1's scan and gate
  Lightning,         // linear attention with fixed decays, block by block
  ChannelOperands,   // as StateOperands, with a decay for every row of the state
  ChannelDeltaRule,  // the delta rule with these
  JoinColumns,       // what ranks gathered of their columns -> rows, of which a rank may have its own
  JoinRowNorms,      // one over the lengths of rows, of those of their parts on all ranks
  LookupBack,
  NormBack,
  MatmulData,
  MatmulWeight,
  BiasWeight,
  GroupedBiasWeight,
  ScaleColumnsBack,
  ClipBack,
  SoftCapBack,
  GateRowsBack,
  DropoutBack,
  SinkWeight,
  QkNormBack,
  RopeBack,
  ExpandKeysBack,
  AttendDelta,
  AttendBack,
  AttendBlocksBack,
  GatedActivationBack,
  PlainActivationBack,
  UnpermuteBack,
  ScaleCopies,  // gradients of the copies by the weights of their experts
  RouteBack,
  PermuteBack,
  SplitColumns,  // a rank's columns of whole rows
  SeparateBack,
  PointwiseBack,
  ConvolveBack,
  StateOperandsBack,
  DeltaRuleBack,
  StateSpaceBack,
  SelectiveScanBack,
  LightningBack,
  ChannelOperandsBack,
  ChannelDeltaRuleBack,
  Copy,
  Quantise,  // an operand of a matrix in a narrow type
  QuantiseGradient,
  Dequantise,  // a weight that is kept in 4 bits
  Count
};
/// What FLOPs an operation of the kind has.
enum class Work : std::uint8_t { None, Matrix, LowRank, Attention, AttentionBackward, Scan, ScanBackward };
struct KindRow {
  Kind id;
  std::string_view name;
  std::int8_t in_place = 0;  // leading results written over the operands of the same position
  Work work = Work::None;
  std::optional<CollectiveKind> message{};
  bool forward = true;  // has a differentiation rule
};
/// By Kind.
inline constexpr std::array<KindRow, position(Kind::Count)> kKinds{{
    {Kind::Lookup, "lookup"},
    {Kind::Norm, "norm"},
    {Kind::Matmul, "matmul", 0, Work::Matrix},
    {Kind::GroupedMatmul, "grouped_matmul", 0, Work::Matrix},
    {Kind::AddMatmul, "add_matmul", 1, Work::Matrix},
    {Kind::BiasAdd, "bias_add", 1},
    {Kind::GroupedBiasAdd, "grouped_bias_add", 1},
    {Kind::Scale, "scale", 1},
    {Kind::RowNorms, "row_norms", 0, Work::LowRank},
    {Kind::ScaleColumns, "scale_columns", 1},
    {Kind::Clip, "clip"},
    {Kind::SoftCap, "soft_cap", 1},
    {Kind::GateRows, "gate_rows"},
    {Kind::Dropout, "dropout", 1},
    {Kind::QkNorm, "qk_norm"},
    {Kind::Rope, "rope", 1},
    {Kind::ExpandKeys, "expand_keys"},
    {Kind::Attend, "attend", 0, Work::Attention},
    {Kind::AttendBlocks, "attend_blocks", 2},
    {Kind::GatedActivation, "gated_activation"},
    {Kind::PlainActivation, "activation"},
    {Kind::Add, "add", 1},
    {Kind::Route, "route", 0, Work::Matrix},
    {Kind::CountChoices, "count_choices"},
    {Kind::GatherCounts, "gather_counts", 0, Work::None, CollectiveKind::AllGather},
    {Kind::Permute, "permute"},
    {Kind::Regroup, "regroup"},
    {Kind::Ungroup, "ungroup"},
    {Kind::Unpermute, "unpermute"},
    {Kind::LossMaxima, "loss_maxima"},
    {Kind::LossSums, "loss_sums"},
    {Kind::LossGradient, "loss_gradient", 1},
    {Kind::EnterTensor, "enter_tensor", 1},
    {Kind::AllReduce, "all_reduce", 1, Work::None, CollectiveKind::AllReduce},
    {Kind::AllGather, "all_gather", 0, Work::None, CollectiveKind::AllGather},
    {Kind::ReduceScatter, "reduce_scatter", 0, Work::None, CollectiveKind::ReduceScatter},
    {Kind::AllToAll, "all_to_all", 0, Work::None, CollectiveKind::AllToAll},
    {Kind::SendRecv, "send_recv", 0, Work::None, CollectiveKind::SendRecv},
    {Kind::Separate, "separate"},
    {Kind::Pointwise, "pointwise"},
    {Kind::Convolve, "convolve"},
    {Kind::StateOperands, "state_operands"},
    {Kind::DeltaRule, "delta_rule", 0, Work::Scan},
    {Kind::StateSpace, "state_space", 0, Work::Scan},
    {Kind::Transpose, "transpose"},
    {Kind::SelectiveScan, "selective_scan", 0, Work::Scan},
    {Kind::Lightning, "lightning", 0, Work::Scan},
    {Kind::ChannelOperands, "channel_operands"},
    {Kind::ChannelDeltaRule, "channel_delta_rule", 0, Work::Scan},
    {Kind::JoinColumns, "join_columns"},
    {Kind::JoinRowNorms, "join_row_norms"},
    {Kind::LookupBack, "lookup_back", 0, Work::None, {}, false},
    {Kind::NormBack, "norm_back", 0, Work::None, {}, false},
    {Kind::MatmulData, "matmul_dgrad", 0, Work::Matrix, {}, false},
    {Kind::MatmulWeight, "matmul_wgrad", 0, Work::Matrix, {}, false},
    {Kind::BiasWeight, "bias_wgrad", 0, Work::None, {}, false},
    {Kind::GroupedBiasWeight, "grouped_bias_wgrad", 0, Work::None, {}, false},
    {Kind::ScaleColumnsBack, "scale_columns_back", 1, Work::None, {}, false},
    {Kind::ClipBack, "clip_back", 1, Work::None, {}, false},
    {Kind::SoftCapBack, "soft_cap_back", 1, Work::None, {}, false},
    {Kind::GateRowsBack, "gate_rows_back", 0, Work::None, {}, false},
    {Kind::DropoutBack, "dropout_back", 0, Work::None, {}, false},
    {Kind::SinkWeight, "sink_wgrad", 0, Work::None, {}, false},
    {Kind::QkNormBack, "qk_norm_back", 0, Work::None, {}, false},
    {Kind::RopeBack, "rope_back", 1, Work::None, {}, false},
    {Kind::ExpandKeysBack, "expand_keys_back", 0, Work::None, {}, false},
    {Kind::AttendDelta, "attend_delta", 0, Work::None, {}, false},
    {Kind::AttendBack, "attend_back", 0, Work::AttentionBackward, {}, false},
    {Kind::AttendBlocksBack, "attend_blocks_back", 1, Work::None, {}, false},
    {Kind::GatedActivationBack, "gated_activation_back", 0, Work::None, {}, false},
    {Kind::PlainActivationBack, "activation_back", 0, Work::None, {}, false},
    {Kind::UnpermuteBack, "unpermute_back", 0, Work::None, {}, false},
    {Kind::ScaleCopies, "scale_copies", 1, Work::None, {}, false},
    {Kind::RouteBack, "route_back", 0, Work::None, {}, false},
    {Kind::PermuteBack, "permute_back", 0, Work::None, {}, false},
    {Kind::SplitColumns, "split_columns", 0, Work::None, {}, false},
    {Kind::SeparateBack, "separate_back", 0, Work::None, {}, false},
    {Kind::PointwiseBack, "pointwise_back", 0, Work::None, {}, false},
    {Kind::ConvolveBack, "convolve_back", 0, Work::None, {}, false},
    {Kind::StateOperandsBack, "state_operands_back", 0, Work::None, {}, false},
    {Kind::DeltaRuleBack, "delta_rule_back", 0, Work::ScanBackward, {}, false},
    {Kind::StateSpaceBack, "state_space_back", 0, Work::ScanBackward, {}, false},
    {Kind::SelectiveScanBack, "selective_scan_back", 0, Work::ScanBackward, {}, false},
    {Kind::LightningBack, "lightning_back", 0, Work::ScanBackward, {}, false},
    {Kind::ChannelOperandsBack, "channel_operands_back", 0, Work::None, {}, false},
    {Kind::ChannelDeltaRuleBack, "channel_delta_rule_back", 0, Work::ScanBackward, {}, false},
    {Kind::Copy, "copy", 0, Work::None, {}, false},
    {Kind::Quantise, "quantise", 0, Work::None, {}, false},
    {Kind::QuantiseGradient, "quantise_gradient", 0, Work::None, {}, false},
    {Kind::Dequantise, "dequantise", 0, Work::None, {}, false},
}};
static_assert(lists_in_order(kKinds, position(Kind::Count)));
[[nodiscard]] constexpr const KindRow& row_of(Kind kind) {
  return kKinds[position(kind)];
}

/// Values are named by their position in Program::values.
using ValueId = std::int16_t;
inline constexpr ValueId kNone = -1;

/// A few ids without a heap: passes copy programs freely.
template <std::size_t Capacity>
class IdList {
 public:
  IdList() = default;
  IdList(std::initializer_list<ValueId> ids) {
    for (const ValueId id : ids) push_back(id);
  }
  void push_back(ValueId id) {
    assert(size_ < Capacity);
    ids_[size_++] = id;
  }
  void push_front(ValueId id) {
    push_back(id);
    std::rotate(begin(), end() - 1, end());
  }
  void remove(ValueId id) { size_ = static_cast<std::uint8_t>(std::remove(begin(), end(), id) - begin()); }
  [[nodiscard]] ValueId operator[](std::size_t i) const { return ids_[i]; }
  ValueId& operator[](std::size_t i) { return ids_[i]; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool contains(ValueId id) const { return std::find(begin(), end(), id) != end(); }
  [[nodiscard]] const ValueId* begin() const { return ids_.data(); }
  [[nodiscard]] const ValueId* end() const { return ids_.data() + size_; }
  ValueId* begin() { return ids_.data(); }
  ValueId* end() { return ids_.data() + size_; }

 private:
  std::array<ValueId, Capacity> ids_{};
  std::uint8_t size_ = 0;
};

/// Later: weight gradients that a schedule runs as tasks of their own.
enum class Phase : std::uint8_t { Forward, Backward, Later };
inline constexpr std::size_t kPhases = 3;

struct Op {
  Site site = Site::Gradients;
  Kind kind = Kind::Add;
  IdList<16> reads;
  IdList<6> writes;
  std::int16_t weight = -1;             // position in Program::weights
  std::int16_t bias = -1;               // … of what is added to what the weight makes (norms, routers)
  std::int8_t in_place = 0;             // leading results written over the operands of the same position
  Function function = Function::Count;  // of Pointwise and its backward
  Phase phase = Phase::Forward;
  Pass pass = Pass::Forward;       // what reports count it under
  bool recomputed = false;         // recomputation
  Group group = Group::Tensor;     // of a message
  std::optional<Shape> payload{};  // of a message, where its operands do not say it
  std::int16_t times = 1;          // messages of this size
  bool by_chunk = false;           // runs once for every chunk of tokens, in turn with its neighbours
  bool made_again = false;  // the framework's own function keeps no result of it, whatever is recomputed
};

/// Which part of the model a program describes.
enum class Part : std::uint8_t {
  Layer,
  Embedding,
  Head,
  Mtp,        // what comes before the layer of a multi-token-prediction module
  FinalNorm,  // where it is none of the head's: runs_final_norm_apart
};

/// Operations in execution order: forward, backward, then weight gradients that were put off.
struct Program {
  Part part = Part::Layer;
  std::vector<Value> values;
  std::vector<Weight> weights;
  std::vector<Op> ops;
  ValueId input = kNone, output = kNone;      // hidden states of the forward pass; of the head: nothing
  ValueId d_output = kNone, d_input = kNone;  // their gradients
  int chunks = 1;                             // of tokens, for what runs by chunk
  bool hands_input_on = false;                // others read it as well: whoever gave it frees it

  ValueId add(const Value& value) {
    values.push_back(value);
    return static_cast<ValueId>(values.size() - 1);
  }
  /// A new value of the same tensor and shape.
  ValueId like(ValueId id, Role role) { return like(id, role, of(id).shape); }
  ValueId like(ValueId id, Role role, Shape shape) {
    return add({.tensor = of(id).tensor, .shape = shape, .role = role});
  }
  [[nodiscard]] const Value& of(ValueId id) const { return values[position(id)]; }
  [[nodiscard]] Value& of(ValueId id) { return values[position(id)]; }
  /// True for what a chunk of tokens makes for itself: it is freed before the next chunk begins.
  [[nodiscard]] bool is_of_chunk(ValueId id) const { return of(id).shape.rows == Rows::LossChunk; }
  /// The ledger's kind of what is kept for backward.
  [[nodiscard]] TensorKind keeps() const {
    return part == Part::Head ? TensorKind::Logits : TensorKind::Activation;
  }
};

/// What reports call an operation: its site, or the side of the adapter beside the matrix there.
[[nodiscard]] std::string_view name_of(Site site, const Weight& weight);
[[nodiscard]] std::string_view name_of(const Program& program, const Op& op);

/// The operation that first writes `id`, or nothing: an input of the program.
[[nodiscard]] const Op* producer(const Program& program, ValueId id);

/// Rows that a matrix is applied to. Precondition: the operation's work is one.
[[nodiscard]] Rows matrix_rows(const Program& program, const Op& op);

/// For every value, the value that stands for its buffer: a result in place lives where its operand lived.
[[nodiscard]] std::vector<ValueId> buffers_of(const Program& program);
/// For every buffer, the position of the last operation that touches it; -1: none does.
[[nodiscard]] std::vector<int> last_touches(const Program& program, const std::vector<ValueId>& buffers);

/// Shape of the payload of a message as CollectiveKind counts it: the whole tensor, for SendRecv what is
/// sent. Precondition: the operation is a message.
[[nodiscard]] Shape payload_of(const Program& program, const Op& op);

/// Nothing, or what is wrong: an operation reads what was never written or was overwritten since, or phases
/// are out of order.
[[nodiscard]] std::optional<std::string> first_fault(const Program& program);
[[nodiscard]] inline bool is_valid(const Program& program) {
  return !first_fault(program).has_value();
}

}  // namespace hexaplan::costmodel::program
