// Products, norms, activations, embedding and loss.
#include <cmath>

#include "costmodel/parameters/adapters.h"
#include "costmodel/units/mutation.h"
#include "validator/executor/interpreter/operation.h"
#include "validator/executor/parallel/vocabulary.h"

namespace hexaplan::validator {
namespace {

namespace program = costmodel::program;
using costmodel::Parameter;
using program::Rows;

/// True when every expert has rows and a matrix of its own. `gradient`: operand that has the product's rows.
bool is_grouped(const Operation& o, std::size_t gradient) {
  return o.read_value(gradient).shape.rows == Rows::ExpertRows;
}

}  // namespace

namespace {

struct Names {
  std::string_view first, last;
};
/// Of adapters' first matrices, magnitudes or scales, those that the unit has beside the weight's parameters.
Names names_of(const Unit& unit, const program::Weight& weight) {
  const Parameter last = weight.last == Parameter::Count ? weight.first : weight.last;
  const bool frozen =
      weight.adapter == program::AdapterSide::None || weight.adapter == program::AdapterSide::Sum;
  if (frozen) return {name_of(weight.first), name_of(last)};
  Names names;
  if (weight.adapter == program::AdapterSide::Scale) {
    for (const costmodel::ScaledLayer& layer : costmodel::scaled_layers()) {
      if (layer.matrix != weight.first) continue;
      if (names.first.empty()) names.first = layer.name;
      names.last = layer.name;
    }
    return names;
  }
  for (const costmodel::AdaptableLayer& layer : costmodel::adaptable_layers()) {
    if ((layer.matrix != weight.first && layer.matrix != last) || !unit.holds(layer.a)) continue;
    const bool magnitudes = weight.adapter == program::AdapterSide::Magnitude;
    if (names.first.empty()) names.first = magnitudes ? layer.m : layer.a;
    names.last = magnitudes ? layer.m : layer.a;
  }
  return names;
}

/// Where another unit has the parameter; no unit: the program's own.
Weights::Elsewhere elsewhere(const Weights& weights, const program::Weight& weight) {
  if (weight.first == Parameter::HeadWeight) return weights.output_layer;
  return weight.first == Parameter::EmbeddingWordWeight ? weights.words : Weights::Elsewhere{};
}

View columns_of(const View& matrix, program::Columns columns) {
  if (columns == program::Columns::All || matrix.data == nullptr) return matrix;
  const std::int64_t half = matrix.cols / 2;
  return matrix.column_range(columns == program::Columns::First ? 0 : half, half);
}

}  // namespace

View Weights::value(const program::Weight& weight) const {
  if (const Elsewhere other = elsewhere(*this, weight); other.unit != nullptr)
    return other.unit->weight(other.name);
  const Names names = names_of(*unit, weight);
  return columns_of(unit->weight(names.first, names.last), weight.columns);
}

View Weights::gradient(const Rank& rank, const program::Weight& weight) const {
  if (const Elsewhere other = elsewhere(*this, weight); other.unit != nullptr)
    return other.unit->gradient(rank, other.name, other.name);
  const Names names = names_of(*unit, weight);
  return columns_of(unit->gradient(rank, names.first, names.last), weight.columns);
}

bool Weights::take_zeros(const program::Weight& weight) const {
  if (const Elsewhere other = elsewhere(*this, weight); other.unit != nullptr)
    return other.unit->take_zeros(other.name, other.name);
  const Names names = names_of(*unit, weight);
  return weight.columns == program::Columns::All && unit->take_zeros(names.first, names.last);
}

void Weights::dequantise(const Rank& rank, const program::Weight& weight, const View& out) const {
  const Names names = names_of(*unit, weight);
  unit->dequantise(rank, names.first, names.last, out);
}

std::vector<Weights::AdapterPart> Weights::adapter_parts(const program::Weight& weight) const {
  std::vector<AdapterPart> parts;
  AdapterPart next;
  for (const costmodel::AdaptableLayer& layer : costmodel::adaptable_layers()) {
    if (layer.matrix != weight.first && layer.matrix != weight.last) continue;
    if (unit->holds(layer.b)) {
      next.first = layer.a;
      next.matrix = &unit->tensor(layer.b);
      parts.push_back(next);
      next.first_hidden += next.matrix->cols;
      next.first_adapted += next.matrix->rows;
    }
    next.first_output += unit->tensor(name_of(layer.matrix)).rows / costmodel::linear_layers_in(layer.matrix);
  }
  return parts;
}

namespace {

/// A LayerNorm keeps two numbers of a row.
NormForm norm_form_of(const Operation& o, program::ValueId statistics) {
  NormForm form = norm_form(o.model());
  const bool both = o.program().of(statistics).shape.width == program::Width::Two;
  form.kind = both ? costmodel::NormKind::Layer : costmodel::NormKind::Rms;
  return form;
}

}  // namespace

/// A norm of fewer columns than its operand has looks at the first ones (the latent of keys and values, which
/// their shared rotary part follows).
void run_norm(const Operation& o) {
  const View x = o.in(0).column_range(0, o.out(0).cols);
  const NormForm form = norm_form_of(o, o.op.writes[1]);
  o.rank.device.norm(form, x, o.weight(), o.bias(), o.out(0), o.out(1));
}

void run_norm_back(const Operation& o) {
  const std::size_t first = o.accumulates() ? 1 : 0;
  const View dy = o.in(first), x = o.in(first + 1).column_range(0, dy.cols);
  NormForm form = norm_form_of(o, o.op.reads[first + 2]);
  form.accumulate = o.accumulates() || dy.cols < o.out(0).cols;
  if (form.accumulate && !o.accumulates()) o.rank.device.fill(o.out(0), 0);
  o.rank.device.norm_backward(form, dy, x, o.weight(), o.in(first + 2), o.out(0).column_range(0, dy.cols),
                              o.weight_gradient(), o.bias_gradient());
}

void run_dequantise(const Operation& o) {
  o.weights.dequantise(o.rank, o.weight_of(), o.out(0));
  if (costmodel::mutant("weights-in-4-bits-are-halved")) o.rank.device.scale(o.out(0), 0.5);
}

void run_matmul(const Operation& o) {
  const Gemm product{.a = o.in(0), .b = o.weight(), .c = o.out(0), .transpose_b = true};
  if (o.op.kind == program::Kind::GroupedMatmul) {
    o.rank.device.grouped_gemm(o.issue(), product, o.frame.routing.exchange.offsets());
  } else {
    o.rank.device.gemm(o.issue(), product);
  }
}

namespace {

bool is_second_of_adapter(const Operation& o) {
  return o.op.weight >= 0 && o.weight_of().adapter == program::AdapterSide::Up;
}
/// Calls visit(part, its columns of what the layers make, its hidden values).
template <class Visitor>
void for_each_adapter(const Operation& o, const View& outputs, const View& hidden, const Visitor& visit) {
  for (const Weights::AdapterPart& part : o.weights.adapter_parts(o.weight_of())) {
    visit(part, outputs.column_range(part.first_output, part.matrix->rows),
          hidden.column_range(part.first_hidden, part.matrix->cols));
  }
}

}  // namespace

void run_add_matmul(const Operation& o) {
  for_each_adapter(o, o.out(0), o.in(1), [&](const auto& part, const View& outputs, const View& hidden) {
    o.rank.device.gemm(o.issue(), {.a = hidden,
                                   .b = o.weights.unit->weight(part.matrix->name),
                                   .c = outputs,
                                   .transpose_b = true,
                                   .accumulate = !costmodel::mutant("adapters-overwrite")});
  });
}

namespace {

void run_adapter_data(const Operation& o) {
  for_each_adapter(o, o.in(0), o.out(0), [&](const auto& part, const View& d_outputs, const View& d_hidden) {
    o.rank.device.gemm(o.issue(),
                       {.a = d_outputs, .b = o.weights.unit->weight(part.matrix->name), .c = d_hidden});
  });
}
void run_adapter_weight(const Operation& o) {
  for_each_adapter(o, o.in(1), o.in(0), [&](const auto& part, const View& d_outputs, const View& hidden) {
    o.rank.device.gemm(o.issue(),
                       {.a = d_outputs,
                        .b = hidden,
                        .c = o.weights.unit->gradient(o.rank, part.matrix->name, part.matrix->name),
                        .transpose_a = true,
                        .accumulate = true});
  });
}

}  // namespace

void run_matmul_data(const Operation& o) {
  if (is_second_of_adapter(o)) return run_adapter_data(o);
  const std::size_t gradient = o.accumulates() ? 1 : 0;
  const Gemm product{.a = o.in(gradient),
                     .b = o.weight(),
                     .c = o.out(0),
                     .accumulate = o.accumulates() && !costmodel::mutant("data-gradients-overwrite")};
  if (is_grouped(o, gradient)) {
    o.rank.device.grouped_gemm(o.issue(), product, o.frame.routing.exchange.offsets());
  } else {
    o.rank.device.gemm(o.issue(), product);
  }
}

void run_matmul_weight(const Operation& o) {
  if (is_second_of_adapter(o)) return run_adapter_weight(o);
  const bool first = o.weights.take_zeros(o.weight_of());
  const Gemm product{.a = o.in(1),
                     .b = o.in(0),
                     .c = o.weight_gradient(),
                     .transpose_a = true,
                     .accumulate = !first && !costmodel::mutant("weight-gradients-overwrite")};
  if (is_grouped(o, 1)) {
    o.rank.device.grouped_gemm(o.issue(), product, o.frame.routing.exchange.offsets());
  } else {
    o.rank.device.gemm(o.issue(), product);
  }
}

void run_bias_add(const Operation& o) {
  o.rank.device.add_bias(o.out(0), o.weight());
}
void run_bias_weight(const Operation& o) {
  o.rank.device.column_sums(o.in(0), o.weight_gradient());
}

namespace {

/// Calls visit(rows of an expert, its part of `vectors`) for every expert of the rank.
template <class Visitor>
void for_each_expert(const Operation& o, const View& rows, const View& vectors, const Visitor& visit) {
  const std::vector<std::int64_t>& offsets = o.frame.routing.exchange.offsets();
  for (std::size_t e = 0; e + 1 < offsets.size(); ++e) {
    const auto first = static_cast<std::int64_t>(e) * rows.cols;
    if (offsets[e + 1] > offsets[e])
      visit(rows.row_range(offsets[e], offsets[e + 1] - offsets[e]), vectors.slice(first, rows.cols));
  }
}

}  // namespace

/// What ranks that share an expert's columns made is added up later: one of them adds the bias of its last
/// matrix.
void run_grouped_bias_add(const Operation& o) {
  if (o.op.site == program::Site::ExpertDownBias && o.rank.groups.expert_tensor->rank() > 0) return;
  for_each_expert(o, o.out(0), o.weight(),
                  [&](const View& rows, const View& bias) { o.rank.device.add_bias(rows, bias); });
}
void run_grouped_bias_weight(const Operation& o) {
  for_each_expert(o, o.in(0), o.weight_gradient(),
                  [&](const View& rows, const View& gradient) { o.rank.device.column_sums(rows, gradient); });
}

namespace {

double multiplier_of(const Operation& o) {
  const costmodel::ModelSpec& m = o.model();
  if (o.read_value(0).tensor == program::Tensor::AdapterHidden)
    return costmodel::adapter_scale(o.rank.scenario);
  switch (program::block_of(o.op.site)) {
    case program::Block::Embedding:
      return m.embedding_multiplier;
    case program::Block::Head:
      return m.logit_multiplier;
    default:
      return m.residual_multiplier;
  }
}

}  // namespace

void run_scale(const Operation& o) {
  o.rank.device.scale(o.out(0), multiplier_of(o));
}
namespace {

/// The columns that IA³ scales: the last ones, as many as it keeps.
View scaled_columns(const View& all, const View& kept) {
  return all.column_range(all.cols - kept.cols, kept.cols);
}

/// Calls visit(columns of `all`, the same columns of `kept`, their factors): of DoRA for those that each
/// adapter changes.
template <class Visitor>
void for_scaled_columns(const Operation& o, const View& all, const View& kept, const View& factors,
                        const Visitor& visit) {
  if (o.weight_of().adapter == program::AdapterSide::Scale)
    return visit(scaled_columns(all, kept), kept, factors);
  for (const Weights::AdapterPart& part : o.weights.adapter_parts(o.weight_of())) {
    const std::int64_t n = part.matrix->rows;
    visit(all.column_range(part.first_output, n), kept.column_range(part.first_adapted, n),
          factors.data == nullptr ? factors : factors.slice(part.first_adapted, n));
  }
}

}  // namespace

namespace {

/// √n/‖row‖ for every row of n numbers, which an RMSNorm has among its statistics; rows are overwritten.
void measure_rows(Device& device, const View& rows, const View& lengths) {
  device.norm({.kind = costmodel::NormKind::Rms, .epsilon = 0}, rows, {}, {}, rows, lengths);
}

}  // namespace

/// 1/‖row of W + scale·B·A‖ from ‖row of W/scale + B·A‖; of parts of rows ‖part‖, which is one over that.
void run_row_norms(const Operation& o) {
  Device& device = o.rank.device;
  const bool of_parts = o.program().of(o.op.writes[0]).role == program::Role::Partial;
  const View frozen = o.weight(), all = o.frame.matrix(o.op.writes[1]), norms = o.out(0);
  const double scale = costmodel::adapter_scale(o.rank.scenario);
  for (const Weights::AdapterPart& part : o.weights.adapter_parts(o.weight_of())) {
    const std::int64_t n = part.matrix->rows;
    const View rows = all.row_range(part.first_output, n);
    const View lengths = norms.slice(part.first_adapted, n).reshaped(n, 1);
    device.copy(rows, frozen.row_range(part.first_output, n));
    device.scale(rows, 1 / scale);
    device.gemm(o.issue(), {.a = o.weights.unit->weight(part.matrix->name),
                            .b = o.weights.unit->weight(part.first),
                            .c = rows,
                            .accumulate = !costmodel::mutant("measured-rows-lack-the-frozen-ones")});
    measure_rows(device, rows, lengths);
    const double factor = scale * std::sqrt(static_cast<double>(rows.cols));
    if (of_parts) {
      const View inverse = rows.column_range(0, 1);
      device.copy(inverse, lengths);
      measure_rows(device, inverse, lengths);
    }
    device.scale(lengths, of_parts ? factor : 1 / factor);
  }
}
/// What was gathered has one rank's lengths behind the other's.
void run_join_row_norms(const Operation& o) {
  Device& device = o.rank.device;
  const View gathered = o.in(0);
  const std::int64_t ranks = gathered.rows, n = gathered.cols;
  const View joined = o.out(1).reshaped(n, ranks), norms = o.out(0).reshaped(n, 1);
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    device.copy(joined.column_range(rank, 1), gathered.row_range(rank, 1).reshaped(n, 1));
  measure_rows(device, joined, norms);
  const bool of_mean = costmodel::mutant("joined-rows-have-their-mean-length");
  device.scale(norms, of_mean ? 1 : 1 / std::sqrt(static_cast<double>(ranks)));
}
void run_scale_columns(const Operation& o) {
  const View kept = o.out(1), norms = o.op.reads.size() > 1 ? o.in(1) : View{};
  const View weight = o.weight();
  for_scaled_columns(o, o.out(0), kept, norms, [&](const View& y, const View& held, const View& lengths) {
    if (lengths.data != nullptr) o.rank.device.scale_columns(y, lengths);
    o.rank.device.copy(held, y);
  });
  for_scaled_columns(o, o.out(0), kept, weight, [&](const View& y, const View&, const View& factors) {
    o.rank.device.scale_columns(y, factors);
  });
}
void run_scale_columns_back(const Operation& o) {
  const View kept = o.in(1), norms = o.op.reads.size() > 2 ? o.in(2) : View{};
  const View weight = o.weight(), gradient = o.weight_gradient();
  for_scaled_columns(o, o.out(0), kept, gradient, [&](const View& d, const View& held, const View& sums) {
    o.rank.device.column_dots(d, held, sums);
  });
  if (costmodel::mutant("scaled-gradients-are-not-scaled")) return;
  for (const View& factors : {weight, norms}) {
    if (factors.data == nullptr) continue;
    for_scaled_columns(o, o.out(0), kept, factors, [&](const View& d, const View&, const View& by) {
      o.rank.device.scale_columns(d, by);
    });
  }
}
void run_clip(const Operation& o) {
  o.rank.device.copy(o.out(0), o.in(0));
  o.rank.device.clip(o.out(0), o.model().attention.value_clip);
}
void run_clip_back(const Operation& o) {
  o.rank.device.clip_backward(o.in(1), o.model().attention.value_clip, o.out(0));
}
void run_soft_cap(const Operation& o) {
  o.rank.device.soft_cap(o.out(0), o.model().logit_softcap);
}
void run_soft_cap_back(const Operation& o) {
  o.rank.device.soft_cap_backward(o.in(1), o.model().logit_softcap, o.out(0));
}
void run_gate_rows(const Operation& o) {
  o.rank.device.gate_rows(o.in(1), o.in(0), o.out(0));
}
void run_gate_rows_back(const Operation& o) {
  o.rank.device.gate_rows_backward(o.in(0), o.in(2), o.in(1), o.out(0), o.out(1));
}

void run_pointwise(const Operation& o) {
  const View second = o.op.reads.size() > 1 ? o.in(1) : View{};
  o.rank.device.pointwise(o.op.function, o.in(0), second, o.out(0));
}
void run_pointwise_back(const Operation& o) {
  const bool two = o.op.writes.size() > 1;
  o.rank.device.pointwise_backward(o.op.function, o.in(0), o.in(1), two ? o.in(2) : View{}, o.out(0),
                                   two ? o.out(1) : View{});
}

void run_activation(const Operation& o) {
  o.rank.device.activation(activation_form(o.model().mlp), o.in(0), o.out(0));
}
void run_activation_back(const Operation& o) {
  o.rank.device.activation_backward(activation_form(o.model().mlp), o.in(0), o.in(1), o.out(0));
}

void run_add(const Operation& o) {
  if (o.in(1).cols != o.out(0).cols) return run_add_keys(o);
  o.rank.device.add(o.out(0), o.in(1));
}
void run_copy(const Operation& o) {
  o.rank.device.copy(o.out(0), o.in(0));
}
/// What was gathered has one rank's columns of all rows behind the other's.
void run_join_columns(const Operation& o) {
  const Communicator& tensor = *o.rank.groups.tensor;
  const View gathered = o.in(0), out = o.out(0);
  const std::int64_t share = out.cols / tensor.size(), block = gathered.rows * share;
  const bool own_rows = gathered.rows > out.rows && !costmodel::mutant("joined-rows-are-the-first-ranks");
  const std::int64_t first = own_rows ? tensor.rank() * out.rows : 0;
  for (int rank = 0; rank < tensor.size(); ++rank) {
    const View columns = gathered.slice(rank * block, block).reshaped(gathered.rows, share);
    o.rank.device.copy(out.column_range(rank * share, share), columns.row_range(first, out.rows));
  }
}
void run_split_columns(const Operation& o) {
  const std::int64_t share = o.out(0).cols;
  o.rank.device.copy(o.out(0), o.in(0).column_range(o.rank.groups.tensor->rank() * share, share));
}

namespace {

/// What a table is asked for: words, of which a rank has a part, or places, which every rank has for its own
/// rows of the hidden states.
struct LookedUp {
  View ids;
  std::int64_t first = 0;
};
LookedUp looked_up(const Operation& o, std::int64_t rows) {
  if (o.op.site == program::Site::EmbeddingLookup) return {o.batch.ids, vocabulary_part(o.rank).first};
  const std::int64_t first =
      rows < o.batch.positions.rows ? rows * o.rank.position(costmodel::Axis::Tensor) : 0;
  return {o.batch.positions.row_range(first, rows), -o.model().position_offset};
}

}  // namespace

void run_lookup(const Operation& o) {
  const LookedUp at = looked_up(o, o.out(0).rows);
  o.rank.device.embedding_lookup(at.ids, o.weight(), at.first, o.out(0));
}
void run_lookup_back(const Operation& o) {
  const LookedUp at = looked_up(o, o.in(0).rows);
  o.rank.device.embedding_backward(at.ids, o.in(0), at.first, o.weight_gradient());
}

void run_loss_maxima(const Operation& o) {
  o.rank.device.row_max(o.in(0), vocabulary_part(o.rank).words, o.out(0));
}
void run_loss_sums(const Operation& o) {
  const VocabularyPart part = vocabulary_part(o.rank);
  o.rank.device.cross_entropy_sums(o.in(0), part.words, o.in(1), o.batch.targets, part.first, o.out(0));
}
void run_loss_gradient(const Operation& o) {
  const VocabularyPart part = vocabulary_part(o.rank);
  o.rank.device.cross_entropy_gradient(o.in(0), part.words, o.in(1), o.in(2), o.batch.targets, part.first,
                                       costmodel::mutant("loss-is-not-scaled") ? 1 : o.batch.loss_factor,
                                       o.out(0), o.batch.loss);
}

}  // namespace hexaplan::validator
