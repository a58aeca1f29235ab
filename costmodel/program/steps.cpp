#include "costmodel/program/steps.h"

#include <algorithm>
#include <cassert>
#include <optional>

namespace hexaplan::costmodel::program {
namespace {

/// Which elements a framework's rule for a memory-bound step counts.
enum class Elements : std::uint8_t {
  Result,
  Operand,   // the first one
  Operands,  // the first two
  OperandAndResult,
  Normed,       // rows of the result, as wide as the norm's weight
  Rotated,      // queries and keys
  TokenCopies,  // that travel
};

/// Operations that are memory traffic, as the framework profile's rule says.  [docs/formulas.md#T3]
struct TrafficRow {
  Kind kind = Kind::Count;
  Elementwise rule = Elementwise::Norm;
  Elements elements = Elements::Result;
  bool backward = false;  // the rule's backward traffic
  bool both = false;      // Step::both
};
/// What is not listed here, computes nothing and sends nothing, is counted with what stands beside it.
constexpr std::array kTraffic{
    TrafficRow{Kind::Lookup, Elementwise::Embedding},
    TrafficRow{Kind::LookupBack, Elementwise::Embedding, Elements::Operand, true},
    TrafficRow{Kind::Norm, Elementwise::Norm, Elements::Normed},
    TrafficRow{Kind::NormBack, Elementwise::Norm, Elements::Normed, true},
    TrafficRow{Kind::BiasAdd, Elementwise::BiasAdd},
    TrafficRow{Kind::BiasWeight, Elementwise::BiasAdd, Elements::Operand, true},
    TrafficRow{Kind::GroupedBiasAdd, Elementwise::ExpertBias},
    TrafficRow{Kind::GroupedBiasWeight, Elementwise::ExpertBias, Elements::Operand, true},
    TrafficRow{Kind::QkNorm, Elementwise::QkNorm, Elements::Normed},
    TrafficRow{Kind::QkNormBack, Elementwise::QkNorm, Elements::Normed, true},
    TrafficRow{Kind::Rope, Elementwise::Rope, Elements::Rotated},
    TrafficRow{Kind::RopeBack, Elementwise::Rope, Elements::Rotated, true},
    TrafficRow{Kind::ExpandKeys, Elementwise::Rope, Elements::Rotated},
    TrafficRow{Kind::ExpandKeysBack, Elementwise::Rope, Elements::Rotated, true},
    TrafficRow{Kind::GatedActivation, Elementwise::Activation, Elements::OperandAndResult},
    TrafficRow{Kind::GatedActivationBack, Elementwise::Activation, Elements::Operands, true},
    TrafficRow{Kind::PlainActivation, Elementwise::Activation, Elements::OperandAndResult},
    TrafficRow{Kind::PlainActivationBack, Elementwise::Activation, Elements::Operands, true},
    // Backward: sums of both branches' gradients, dropout's mask.
    TrafficRow{.kind = Kind::Add, .rule = Elementwise::ResidualAdd, .both = true},
    TrafficRow{Kind::Route, Elementwise::Router},
    TrafficRow{Kind::RouteBack, Elementwise::Router, Elements::Result, true},
    TrafficRow{Kind::Permute, Elementwise::Permute, Elements::TokenCopies},
    TrafficRow{Kind::PermuteBack, Elementwise::Permute, Elements::TokenCopies, true},
    TrafficRow{Kind::Unpermute, Elementwise::Permute, Elements::TokenCopies},
    TrafficRow{Kind::UnpermuteBack, Elementwise::Permute, Elements::TokenCopies, true},
    TrafficRow{Kind::LossMaxima, Elementwise::CrossEntropy, Elements::Operand},
    TrafficRow{Kind::LossGradient, Elementwise::CrossEntropy, Elements::Operand, true},
    TrafficRow{Kind::Quantise, Elementwise::Cast},
    TrafficRow{Kind::QuantiseGradient, Elementwise::Cast, Elements::Operand, true},
};
/// Sites whose traffic a rule of their neighbours' comprises: a row-cut matrix's bias is added with the
/// residual, learned positions with the look-up.
constexpr std::array kComprised{Site::DownBias, Site::PositionLookup, Site::PositionAdd};

/// The experts' last bias is added times the router's probability of the token.
Elementwise rule_at(Site site, Elementwise rule) {
  return site == Site::ExpertDownBias ? Elementwise::ExpertOutputBias : rule;
}

constexpr std::array<TrafficRow, position(Kind::Count)> kTrafficOf = [] {
  std::array<TrafficRow, position(Kind::Count)> out{};
  for (const TrafficRow& row : kTraffic) out[position(row.kind)] = row;
  return out;
}();

void count_elements(const Program& p, const Op& op, Elements elements, Step& step) {
  const auto add = [&](Shape shape) {
    if (shape.rows == Rows::LossChunk) shape.rows = Rows::Tokens;
    step.shapes[step.counted++] = shape;
  };
  const auto operand = [&](std::size_t i) { return p.of(op.reads[i]).shape; };
  const auto result = [&] { return p.of(op.writes[0]).shape; };
  switch (elements) {
    case Elements::Result:
      return add(result());
    case Elements::Operand:
      return add(operand(0));
    case Elements::Operands:
      return add(operand(0)), add(operand(1));
    case Elements::OperandAndResult:
      return add(operand(0)), add(result());
    case Elements::Normed:
      return add(op.weight < 0 ? result() : Shape{result().rows, p.weights[position(op.weight)].in});
    case Elements::Rotated:
      return add({Rows::Tokens, result().width == Width::QueryKeyValue ? Width::QueryKey : Width::Query});
    case Elements::TokenCopies:
      return add({Rows::Sent, Width::Hidden});
  }
}

/// Kernels that are the same wherever they run.
bool is_kernel(Kind kind) {
  constexpr std::array kKernels{
      Kind::Pointwise,         Kind::Convolve,
      Kind::StateOperands,     Kind::DeltaRule,
      Kind::StateSpace,        Kind::SeparateBack,
      Kind::PointwiseBack,     Kind::ConvolveBack,
      Kind::StateOperandsBack, Kind::DeltaRuleBack,
      Kind::StateSpaceBack,    Kind::Transpose,
      Kind::ChannelOperands,   Kind::ChannelOperandsBack,
      Kind::JoinRowNorms,
  };
  return std::ranges::find(kKernels, kind) != kKernels.end();
}

/// What an operation is in the list beside memory traffic.
std::optional<Price> price_of(const Op& op) {
  if (is_kernel(op.kind)) return Price::Kernel;
  if (op.kind == Kind::AttendBlocks || op.kind == Kind::AttendBlocksBack) return Price::MergeBlocks;
  if (op.kind == Kind::ScaleColumns || op.kind == Kind::ScaleColumnsBack) return Price::ScaleColumns;
  if (op.kind == Kind::Dequantise) return Price::Dequantise;
  switch (row_of(op.kind).work) {
    case Work::Matrix:
      return Price::Matrix;
    case Work::LowRank:
      return Price::RowNorms;
    case Work::Attention:
    case Work::AttentionBackward:
      return Price::Attention;
    case Work::Scan:
    case Work::ScanBackward:
      return Price::Kernel;
    case Work::None:
      break;
  }
  if (row_of(op.kind).message && op.times > 0) return Price::Message;
  return std::nullopt;
}

bool are_one_step(const Step& a, const Step& b) {
  if (a.price != b.price || a.site != b.site || a.pass != b.pass) return false;
  if (a.price == Price::Traffic) return a.rule == b.rule;
  if (a.kind != b.kind || a.weight != b.weight) return false;
  return a.price != Price::Message || (a.group == b.group && a.payload == b.payload);
}

class Steps {
 public:
  explicit Steps(const Program& program) : p_{program} {}

  std::vector<Step> run() {
    for (const Op& op : p_.ops) {
      if (const auto price = price_of(op)) add(compute_or_message(op, *price), op.recomputed);
      const TrafficRow& row = kTrafficOf[position(op.kind)];
      // A sum of gradients is counted with what it answers.
      const bool of_forward = op.phase == Phase::Forward || op.recomputed;
      const bool counted = row.kind == op.kind && (row.backward || of_forward);
      if (counted && std::ranges::find(kComprised, op.site) == kComprised.end())
        add(traffic(op, row), op.recomputed);
    }
    return std::move(steps_);
  }

 private:
  [[nodiscard]] Step compute_or_message(const Op& op, Price price) const {
    Step step{.price = price, .site = op.site, .kind = op.kind, .pass = op.pass};
    if (op.by_chunk) step.chunks = p_.chunks;
    if (op.weight >= 0) step.weight = p_.weights[position(op.weight)];
    if (price == Price::Matrix) {
      step.rows = matrix_rows(p_, op);
      const ValueId operand = op.reads[op.kind == Kind::MatmulWeight ? 1 : 0];
      step.quantised = p_.of(operand).shape.type == Type::Quantised;
    } else if (price == Price::ScaleColumns) {
      step.payload = p_.of(op.kind == Kind::ScaleColumns ? op.writes[1] : op.reads[1]).shape;
    } else if (price == Price::RowNorms) {
      step.payload = p_.of(op.writes[0]).shape;
    } else if (price == Price::Kernel) {
      count_moved(op, step);
    } else if (price == Price::Message) {
      step.payload = payload_of(p_, op);
      step.group = op.group;
      step.times = op.times;
    }
    return step;
  }
  /// Operands and results once; what a kernel has for itself is written and read.
  void count_moved(const Op& op, Step& step) const {
    const auto move = [&](ValueId id) {
      const Value& of = p_.of(id);
      step.moved[step.operands++] = {of.shape, of.copies * (of.role == Role::Workspace ? 2 : 1)};
    };
    for (const ValueId id : op.reads) move(id);
    for (const ValueId id : op.writes) move(id);
  }
  /// Weight gradients that are memory-bound are not put off by any schedule, and count with the others.
  [[nodiscard]] Step traffic(const Op& op, const TrafficRow& row) const {
    Step step{.site = op.site,
              .kind = op.kind,
              .pass = row.backward ? Pass::BackwardData : Pass::Forward,
              .rule = rule_at(op.site, row.rule),
              .both = row.both,
              .chunks = op.by_chunk ? p_.chunks : 1};
    if (op.weight >= 0) step.weight = p_.weights[position(op.weight)];
    count_elements(p_, op, row.elements, step);
    return step;
  }
  void add(const Step& step, bool recomputed) {
    const auto same = std::ranges::find_if(steps_, [&](const Step& s) { return are_one_step(s, step); });
    if (recomputed) {
      assert(same != steps_.end());
      same->recomputed = true;
    } else if (same == steps_.end() || step.price == Price::Matrix || step.price == Price::Kernel) {
      steps_.push_back(step);
    } else if (step.price == Price::Message) {
      same->times += step.times;
    } else {
      for (std::size_t i = 0; i < step.counted; ++i) same->shapes[same->counted++] = step.shapes[i];
    }
  }

  const Program& p_;
  std::vector<Step> steps_;
};

}  // namespace

std::vector<Step> steps_of(const Program& program) {
  return Steps{program}.run();
}

}  // namespace hexaplan::costmodel::program
